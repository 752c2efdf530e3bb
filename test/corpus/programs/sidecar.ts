import { createLogger } from "../../../shared/server/logger.ts";
import { readSettings } from "../../../shared/server/read-settings.ts";
import { type RunningSidecar, runSidecar } from "../../../sidecar/main.ts";
import { send } from "../../loopback-request.ts";
import { assumeBody, signed, type VendedKeys } from "../../sidecar/sts/signed-request.ts";
import { FakeSource } from "../../webhook/webhook-under-test.ts";
import { type Json, textAt } from "../generate/json.ts";
import { INFRASTRUCTURE, RESOURCE_KINDS } from "../generate/names.ts";
import type { Environment } from "../generate/settings.ts";
import { BASE } from "./fake-sts.ts";
import { fileWith } from "../../token-file.ts";

const TOKEN = "token-of-the-controller";
/** A sidecar reads Secrets only in a cluster, and other settings only concern the webhook. */
const FOREIGN = /IDENTITY_SECRET_NAMESPACE/;

export interface SidecarAnswer {
  readonly status: number;
  readonly body: string;
}

/** A running sidecar with an inventory. Its edges are its HTTP server and STS. */
export class SidecarProgram {
  readonly #sidecar: RunningSidecar;
  #keys: VendedKeys | null = null;

  private constructor(sidecar: RunningSidecar) {
    this.#sidecar = sidecar;
  }

  static async start(objects: readonly Json[], environment: Environment, url: string): Promise<SidecarProgram> {
    const own = Object.fromEntries(Object.entries(environment).filter(([name]) => !FOREIGN.test(name)));
    const group = [...RESOURCE_KINDS.map((one) => one.group), INFRASTRUCTURE];
    const flags = {
      cluster: true, group, tokenFile: fileWith(TOKEN), stsEndpoint: url, listen: "127.0.0.1:0",
      healthListen: "127.0.0.1:0",
    };
    const settings = readSettings("sidecar", flags, own);
    const log = createLogger({ name: "sidecar", level: "error", destination: { write: () => undefined } });
    const source = new FakeSource(objects, settings.runtime);
    return new SidecarProgram(
      await runSidecar(settings, { source, log, environment: {}, baseProvider: async () => BASE })
    );
  }

  async get(path: string, token = TOKEN): Promise<SidecarAnswer> {
    const answer = await send(`http://${this.#sidecar.address}${path}`, { headers: { authorization: token } });
    if (path === "/v1/credentials" && answer.status === 200) this.#keys = keysIn(answer.body);
    return answer;
  }

  /** Sends AssumeRole with the credentials of the first `/v1/credentials`; null if there were none. */
  async assumeRole(parameters: Readonly<Record<string, string>>): Promise<SidecarAnswer | null> {
    if (this.#keys === null) return null;
    const host = this.#sidecar.address;
    const request = await signed(
      { keys: this.#keys, body: assumeBody(parameters), now: Date.now(), headers: { host } }
    );
    return await send(
      `http://${host}${request.url}`, { method: "POST", headers: request.headers, body: request.payload }
    );
  }

  close(): Promise<void> {
    return this.#sidecar.close();
  }
}

function keysIn(body: string): VendedKeys {
  const json: unknown = JSON.parse(body);
  return {
    AccessKeyId: textAt(json, "AccessKeyId"), SecretAccessKey: textAt(json, "SecretAccessKey"),
    Token: textAt(json, "Token"),
  };
}
