import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Sha256 } from "@smithy/core/checksum";
import { SignatureV4 } from "@smithy/signature-v4";
import { STSErrorResponse } from "./response.ts";

/** A key of one's own making, in the form of STS's temporary ones. */
export interface NewKeys {
  readonly accessKeyID: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

const KEY_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

export function makeKeys(randomBytes: (size: number) => Buffer): NewKeys {
  const letters = Array.from(randomBytes(16), (byte) => KEY_LETTERS.charAt(byte % KEY_LETTERS.length)).join("");
  return { accessKeyID: `ASIA${letters}`, secretAccessKey: randomBytes(30).toString("base64"), sessionToken: randomBytes(192).toString("base64") };
}

/** Who can sign: what was given out under an access key id. */
export interface Signer {
  readonly secretAccessKey: string;
  /** SHA-256 of the session token; null for a long-lived key. The token itself is needed for nothing. */
  readonly tokenDigest: Buffer | null;
  /** Epoch ms; null when it does not end. */
  readonly expirationMs: number | null;
}

/** Whose signatures are believed, and when. */
export interface Verification<S extends Signer> {
  readonly find: (accessKeyID: string) => S | undefined;
  readonly nowMs: number;
  /** How far the signer's clock may be off. */
  readonly skewMs: number;
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=(?<key>[^/,\s]+)\/(?<date>\d{8})\/(?<region>[^/,\s]+)\/(?<service>[^/,\s]+)\/aws4_request, ?SignedHeaders=(?<names>[a-z0-9;-]+), ?Signature=(?<signature>[0-9a-f]{64})$/;
const AMZ_DATE = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

interface Claim {
  readonly accessKeyID: string;
  readonly date: string;
  readonly region: string;
  readonly service: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
}

type Headers = ReadonlyMap<string, string>;

/** SHA-256, as a session token is kept and compared. */
export function tokenDigest(sessionToken: string): Buffer {
  return hash("sha256", sessionToken, "buffer");
}

/**
 * Who signed `request` (AWS Signature Version 4 in the Authorization header), verified over the path as it came, the raw body
 * and exactly the headers that it names. Throws the STSRefusal that STS would answer with.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
 */
export async function verifySignature<S extends Signer>(request: IncomingMessage, body: Buffer, { find, nowMs, skewMs }: Verification<S>): Promise<S> {
  const headers = readHeaders(request);
  const claim = readClaim(headers);
  checkScope(headers, claim);
  const signingDate = readDate(headers, claim);
  const signer = find(claim.accessKeyID);
  if (signer === undefined || !carriesToken(headers, signer)) {
    throw new STSErrorResponse("InvalidClientTokenId", 403, "The security token included in the request is invalid.");
  }
  if (!coversBody(headers, claim, body) || !sameText(await sign({ request, headers, body, claim, signer, signingDate }), claim.signature)) {
    throw mismatch(
      "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.",
    );
  }
  if (Math.abs(nowMs - signingDate.getTime()) > skewMs) {
    throw mismatch(`Signature expired or not yet current: ${headers.get("x-amz-date")} is more than ${skewMs / 60_000} min. from the time here.`);
  }
  if (signer.expirationMs !== null && signer.expirationMs <= nowMs) {
    throw new STSErrorResponse("ExpiredToken", 403, "The security token included in the request is expired");
  }
  return signer;
}

/** No SDK repeats a header; of two, the signature would cover one and another reader might take the other. */
function readHeaders({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Map<string, string>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? "").toLowerCase();
    if (headers.has(name)) throw new STSErrorResponse("MalformedHttpRequest", 400, `The header ${name} is given more than once.`);
    headers.set(name, rawHeaders[i + 1] ?? "");
  }
  return headers;
}

function readClaim(headers: Headers): Claim {
  const authorization = headers.get("authorization") ?? "";
  if (authorization === "") throw new STSErrorResponse("MissingAuthenticationToken", 403, "Request is missing Authentication Token");
  const parts = AUTHORIZATION.exec(authorization)?.groups;
  if (parts === undefined) throw incomplete("The Authorization header is not AWS4-HMAC-SHA256 with Credential, SignedHeaders and Signature.");
  const part = (name: string): string => parts[name] ?? "";
  return {
    accessKeyID: part("key"), date: part("date"), region: part("region"), service: part("service"),
    signedHeaders: part("names").split(";"), signature: part("signature"),
  };
}

function checkScope(headers: Headers, { service, signedHeaders }: Claim): void {
  if (service !== "sts") throw mismatch("Credential should be scoped to correct service: 'sts'.");
  const needed = ["host", "x-amz-date"];
  if (headers.has("x-amz-security-token")) needed.push("x-amz-security-token");
  const unsigned = needed.filter((name) => !signedHeaders.includes(name));
  if (unsigned.length > 0) throw incomplete(`These headers must be signed and are not: ${unsigned.join(", ")}.`);
  const absent = signedHeaders.filter((name) => !headers.has(name));
  if (absent.length > 0) throw incomplete(`These headers are said to be signed and are not there: ${absent.join(", ")}.`);
}

function readDate(headers: Headers, claim: Claim): Date {
  const text = headers.get("x-amz-date") ?? "";
  const date = new Date(text.replace(AMZ_DATE, "$1-$2-$3T$4:$5:$6Z"));
  if (!AMZ_DATE.test(text) || Number.isNaN(date.getTime())) throw incomplete("X-Amz-Date is absent or not of the form YYYYMMDDTHHMMSSZ.");
  if (!text.startsWith(claim.date)) throw mismatch("Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP.");
  return date;
}

function carriesToken(headers: Headers, signer: Signer): boolean {
  const presented = headers.get("x-amz-security-token") ?? "";
  // Digests have one length, and the time to compare them tells nothing of the token.
  return signer.tokenDigest === null ? presented === "" : timingSafeEqual(tokenDigest(presented), signer.tokenDigest);
}

/** A signed digest of the body stands for it in the signature, so it has to be that of this body (and never UNSIGNED-PAYLOAD). */
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

/** What the signature has to be. A query is left out, since no request with one is right here. */
async function sign({ request, headers, body, claim, signer, signingDate }: Signing): Promise<string> {
  const { accessKeyID, region, service, signedHeaders } = claim;
  // The token is among the signed headers already; given to the library as well, it would be added a second time.
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
