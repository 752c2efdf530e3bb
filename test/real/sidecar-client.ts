import type { Test } from "tap";
import { stringAt } from "../../shared/formats/json.ts";
import { get, send } from "../loopback-request.ts";
import { assumeBody, signed } from "../sidecar/sts/signed-request.ts";
import { fileWith } from "../token-file.ts";
import { ENVIRONMENT, roleARN } from "./planted-sidecar.ts";
import { type RecordedSTS } from "./recorded-sts.ts";
import { startServer } from "./server-process.ts";

const TOKEN = "client-token-0123456789abcdef";

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** A client of a sidecar whose requests to STS are recorded. */
export class SidecarClient {
  readonly sts: RecordedSTS;
  readonly #address: string;

  constructor(sts: RecordedSTS, address: string) {
    this.sts = sts;
    this.#address = address;
  }

  async credentials(path: string): Promise<Answer> {
    return get(`http://${this.#address}/v1/credentials${path}`, { authorization: TOKEN });
  }

  /** Sends AssumeRole to `/sts`, as a controller does. */
  async assume(name: string, parameters: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const issued: unknown = JSON.parse((await this.credentials("")).body);
    const text = (field: string): string => stringAt(issued, field) ?? "";
    const keys = {
      AccessKeyId: text("AccessKeyId"), SecretAccessKey: text("SecretAccessKey"), Token: text("Token"),
    };
    const body = assumeBody({ RoleArn: roleARN(name), ...parameters });
    const request = await signed({ keys, now: Date.now(), headers: { host: this.#address }, body });
    const { headers, payload } = request;
    return send(`http://${this.#address}${request.url}`, { method: "POST", headers, body: payload });
  }
}

/** Starts a sidecar of the s3 controller that reads the manifests of the folder, and returns a client of it. */
export async function startSidecarClient(
  t: Test, sts: RecordedSTS, folder: string, flags: readonly string[],
): Promise<SidecarClient> {
  const sidecar = await startServer("sidecar", [
    "--from", folder, "--group", "s3.services.k8s.aws", "--token-file", fileWith(TOKEN), "--sts-endpoint", sts.url,
    ...flags,
  ], ENVIRONMENT);
  t.teardown(() => sidecar.stop());
  return new SidecarClient(sts, sidecar.address);
}
