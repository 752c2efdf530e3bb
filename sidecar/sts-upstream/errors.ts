import { STSServiceException } from "@aws-sdk/client-sts";
import { ResolverError } from "../../shared/decisions/errors.ts";
import { stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { printable } from "../../shared/decisions/kubernetes/text.ts";

/** ERR_STS_REFUSED: what STS itself said about the role that was asked for, as `/sts` passes it on. */
export class UpstreamSTSError extends ResolverError {
  /** One of STS's own codes, such as AccessDenied. */
  readonly stsCode: string;
  /** The HTTP status that it came with. */
  readonly stsStatus: number;
  constructor(message: string, { stsCode, stsStatus }: { readonly stsCode: string; readonly stsStatus: number }) {
    super("ERR_STS_REFUSED", message);
    this.stsCode = stsCode;
    this.stsStatus = stsStatus;
  }
}

/** ERR_STS_UNAVAILABLE: STS refused the request by a code that is not known here, which says that STS is there. */
export class UnknownRefusal extends ResolverError {
  constructor(message: string) {
    super("ERR_STS_UNAVAILABLE", message);
  }
}

/** What STS says about the role that was asked for; it stays true until somebody changes the role. */
const REFUSALS: ReadonlySet<string> = new Set([
  "AccessDenied", "AccessDeniedException", "ValidationError", "MalformedPolicyDocument", "PackedPolicyTooLarge", "RegionDisabledException",
]);
/** What STS says about the credentials that signed the call. */
const BASE_FAULTS: ReadonlySet<string> = new Set([
  "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "SignatureDoesNotMatch", "IncompleteSignature", "MissingAuthenticationToken",
  "RequestExpired",
]);
/** STS's messages are a sentence or two; whoever stands in for it may say anything. */
const MESSAGE_LENGTH = 1_000;
const SHORT_LENGTH = 4;
const TROUBLES: ReadonlySet<string> = new Set(["Throttling", "ThrottlingException", "ServiceUnavailable", "InternalFailure"]);

/**
 * What a call of STS that failed means here: ERR_STS_REFUSED, ERR_STS_UNAVAILABLE or ERR_BASE_UNAVAILABLE. None of `secrets` stands in the
 * message: STS quotes the values that it refuses.
 */
export function explain(action: string, error: unknown, secrets: readonly string[]): ResolverError {
  if (error instanceof ResolverError) return error;
  // Anything but STS's own words may quote the answer, and an answer holds a secret.
  if (!(error instanceof STSServiceException) || !isAnswer(error)) {
    return new ResolverError("ERR_STS_UNAVAILABLE", `STS could not be asked (${action}: ${reasonOf(error)}); ask again.`);
  }
  const code = codeOf(error);
  const said = printable(without(secrets, `STS answered ${action} with ${code}: ${error.message}`).slice(0, MESSAGE_LENGTH));
  if (BASE_FAULTS.has(code)) return new ResolverError("ERR_BASE_UNAVAILABLE", `The sidecar's own identity is not accepted. ${said}`);
  if (!REFUSALS.has(code)) return isTrouble(error, code) ? new ResolverError("ERR_STS_UNAVAILABLE", said) : new UnknownRefusal(said);
  return new UpstreamSTSError(said, { stsCode: code, stsStatus: error.$metadata.httpStatusCode ?? 0 });
}

/** The name of node's code, such as ECONNREFUSED or CERT_HAS_EXPIRED, which quotes nothing; else that of the error. */
const SYSTEM_CODE = /^[A-Z][A-Z0-9_]{2,49}$/;

function reasonOf(error: unknown): string {
  const code = stringAt(error, "code") ?? "";
  if (SYSTEM_CODE.test(code)) return code;
  return error instanceof Error ? error.name : "unknown";
}

/** The longest first: one may be a part of another. What is as short as a word's part is taken out only where it stands alone, in quotes. */
function without(secrets: readonly string[], text: string): string {
  const wanted = secrets.map((secret) => (secret.length < SHORT_LENGTH ? `'${secret}'` : secret));
  return wanted.toSorted((a, b) => b.length - a.length).reduce((left, secret) => left.replaceAll(secret, "[redacted]"), text);
}

/** STS's code as a metric counts it, out of a bounded set. */
export function boundedCode(error: unknown): string {
  // An answer that was not whole.
  if (error instanceof ResolverError) return "other";
  if (!(error instanceof STSServiceException) || !isAnswer(error)) return "unreachable";
  const code = codeOf(error);
  return [REFUSALS, BASE_FAULTS, TROUBLES].some((codes) => codes.has(code)) ? code : "other";
}

/** Of STS itself, or of whatever stands before it; what may be is taken to be. */
function isTrouble(error: STSServiceException, code: string): boolean {
  const { httpStatusCode: status = 500 } = error.$metadata;
  return status >= 500 || status === 408 || status === 429 || !("Code" in error) || /throttl|limit|slow|toomany|timeout/i.test(code);
}

/** As it stands in the answer. The SDK names some errors otherwise, such as MalformedPolicyDocumentException. */
function codeOf(error: STSServiceException): string {
  return "Code" in error && typeof error.Code === "string" ? error.Code : error.name;
}

/** Whether STS itself said it, with a status of an error, which is passed on. */
function isAnswer({ $metadata: { httpStatusCode: status = 0 } }: STSServiceException): boolean {
  return status >= 400 && status < 600;
}
