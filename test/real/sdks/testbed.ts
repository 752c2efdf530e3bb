import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import type { Test } from "tap";
import type { STSEmulator } from "../../../cli/local/sts-emulator/emulator.ts";
import { type FaultySTSOptions, startSTSEmulator } from "../../cli/local/sts-emulator/faults.ts";
import { field, stringAt } from "../../../shared/formats/json.ts";
import type { SteadyClock } from "../../../shared/core/clock.ts";
import { ManifestSource } from "../../../shared/sources/file-source.ts";
import { createLogger } from "../../../shared/server/logger.ts";
import { readSettings } from "../../../shared/server/read-settings.ts";
import { type RunningSidecar, runSidecar } from "../../../sidecar/main.ts";
import type { SidecarSettings } from "../../../sidecar/options.ts";
import { get } from "../../loopback-request.ts";
import type { ErrorResponse } from "./client.ts";

/** Manifests of teams in two accounts. One selector has short sessions. */
export const MANIFESTS: string = [
  ...["team-a", "team-b", "team-c"].map((name) => `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}}\n`),
  selector("team-a", "arn:aws:iam::111111111111:role/team-a", "namespaceSelector: {names: [team-a]}"),
  selector(
    "gold", "arn:aws:iam::222222222222:role/gold",
    "namespaceSelector: {names: [team-b]}\n  resourceLabelSelector: {matchLabels: {tier: gold}}",
  ),
  selector(
    "short", "arn:aws:iam::111111111111:role/short", "namespaceSelector: {names: [team-c]}",
    { "ack-role-resolver.io/duration-seconds": "900" },
  ),
].join("---\n");

/** Returns the manifest of a selector. `rest` is the part of its spec after the ARN. */
export function selector(
  name: string, roleARN: string, rest: string, annotations: Readonly<Record<string, string>> = {},
): string {
  const metadata = JSON.stringify({ name, annotations });
  const type = "apiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelector";
  return `${type}\nmetadata: ${metadata}\nspec:\n  arn: ${roleARN}\n  ${rest}\n`;
}

/** The base identity of the sidecar, as a principal of STS. */
export const BASE = {
  accessKeyID: "ASIASIDECARBASE", secretAccessKey: "planted-base-secret", sessionToken: "planted/base+token==",
  arn: "arn:aws:sts::999999999999:assumed-role/ack/pod",
};

/** A running sidecar with manifests of teams in two accounts, and its STS. */
export interface Testbed {
  readonly sts: STSEmulator;
  readonly sidecar: RunningSidecar;
  /** `http://HOST:PORT` of the sidecar. */
  readonly endpoint: string;
  readonly tokenFile: string;
  /** An empty folder that clients can use. */
  readonly home: string;
  /** The log of the sidecar. */
  readonly logLines: readonly string[];
  /** All requests to the sidecar. */
  readonly requests: readonly RecordedRequest[];
  /** Returns the error of the sidecar for `path` with this Authorization header. Rejects if the status is 200. */
  fetchError(path: string, authorization: string): Promise<ErrorResponse>;
}

export interface RecordedRequest {
  /** The request target. */
  readonly path: string;
  /** The status of the response; null until the response is sent. */
  status: number | null;
}

interface TestbedPorts {
  readonly sts?: Partial<FaultySTSOptions>;
  readonly clock?: SteadyClock;
  /** Default: MANIFESTS. */
  readonly manifests?: string;
}

/** Starts the sidecar and the STS emulator on loopback, and stops them when the test ends. */
export async function startTestbed(
  t: Test, overrides: Partial<SidecarSettings> = {}, ports: TestbedPorts = {},
): Promise<Testbed> {
  const { sts: options, clock, manifests = MANIFESTS } = ports;
  const folder = t.testdir({ home: {}, manifests: { "company.yaml": manifests } });
  const sts = await startSTSEmulator({ baseCredentials: [BASE], ...options });
  t.teardown(() => sts.close());
  const source = new ManifestSource([join(folder, "manifests")], { runtime: "ack" });
  await source.start();
  t.teardown(() => source.stop());
  const logLines: string[] = [];
  const destination = { write: (line: string): void => void logLines.push(line) };
  const log = createLogger({ name: "sidecar", level: "trace", destination });
  const tokenFile = join(folder, "token");
  const settings = { ...SETTINGS, stsEndpoint: sts.url, tokenFile, ...overrides };
  const runtime = {
    source, log, environment: {}, baseProvider: async () => ({ ...BASE, expirationMs: null }),
    ...(clock === undefined ? {} : { clock }),
  };
  const sidecar = await runSidecar(settings, runtime);
  t.teardown(() => sidecar.close());
  const endpoint = `http://${sidecar.address}`;
  const requests = recordRequests(t, Number(new URL(endpoint).port));
  return {
    sts, sidecar, endpoint, tokenFile, logLines, requests, home: join(folder, "home"),
    fetchError: (path, authorization) => fetchError(endpoint + path, authorization),
  };
}

const SETTINGS: SidecarSettings = {
  ...readSettings("sidecar", { from: ["unused"], group: ["s3.services.k8s.aws"], tokenFile: "unused" }, {}),
  listen: "127.0.0.1:0", healthListen: "127.0.0.1:0",
};

/** Node.js publishes every request of a server in this process: https://nodejs.org/api/diagnostics_channel.html#http */
function recordRequests(t: Test, port: number): readonly RecordedRequest[] {
  const requests: RecordedRequest[] = [];
  const record = (message: unknown): void => {
    const [request, response] = [field(message, "request"), field(message, "response")];
    if (!(request instanceof IncomingMessage && response instanceof ServerResponse)) return;
    if (request.socket.localPort !== port) return;
    const recorded: RecordedRequest = { path: request.url ?? "", status: null };
    requests.push(recorded);
    response.once("finish", () => (recorded.status = response.statusCode));
  };
  subscribe("http.server.request.start", record);
  t.teardown(() => unsubscribe("http.server.request.start", record));
  return requests;
}

async function fetchError(url: string, authorization: string): Promise<ErrorResponse> {
  const { status, body } = await get(url, { authorization });
  if (status === 200) throw new Error(`${url} returned 200, not an error`);
  const error: unknown = JSON.parse(body);
  return { code: stringAt(error, "code") ?? "", message: stringAt(error, "message") ?? "", status };
}
