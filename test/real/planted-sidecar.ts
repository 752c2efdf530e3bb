import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import type { Test } from "tap";
import type { STSEmulator } from "../../cli/local/sts-emulator/emulator.ts";
import { type Faults, startSTSEmulator } from "../cli/local/sts-emulator/faults.ts";
import { isJsonObject, stringAt } from "../../shared/formats/json.ts";
import { get, type LoopbackAnswer, type LoopbackRequest, send } from "../loopback-request.ts";
import { namespaceObject, selectorObject } from "../shared/objects.ts";
import { assumeBody, elementOf, signed, type Signing, type VendedKeys } from "../sidecar/sts/signed-request.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

/** Every secret in these tests contains this text. No other value contains it. */
export const PLANTED = "planted";
/** The base identity of the sidecar: as a principal of STS, and as environment variables. */
export const BASE = {
  accessKeyID: "ASIASIDECARBASE", secretAccessKey: `${PLANTED}-base-secret`, sessionToken: `${PLANTED}-base-token`,
  arn: "arn:aws:sts::999999999999:assumed-role/ack/pod",
};
export const ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: BASE.accessKeyID, AWS_SECRET_ACCESS_KEY: BASE.secretAccessKey,
  AWS_SESSION_TOKEN: BASE.sessionToken,
};
const TOKEN = `${PLANTED}-client-token-0123456789abcdef`;
const EXTRAS = {
  "ack-role-resolver.io/external-id": `${PLANTED}-external-id`,
  "ack-role-resolver.io/session-tags": `team=${PLANTED}-tag-value`,
};

/** A response, with its latency. `code` is `ok` or the error code in the body. */
export interface MeasuredResponse extends Omit<LoopbackAnswer, "headers"> {
  readonly code: string;
  readonly ms: number;
}

type Headers = Readonly<Record<string, string>>;

/**
 * A sidecar process with log level debug, and an STS emulator. Tests can stop the emulator, make it return faults and
 * change its clock. The sidecar grants the roles of the named selectors. Every secret contains PLANTED.
 */
