import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Sha256 } from "@smithy/core/checksum";
import { SignatureV4 } from "@smithy/signature-v4";
import { STSErrorResponse } from "./query-protocol.ts";

/** Random keys that have the format of temporary STS credentials. */
interface TemporaryKeys {
  readonly accessKeyID: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

const KEY_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

export function makeKeys(randomBytes: (size: number) => Buffer): TemporaryKeys {
  const letters = Array.from(randomBytes(16), (byte) => KEY_LETTERS.charAt(byte % KEY_LETTERS.length)).join("");
  return {
    accessKeyID: `ASIA${letters}`,
    secretAccessKey: randomBytes(30).toString("base64"),
    sessionToken: randomBytes(192).toString("base64"),
  };
}

/** An issued key that can sign requests to `/sts`. */
export interface Signer {
  readonly secretAccessKey: string;
  /** The SHA-256 digest of the session token; null for a long-lived key. */
  readonly tokenDigest: Buffer | null;
  /** The expiration in epoch ms; null if the key does not expire. */
  readonly expirationMs: number | null;
}

/** The current time, and the accepted clock skew. */
interface Verification {
  readonly nowMs: number;
  /** The accepted difference between the clocks of the signer and the sidecar, in ms. */
  readonly skewMs: number;
}

const AUTHORIZATION = new RegExp(
  [
    /^AWS4-HMAC-SHA256 Credential=(?<key>[^/,\s]+)\/(?<date>\d{8})\/(?<region>[^/,\s]+)\/(?<service>[^/,\s]+)/,
    /\/aws4_request, ?SignedHeaders=(?<names>[a-z0-9;-]+), ?Signature=(?<signature>[0-9a-f]{64})$/,
  ].map(({ source }) => source).join(""),
);
const AMZ_DATE = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

/** The fields of the Authorization header. */
interface Claim {
  readonly accessKeyID: string;
  readonly date: string;
  readonly region: string;
  readonly service: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
}

type Headers = ReadonlyMap<string, string>;

/** Returns the SHA-256 digest of a session token. The sidecar stores and compares only these digests. */
export function tokenDigest(sessionToken: string): Buffer {
  return hash("sha256", sessionToken, "buffer");
}

/** The headers of a request that names an issued key as its signer. Its signature is not verified yet. */
export interface SignedHeaders<S extends Signer> {
  readonly headers: Headers;
  readonly claim: Claim;
  readonly signingDate: Date;
  readonly signer: S;
}

/**
 * Reads the headers of a signed request, before its body: only a client that has an issued key, and its session token,
 * may send a body. Throws the error that STS would return.
 */
export function readSignedHeaders<S extends Signer>(
  request: IncomingMessage, find: (accessKeyID: string) => S | undefined,
): SignedHeaders<S> {
  const headers = readHeaders(request);
  const claim = readClaim(headers);
  checkScope(headers, claim);
  const signingDate = readDate(headers, claim);
  const signer = find(claim.accessKeyID);
  if (signer === undefined || !carriesToken(headers, signer)) {
    throw new STSErrorResponse("InvalidClientTokenId", 403, "The security token included in the request is invalid.");
  }
  return { headers, claim, signingDate, signer };
}

/**
 * Verifies the AWS Signature Version 4 of a request. Returns the key that signed it. The signature covers the undecoded
 * path, the raw body and exactly the headers in SignedHeaders. Rejects with the error that STS would return.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
 */
export async function verifySignature<S extends Signer>(
  request: IncomingMessage, body: Buffer, signed: SignedHeaders<S>, { nowMs, skewMs }: Verification,
): Promise<S> {
  const { headers, claim, signingDate, signer } = signed;
  const expected = await sign({ request, headers, body, claim, signer, signingDate });
  if (!coversBody(headers, claim, body) || !sameText(expected, claim.signature)) {
    throw mismatch(
      "The request signature we calculated does not match the signature you provided. "
        + "Check your AWS Secret Access Key and signing method. Consult the service documentation for details.",
    );
  }
  if (Math.abs(nowMs - signingDate.getTime()) > skewMs) {
    const date = headers.get("x-amz-date");
    const skew = `${skewMs / 60_000} min`;
    throw mismatch(`Signature expired or not yet current: ${date} differs from the server time by more than ${skew}.`);
  }
  if (signer.expirationMs !== null && signer.expirationMs <= nowMs) {
    throw new STSErrorResponse("ExpiredToken", 403, "The security token included in the request is expired");
  }
  return signer;
}

/**
 * Returns the headers. Throws if a header is repeated: no SDK repeats a header, and the signature would cover only one
 * of its values.
 */
function readHeaders({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Map<string, string>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? "").toLowerCase();
    if (headers.has(name)) {
      throw new STSErrorResponse("MalformedHttpRequest", 400, `The header ${name} is repeated.`);
    }
    headers.set(name, rawHeaders[i + 1] ?? "");
  }
  return headers;
}

