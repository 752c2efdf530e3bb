import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import type { Test } from "tap";
import {
  startSTSEmulator, type STSEmulator, type STSEmulatorOptions,
} from "../../../cli/local/sts-emulator/emulator.ts";
import { field, stringAt } from "../../../shared/decisions/kubernetes/json.ts";
import type { SteadyClock } from "../../../shared/inventory/clock.ts";
import { ManifestSource } from "../../../shared/inventory/manifests/source.ts";
import { createLogger } from "../../../shared/server/logger.ts";
import { readSettings } from "../../../shared/server/settings.ts";
import { type RunningSidecar, runSidecar } from "../../../sidecar/main.ts";
import type { SidecarSettings } from "../../../sidecar/options.ts";
import { get } from "../../loopback-request.ts";
import type { Refusal } from "./client.ts";

/** The manifests of teams in two accounts; the sessions of one are short. */
export const MANIFESTS: string = [
  ...["team-a", "team-b", "team-c"].map((name) => `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}}\n`),
  selector("team-a", "arn:aws:iam::111111111111:role/team-a", "namespaceSelector: {names: [team-a]}"),
  selector("gold", "arn:aws:iam::222222222222:role/gold", "namespaceSelector: {names: [team-b]}\n  resourceLabelSelector: {matchLabels: {tier: gold}}"),
  selector("short", "arn:aws:iam::111111111111:role/short", "namespaceSelector: {names: [team-c]}", { "ack-role-resolver.io/duration-seconds": "900" }),
].join("---\n");

/** The manifest of a selector; `rest` is what its spec has beside the ARN. */
export function selector(name: string, roleARN: string, rest: string, annotations: Readonly<Record<string, string>> = {}): string {
  const metadata = JSON.stringify({ name, annotations });
  return `apiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelector\nmetadata: ${metadata}\nspec:\n  arn: ${roleARN}\n  ${rest}\n`;
}

/** The sidecar's own identity, as STS knows it. */
export const BASE = {
  accessKeyID: "ASIASIDECARBASE", secretAccessKey: "planted-base-secret", sessionToken: "planted/base+token==",
  arn: "arn:aws:sts::999999999999:assumed-role/ack/pod",
};

/** A running sidecar on manifests of two teams in two accounts, with the STS that it asks. */
export interface Company {
  readonly sts: STSEmulator;
  readonly sidecar: RunningSidecar;
  /** `http://HOST:PORT` of the sidecar. */
  readonly endpoint: string;
  readonly tokenFile: string;
  /** An empty folder for clients. */
  readonly home: string;
  /** Every line that the sidecar has logged. */
  readonly logLines: readonly string[];
  /** Every request that the sidecar was sent. */
  readonly requests: readonly RecordedRequest[];
  /** How the sidecar refuses `path` to one who has this value of Authorization. */
  refusal(path: string, authorization: string): Promise<Refusal>;
}

export interface RecordedRequest {
  /** The target, as it was sent. */
  readonly path: string;
  /** Null until it is answered. */
  status: number | null;
}

export interface CompanyPorts {
  readonly sts?: Partial<STSEmulatorOptions>;
  readonly clock?: SteadyClock;
  /** Default: MANIFESTS. */
  readonly manifests?: string;
}

/** Starts them on loopback, and stops them with the test. */
export async function startCompany(t: Test, overrides: Partial<SidecarSettings> = {}, ports: CompanyPorts = {}): Promise<Company> {
  const { sts: options, clock, manifests = MANIFESTS } = ports;
  const folder = t.testdir({ home: {}, manifests: { "company.yaml": manifests } });
  const sts = await startSTSEmulator({ baseCredentials: [BASE], ...options });
  t.teardown(() => sts.close());
  const source = new ManifestSource([join(folder, "manifests")], { runtime: "ack" });
  await source.start();
  t.teardown(() => source.stop());
  const logLines: string[] = [];
  const log = createLogger({ name: "sidecar", level: "trace", destination: { write: (line) => void logLines.push(line) } });
  const tokenFile = join(folder, "token");
  const settings = { ...SETTINGS, stsEndpoint: sts.url, tokenFile, ...overrides };
  const runtime = { source, log, environment: {}, baseProvider: async () => ({ ...BASE, expirationMs: null }), ...(clock === undefined ? {} : { clock }) };
  const sidecar = await runSidecar(settings, runtime);
  t.teardown(() => sidecar.close());
  const endpoint = `http://${sidecar.address}`;
  const requests = recordRequests(t, Number(new URL(endpoint).port));
  return { sts, sidecar, endpoint, tokenFile, logLines, requests, home: join(folder, "home"), refusal: (path, authorization) => askRefusal(endpoint + path, authorization) };
}

const SETTINGS: SidecarSettings = {
  ...readSettings("sidecar", { from: ["unused"], group: ["s3.services.k8s.aws"], tokenFile: "unused" }, {}), listen: "127.0.0.1:0", healthListen: "127.0.0.1:0",
};

/** Node tells of every request that a server of this process reads: https://nodejs.org/api/diagnostics_channel.html#http */
function recordRequests(t: Test, port: number): readonly RecordedRequest[] {
  const requests: RecordedRequest[] = [];
  const record = (message: unknown): void => {
    const [request, response] = [field(message, "request"), field(message, "response")];
    if (!(request instanceof IncomingMessage && response instanceof ServerResponse) || request.socket.localPort !== port) return;
    const recorded: RecordedRequest = { path: request.url ?? "", status: null };
    requests.push(recorded);
    response.once("finish", () => (recorded.status = response.statusCode));
  };
  subscribe("http.server.request.start", record);
  t.teardown(() => unsubscribe("http.server.request.start", record));
  return requests;
}

async function askRefusal(url: string, authorization: string): Promise<Refusal> {
  const { status, body } = await get(url, { authorization });
  if (status === 200) throw new Error(`${url} is answered, not refused`);
  const refusal: unknown = JSON.parse(body);
  return { code: stringAt(refusal, "code") ?? "", message: stringAt(refusal, "message") ?? "", status };
}
