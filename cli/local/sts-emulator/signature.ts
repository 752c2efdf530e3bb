import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Sha256 } from "@aws-crypto/sha256-js";
import { SignatureV4 } from "@smithy/signature-v4";
import { STSRefusal } from "./answer.ts";
import type { Principal, Principals } from "./principals.ts";

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=(?<accessKeyID>[^/,]+)\/(?<date>\d{8})\/(?<region>[^/,]+)\/(?<service>[^/,]+)\/aws4_request, ?SignedHeaders=(?<names>[^,]+), ?Signature=(?<signature>[0-9a-f]{64})$/;
const AMZ_DATE = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;
const SKEW_MS = 15 * 60_000;

interface Claim {
  readonly accessKeyID: string;
  readonly date: string;
  readonly region: string;
  readonly service: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
}

/**
 * Who signed `request` (AWS Signature Version 4 in the Authorization header), verified over the raw body and exactly the
 * headers that it names. Throws the STSRefusal that STS would answer with.
 */
export async function verifySignature(request: IncomingMessage, body: string, principals: Principals, nowMs: number): Promise<Principal> {
  const claim = readClaim(request);
  checkScope(request, claim);
  const signingDate = readDate(request, claim);
  const principal = principals.find(claim.accessKeyID);
  if (principal === undefined || !sameText(principal.sessionToken ?? "", header(request, "x-amz-security-token"))) {
    throw new STSRefusal("InvalidClientTokenId", 403, "The security token included in the request is invalid.");
  }
  if (!sameText(await sign(request, body, claim, { principal, signingDate }), claim.signature)) {
    throw new STSRefusal(
      "SignatureDoesNotMatch",
      403,
      "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.",
    );
  }
  if (Math.abs(nowMs - signingDate.getTime()) > SKEW_MS) {
    throw new STSRefusal("SignatureDoesNotMatch", 403, `Signature expired or not yet current: ${header(request, "x-amz-date")} is more than 15 min. from the time here.`);
  }
  if (principal.expirationMs !== null && principal.expirationMs <= nowMs) {
    throw new STSRefusal("ExpiredToken", 403, "The security token included in the request is expired");
  }
  return principal;
}

function readClaim(request: IncomingMessage): Claim {
  const authorization = header(request, "authorization");
  if (authorization === "") throw new STSRefusal("MissingAuthenticationToken", 403, "Request is missing Authentication Token");
  const parts = AUTHORIZATION.exec(authorization)?.groups;
  if (parts === undefined) throw incomplete("The Authorization header is not AWS4-HMAC-SHA256 with Credential, SignedHeaders and Signature.");
  const { accessKeyID = "", date = "", region = "", service = "", names = "", signature = "" } = parts;
  return { accessKeyID, date, region, service, signedHeaders: names.split(";"), signature };
}

function checkScope(request: IncomingMessage, { service, signedHeaders }: Claim): void {
  if (service !== "sts") throw new STSRefusal("SignatureDoesNotMatch", 403, "Credential should be scoped to correct service: 'sts'.");
  const needed = ["host", "x-amz-date"];
  if (header(request, "x-amz-security-token") !== "") needed.push("x-amz-security-token");
  const unsigned = needed.filter((name) => !signedHeaders.includes(name));
  if (unsigned.length > 0) throw incomplete(`These headers must be signed and are not: ${unsigned.join(", ")}.`);
}

function readDate(request: IncomingMessage, claim: Claim): Date {
  const text = header(request, "x-amz-date");
  const date = new Date(text.replace(AMZ_DATE, "$1-$2-$3T$4:$5:$6Z"));
  if (!AMZ_DATE.test(text) || Number.isNaN(date.getTime())) throw incomplete("X-Amz-Date is absent or not of the form YYYYMMDDTHHMMSSZ.");
  if (!text.startsWith(claim.date)) {
    throw new STSRefusal("SignatureDoesNotMatch", 403, "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP.");
  }
  return date;
}

async function sign(
  request: IncomingMessage,
  body: string,
  claim: Claim,
  { principal, signingDate }: { principal: Principal; signingDate: Date },
): Promise<string> {
  const url = new URL(request.url ?? "/", "http://host");
  // The token is among the signed headers already; given to the signer as well, it would be added a second time.
  const credentials = { accessKeyId: principal.accessKeyID, secretAccessKey: principal.secretAccessKey };
  const signer = new SignatureV4({ service: claim.service, region: claim.region, credentials, sha256: Sha256, applyChecksum: false });
  const signed = await signer.sign(
    {
      method: request.method ?? "POST",
      protocol: "http:",
      hostname: "host",
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: Object.fromEntries(claim.signedHeaders.map((name) => [name, header(request, name)])),
      body,
    },
    { signingDate, signableHeaders: new Set(claim.signedHeaders) },
  );
  return (signed.headers["authorization"] ?? "").split("Signature=")[1] ?? "";
}

function incomplete(message: string): STSRefusal {
  return new STSRefusal("IncompleteSignature", 400, message);
}

function header(request: IncomingMessage, name: string): string {
  const value = request.headers[name];
  return typeof value === "string" ? value : (value ?? []).join(",");
}

function sameText(a: string, b: string): boolean {
  const [x, y] = [Buffer.from(a), Buffer.from(b)];
  return x.length === y.length && timingSafeEqual(x, y);
}