export class PlantedSidecar {
  faults: Faults = () => null;
  /** How far the clock of STS is ahead of the local clock. */
  aheadMs = 0;
  readonly folder: string;
  /** The bodies of all error responses. */
  readonly errorBodies: string[] = [];
  #sts: STSEmulator | null = null;
  #server: ServerProcess | null = null;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /**
   * Starts the sidecar and the emulator, and stops them when the test ends. `keys` returns the keys of the controller.
   */
  static async start(t: Test, selectors: readonly string[]): Promise<PlantedSidecar> {
    const sidecar = new PlantedSidecar(t.testdir({ manifests: {}, state: {}, token: TOKEN }));
    t.teardown(() => sidecar.#sts?.close());
    await sidecar.startSTS();
    await Promise.all(selectors.map((name) => sidecar.writeSelector(name)));
    const server = await startServer("sidecar", [
      "--from", join(sidecar.folder, "manifests"), "--group", "s3.services.k8s.aws", "--log-level", "debug",
      "--token-file", sidecar.tokenFile, "--state-dir", join(sidecar.folder, "state"),
      "--sts-endpoint", sidecar.sts.url,
    ], ENVIRONMENT);
    t.teardown(() => server.stop());
    sidecar.#server = server;
    return sidecar;
  }

  get tokenFile(): string {
    return join(this.folder, "token");
  }

  get sts(): STSEmulator {
    if (this.#sts === null) throw new Error("STS is not started");
    return this.#sts;
  }

  get server(): ServerProcess {
    if (this.#server === null) throw new Error("the sidecar is not started");
    return this.#server;
  }

  get url(): string {
    return `http://${this.server.address}`;
  }

  /** Starts the STS emulator again, on the same port. */
  async startSTS(): Promise<void> {
    this.#sts = await startSTSEmulator({
      port: this.#sts === null ? 0 : Number(new URL(this.#sts.url).port),
      baseCredentials: [BASE],
      now: () => Date.now() + this.aheadMs, randomBytes: plantedBytes, faults: (...call) => this.faults(...call),
    });
  }

  /** Writes the selector for the role `name`. With different `labels`, the selector is a changed object. */
  async writeSelector(name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    const spec = { arn: roleARN(name), namespaceSelector: { names: [name] } };
    const selector = selectorObject(name, spec, { annotations: EXTRAS, labels });
    const list = { apiVersion: "v1", kind: "List", items: [namespaceObject(name), selector] };
    await writeFile(join(this.folder, "manifests", `${name}.json`), JSON.stringify(list));
  }

  async token(): Promise<string> {
    return readFile(this.tokenFile, "utf8");
  }

  /** Requests the credentials of a selector's role from the container endpoint. */
  async credentials(name: string, headers: Headers = {}): Promise<MeasuredResponse> {
    const authorized = { authorization: await this.token(), ...headers };
    return this.request(`/v1/credentials/selectors/${name}`, { headers: authorized });
  }

  /** Returns the keys of the container endpoint at `path`. Rejects if the endpoint returns an error. */
  async keys(path = "/v1/credentials"): Promise<VendedKeys> {
    const { body } = await this.request(path, { headers: { authorization: await this.token() } });
    const text = (name: string): string | null => stringAt(JSON.parse(body), name);
    const [AccessKeyId, SecretAccessKey, Token] = [text("AccessKeyId"), text("SecretAccessKey"), text("Token")];
    if (AccessKeyId === null || SecretAccessKey === null || Token === null) throw new Error(`${path} returned ${body}`);
    return { AccessKeyId, SecretAccessKey, Token };
  }

  /**
   * Sends a signed request to `/sts`, as a controller does. The signature covers the changes in `change`, but not the
   * headers in `headers`.
   */
  async callSTS(keys: VendedKeys, change: Partial<Signing> = {}, headers: Headers = {}): Promise<MeasuredResponse> {
    const signedHeaders = { host: this.server.address, ...change.headers };
    const request = await signed({ keys, now: Date.now(), ...change, headers: signedHeaders });
    const allHeaders = { ...request.headers, ...headers };
    return this.request(request.url, { method: "POST", headers: allHeaders, body: request.payload });
  }

  async assume(keys: VendedKeys, name: string): Promise<MeasuredResponse> {
    return this.callSTS(keys, { body: assumeBody({ RoleArn: roleARN(name) }) });
  }

  async request(path: string, request: LoopbackRequest): Promise<MeasuredResponse> {
    const startMs = performance.now();
    const response = await send(this.url + path, request);
    return this.#record(response, performance.now() - startMs);
  }

  /**
   * Sends each piece of `pieces` unchanged as soon as it is available, and reads until the sidecar closes the
   * connection.
   */
  async sendRaw(pieces: AsyncIterable<string> | Iterable<string>): Promise<MeasuredResponse> {
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
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]);
    return this.#record({ status, body }, performance.now() - startMs);
  }

  async health(path: "/healthz" | "/readyz" | "/metrics"): Promise<LoopbackAnswer> {
    return get(`http://${this.server.healthAddress}${path}`);
  }

  /** Returns all log lines, lines of health endpoints and error bodies that contain a secret. */
  async leaks(): Promise<string[]> {
    const health = await Promise.all((["/healthz", "/readyz", "/metrics"] as const).map((path) => this.health(path)));
    const texts = [
      ...this.server.log.map((line) => JSON.stringify(line)), ...health.flatMap(({ body }) => body.split("\n")),
      ...this.errorBodies,
    ];
    return texts.filter((text) => text.includes(PLANTED));
  }

  #record({ status, body }: Omit<LoopbackAnswer, "headers">, ms: number): MeasuredResponse {
    if (status !== 200) this.errorBodies.push(body);
    return { status, body, ms, code: status === 200 ? "ok" : codeOf(body) };
  }
}

export function roleARN(name: string): string {
  return `arn:aws:iam::111111111111:role/${name}`;
}

/** Returns the error code of an XML body of `/sts`, or of a JSON body. */
function codeOf(body: string): string {
  const xml = elementOf(body, "Code");
  if (xml !== null) return xml;
  const json: unknown = JSON.parse(body);
  return (isJsonObject(json) ? stringAt(json, "code") : null) ?? body;
}

/**
 * Replaces random bytes, so that the base64 text of secrets and session tokens starts with PLANTED. Access key IDs use
 * 16 bytes and stay random.
 */
function plantedBytes(size: number): Buffer {
  const letters = Buffer.from(`${PLANTED}/`, "base64");
  return size === 16 ? randomBytes(size) : Buffer.concat([letters, randomBytes(size - letters.length)]);
}
