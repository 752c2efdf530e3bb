import { Sha256 } from "@smithy/core/checksum";
import { SignatureV4 } from "@smithy/signature-v4";
import type { FastifyInstance, LightMyRequestResponse } from "fastify";

/** The response of the container credentials endpoint. */
export interface VendedKeys {
  readonly AccessKeyId: string;
  readonly SecretAccessKey: string;
  readonly Token: string;
}

export interface Signing {
  readonly keys: VendedKeys;
  /** Default: GetCallerIdentity. */
  readonly body?: string;
  readonly now: number;
  readonly path?: string;
  readonly service?: string;
  readonly region?: string;
  /** Headers to add. The request already has host, content-type and the headers that signing adds. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The names of headers that are sent unsigned. */
  readonly unsigned?: readonly string[];
}

export interface SignedRequest {
  readonly method: "POST";
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly payload: string;
}

export const HOST = "127.0.0.1:9780";
export const FORM = "application/x-www-form-urlencoded";
export const WHO = "Action=GetCallerIdentity&Version=2011-06-15";

/** Returns a request that is signed like a request of an SDK. */
export async function signed({
  keys,
  body = WHO,
  now,
  path = "/sts",
  service = "sts",
  region = "eu-west-1",
  headers = {},
  unsigned = [],
}: Signing): Promise<SignedRequest> {
  const credentials = {
    accessKeyId: keys.AccessKeyId,
    secretAccessKey: keys.SecretAccessKey,
    ...(keys.Token === "" ? {} : { sessionToken: keys.Token }),
  };
  const signer = new SignatureV4({ service, region, credentials, sha256: Sha256, applyChecksum: false });
  const request = {
    method: "POST",
    protocol: "http:",
    hostname: "127.0.0.1",
    path,
    query: {},
    headers: { host: HOST, "content-type": FORM, ...headers },
    body,
  };
  const { headers: all } = await signer.sign(request, {
    signingDate: new Date(now),
    unsignableHeaders: new Set(unsigned),
  });
  return { method: "POST", url: path, headers: all, payload: body };
}

export interface STSAnswer {
  readonly status: number;
  /** `ok`, or the error code of STS. */
  readonly code: string;
  readonly message: string;
  readonly body: string;
  readonly headers: LightMyRequestResponse["headers"];
}

export async function send(
  app: FastifyInstance,
  request: Pick<SignedRequest, "url" | "headers" | "payload"> & { readonly method?: "GET" | "POST" },
): Promise<STSAnswer> {
  const answer = await app.inject({ method: "POST", ...request });
  const { statusCode: status, body, headers } = answer;
  return {
    status,
    body,
    headers,
    code: status === 200 ? "ok" : (elementOf(body, "Code") ?? "no XML"),
    message: elementOf(body, "Message") ?? "",
  };
}

export function elementOf(xml: string, name: string): string | null {
  return new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? null;
}

/** Returns a form body of AssumeRole. */
export function assumeBody(parameters: Readonly<Record<string, string>>): string {
  return new URLSearchParams({
    Action: "AssumeRole",
    Version: "2011-06-15",
    RoleSessionName: "aws-go-sdk-1",
    ...parameters,
  }).toString();
}
