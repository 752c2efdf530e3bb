import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import type { Test } from "tap";
import { startSTSEmulator, type STSEmulator, type STSEmulatorOptions } from "../../cli/local/sts-emulator/emulator.ts";
import { isJsonObject, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { get, type LoopbackAnswer, type LoopbackRequest, send } from "../loopback-request.ts";
import { namespaceObject, selectorObject } from "../shared/decisions/objects.ts";
import { assumeBody, elementOf, signed, type Signing, type VendedKeys } from "../sidecar/sts/signed-request.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

/** Stands in everything that is a secret here, and in nothing else. */
export const PLANTED = "planted";
/** The sidecar's own identity, as STS knows it, and as a process is given it. */
export const BASE = {
  accessKeyID: "ASIASIDECARBASE", secretAccessKey: `${PLANTED}-base-secret`, sessionToken: `${PLANTED}-base-token`,
  arn: "arn:aws:sts::999999999999:assumed-role/ack/pod",
};
export const ENVIRONMENT = { AWS_ACCESS_KEY_ID: BASE.accessKeyID, AWS_SECRET_ACCESS_KEY: BASE.secretAccessKey, AWS_SESSION_TOKEN: BASE.sessionToken };
const TOKEN = `${PLANTED}-client-token-0123456789abcdef`;
const EXTRAS = {
  "ack-role-resolver.io/external-id": `${PLANTED}-external-id`, "ack-role-resolver.io/session-tags": `team=${PLANTED}-tag-value`,
};

/** `ok` or the code that stands in the body, as clients read it, and how long it took. */
export interface Answer extends Omit<LoopbackAnswer, "headers"> {
  readonly code: string;
  readonly ms: number;
}

type Faults = NonNullable<STSEmulatorOptions["faults"]>;

/**
 * A sidecar process that logs at level debug, before an STS that can be ended, set wrong and made to fail. It grants the roles of the selectors
 * named; every secret that there is has PLANTED in it.
 */
export class PlantedSidecar {
  faults: Faults = () => null;
  /** By how much STS's clock is ahead of this machine's. */
  aheadMs = 0;
  readonly folder: string;
  /** The bodies of all refusals. */
  readonly refusals: string[] = [];
  #sts: STSEmulator | null = null;
  #server: ServerProcess | null = null;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Starts both; they end with the test. The controller has its keys, by `keys`. */
  static async start(t: Test, selectors: readonly string[]): Promise<PlantedSidecar> {
    const sidecar = new PlantedSidecar(t.testdir({ manifests: {}, state: {}, token: TOKEN }));
    t.teardown(() => sidecar.#sts?.close());
    await sidecar.startSTS();
    await Promise.all(selectors.map((name) => sidecar.writeSelector(name)));
    const from = ["--from", join(sidecar.folder, "manifests"), "--group", "s3.services.k8s.aws", "--log-level", "debug"];
    const own = ["--token-file", sidecar.tokenFile, "--state-dir", join(sidecar.folder, "state"), "--sts-endpoint", sidecar.sts.url];
    const server = await startServer("sidecar", [...from, ...own], ENVIRONMENT);
    t.teardown(() => server.stop());
    sidecar.#server = server;
    return sidecar;
  }

  get tokenFile(): string {
    return join(this.folder, "token");
  }

  get sts(): STSEmulator {
    if (this.#sts === null) throw new Error("STS was never started");
    return this.#sts;
  }

  get server(): ServerProcess {
    if (this.#server === null) throw new Error("the sidecar was never started");
    return this.#server;
  }

  get url(): string {
    return `http://${this.server.address}`;
  }

  /** Again on the port of the one before. */
  async startSTS(): Promise<void> {
    this.#sts = await startSTSEmulator({
      port: this.#sts === null ? 0 : Number(new URL(this.#sts.url).port),
      baseCredentials: [BASE],
      now: () => Date.now() + this.aheadMs, randomBytes: plantedBytes, faults: (call) => this.faults(call),
    });
  }

  /** The selector of role `name`; `labels` make another object of it. */
  async writeSelector(name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    const selector = selectorObject(name, { arn: roleARN(name), namespaceSelector: { names: [name] } }, { annotations: EXTRAS, labels });
    const list = { apiVersion: "v1", kind: "List", items: [namespaceObject(name), selector] };
    await writeFile(join(this.folder, "manifests", `${name}.json`), JSON.stringify(list));
  }

  async token(): Promise<string> {
    return readFile(this.tokenFile, "utf8");
  }

  /** The credentials of a selector's role, by the container endpoint. */
  async credentials(name: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.ask(`/v1/credentials/selectors/${name}`, { headers: { authorization: await this.token(), ...headers } });
  }

  /** The keys that the endpoint answers with at `path`. Throws where it refuses. */
  async keys(path = "/v1/credentials"): Promise<VendedKeys> {
    const { body } = await this.ask(path, { headers: { authorization: await this.token() } });
    const [AccessKeyId, SecretAccessKey, Token] = ["AccessKeyId", "SecretAccessKey", "Token"].map((name) => stringAt(JSON.parse(body), name));
    if (AccessKeyId == null || SecretAccessKey == null || Token == null) throw new Error(`${path} is refused: ${body}`);
    return { AccessKeyId, SecretAccessKey, Token };
  }

  /** As a controller asks `/sts`, with `change` at what it signs. */
  async askSTS(keys: VendedKeys, change: Partial<Signing> = {}, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const request = await signed({ keys, now: Date.now(), ...change, headers: { host: this.server.address, ...change.headers } });
    return this.ask(request.url, { method: "POST", headers: { ...request.headers, ...headers }, body: request.payload });
  }

  async assume(keys: VendedKeys, name: string): Promise<Answer> {
    return this.askSTS(keys, { body: assumeBody({ RoleArn: roleARN(name) }) });
  }

  async ask(path: string, request: LoopbackRequest): Promise<Answer> {
    const startMs = performance.now();
    const answer = await send(this.url + path, request);
    return this.#noted(answer, performance.now() - startMs);
  }

  /** Sends bytes as they are, `pieces` of them as they come, and reads until the other side ends. */
  async raw(pieces: AsyncIterable<string> | Iterable<string>): Promise<Answer> {
    const startMs = performance.now();
    const socket = connect(Number(new URL(this.url).port), "127.0.0.1");
    await once(socket, "connect");
    const received = socket.setEncoding("utf8").toArray();
    for await (const piece of pieces) {
      if (!socket.writable) break;
      socket.write(piece);
    }
    const text = (await received).join("");
    const [head = "", body = ""] = text.split("\r\n\r\n");
    return this.#noted({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), body }, performance.now() - startMs);
  }

  async health(path: "/healthz" | "/readyz" | "/metrics"): Promise<LoopbackAnswer> {
    return get(`http://${this.server.healthAddress}${path}`);
  }

  /** Where any secret was told: a line of the log, a metric, or a refusal. */
  async leaks(): Promise<string[]> {
    const probes = await Promise.all((["/healthz", "/readyz", "/metrics"] as const).map(async (path) => (await this.health(path)).body));
    return [...this.server.log.map((line) => JSON.stringify(line)), ...probes.flatMap((body) => body.split("\n")), ...this.refusals].filter((text) => text.includes(PLANTED));
  }

  #noted({ status, body }: Omit<LoopbackAnswer, "headers">, ms: number): Answer {
    if (status !== 200) this.refusals.push(body);
    return { status, body, ms, code: status === 200 ? "ok" : codeOf(body) };
  }
}

export function roleARN(name: string): string {
  return `arn:aws:iam::111111111111:role/${name}`;
}

/** Of XML at `/sts`, else of JSON. */
function codeOf(body: string): string {
  const xml = elementOf(body, "Code");
  if (xml !== null) return xml;
  const json: unknown = JSON.parse(body);
  return (isJsonObject(json) ? stringAt(json, "code") : null) ?? body;
}

/** A session's secret and its token are base64, of which these bytes are the first letters; an access key's id is made of 16 bytes. */
function plantedBytes(size: number): Buffer {
  const letters = Buffer.from(`${PLANTED}/`, "base64");
  return size === 16 ? randomBytes(size) : Buffer.concat([letters, randomBytes(size - letters.length)]);
}