function readClaim(headers: Headers): Claim {
  const authorization = headers.get("authorization") ?? "";
  if (authorization === "") {
    throw new STSErrorResponse("MissingAuthenticationToken", 403, "Request is missing Authentication Token");
  }
  const parts = AUTHORIZATION.exec(authorization)?.groups;
  if (parts === undefined) {
    throw incomplete("The Authorization header is not AWS4-HMAC-SHA256 with Credential, SignedHeaders and Signature.");
  }
  const part = (name: string): string => parts[name] ?? "";
  return {
    accessKeyID: part("key"), date: part("date"), region: part("region"), service: part("service"),
    signedHeaders: part("names").split(";"), signature: part("signature"),
  };
}

function checkScope(headers: Headers, { service, signedHeaders }: Claim): void {
  if (service !== "sts") throw mismatch("Credential should be scoped to correct service: 'sts'.");
  const required = ["host", "x-amz-date"];
  if (headers.has("x-amz-security-token")) required.push("x-amz-security-token");
  const unsigned = required.filter((name) => !signedHeaders.includes(name));
  if (unsigned.length > 0) throw incomplete(`These headers must be signed: ${unsigned.join(", ")}.`);
  const missing = signedHeaders.filter((name) => !headers.has(name));
  if (missing.length > 0) throw incomplete(`These signed headers are missing: ${missing.join(", ")}.`);
}

function readDate(headers: Headers, claim: Claim): Date {
  const text = headers.get("x-amz-date") ?? "";
  const date = new Date(text.replace(AMZ_DATE, "$1-$2-$3T$4:$5:$6Z"));
  if (!AMZ_DATE.test(text) || Number.isNaN(date.getTime())) {
    throw incomplete("X-Amz-Date is missing or not in the format YYYYMMDDTHHMMSSZ.");
  }
  if (!text.startsWith(claim.date)) {
    throw mismatch("Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP.");
  }
  return date;
}

function carriesToken(headers: Headers, signer: Signer): boolean {
  const presented = headers.get("x-amz-security-token") ?? "";
  // Compares digests, which have equal lengths, so that the time of the comparison reveals nothing about the token.
  return signer.tokenDigest === null ? presented === "" : timingSafeEqual(tokenDigest(presented), signer.tokenDigest);
}

/**
 * Returns whether the signature covers the body. If the header x-amz-content-sha256 is signed, the signature covers the
 * value of this header in place of the body. This value must therefore be the digest of the body, not UNSIGNED-PAYLOAD.
 */
function coversBody(headers: Headers, { signedHeaders }: Claim, body: Buffer): boolean {
  if (!signedHeaders.includes("x-amz-content-sha256")) return true;
  return headers.get("x-amz-content-sha256") === hash("sha256", body);
}

interface Signing {
  readonly request: IncomingMessage;
  readonly headers: Headers;
  readonly body: Buffer;
  readonly claim: Claim;
  readonly signer: Signer;
  readonly signingDate: Date;
}

/**
 * Returns the expected signature. The signature covers no query string, because the STS endpoint accepts no query
 * string.
 */
async function sign({ request, headers, body, claim, signer, signingDate }: Signing): Promise<string> {
  const { accessKeyID, region, service, signedHeaders } = claim;
  // Does not pass the session token to the library, because the library would add the token as a second header.
  const credentials = { accessKeyId: accessKeyID, secretAccessKey: signer.secretAccessKey };
  const library = new SignatureV4({ service, region, credentials, sha256: Sha256, applyChecksum: false });
  const signed = await library.sign(
    {
      method: request.method ?? "",
      protocol: "http:",
      hostname: "host",
      path: request.url ?? "",
      query: {},
      headers: Object.fromEntries(signedHeaders.map((name) => [name, headers.get(name) ?? ""])),
      body,
    },
    { signingDate, signableHeaders: new Set(signedHeaders) },
  );
  return (signed.headers["authorization"] ?? "").split("Signature=")[1] ?? "";
}

function incomplete(message: string): STSErrorResponse {
  return new STSErrorResponse("IncompleteSignature", 400, message);
}

function mismatch(message: string): STSErrorResponse {
  return new STSErrorResponse("SignatureDoesNotMatch", 403, message);
}

function sameText(a: string, b: string): boolean {
  const [x, y] = [Buffer.from(a), Buffer.from(b)];
  return x.length === y.length && timingSafeEqual(x, y);
}
