import { STSServiceException } from "@aws-sdk/client-sts";
import { ResolverError } from "../../shared/decisions/errors.ts";
import { stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { printable } from "../../shared/decisions/kubernetes/text.ts";

/** ERR_STS_REFUSED: the error that STS returned for the role. `/sts` passes it on to the client. */
export class UpstreamSTSError extends ResolverError {
  /** STS's error code, such as AccessDenied. */
  readonly stsCode: string;
  /** STS's HTTP status. */
  readonly stsStatus: number;
  constructor(message: string, { stsCode, stsStatus }: { readonly stsCode: string; readonly stsStatus: number }) {
    super("ERR_STS_REFUSED", message);
    this.stsCode = stsCode;
    this.stsStatus = stsStatus;
  }
}

/** ERR_STS_UNAVAILABLE: STS returned an unknown error code, which shows that STS is available. */
export class UnknownSTSError extends ResolverError {
  constructor(message: string) {
    super("ERR_STS_UNAVAILABLE", message);
  }
}

/** Errors about the role or the request. They persist until the role or the request changes. */
const REQUEST_ERRORS: ReadonlySet<string> = new Set([
  "AccessDenied", "AccessDeniedException", "ValidationError", "MalformedPolicyDocument", "PackedPolicyTooLarge",
  "RegionDisabledException",
]);
/** Errors about the credentials that signed the call. */
const SIGNER_ERRORS: ReadonlySet<string> = new Set([
  "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "SignatureDoesNotMatch", "IncompleteSignature",
  "MissingAuthenticationToken", "RequestExpired",
]);
/** STS's messages are one or two sentences long. Those of a custom endpoint can be of any length. */
const MAX_MESSAGE_LENGTH = 1_000;
const SHORT_SECRET_LENGTH = 4;
const AVAILABILITY_ERRORS: ReadonlySet<string> = new Set([
  "Throttling", "ThrottlingException", "ServiceUnavailable", "InternalFailure",
]);

/**
 * Converts the error of an STS call to ERR_STS_REFUSED, ERR_STS_UNAVAILABLE or ERR_BASE_UNAVAILABLE. STS's messages can
 * quote request values, so the `secrets` are removed from the message.
 */
export function toResolverError(action: string, error: unknown, secrets: readonly string[]): ResolverError {
  if (error instanceof ResolverError) return error;
  // The messages of other errors are not used: they can quote the response, which contains secrets.
  if (!(error instanceof STSServiceException) || !isErrorResponse(error)) {
    const message = `The STS call failed (${action}: ${reasonOf(error)}). Retry the request.`;
    return new ResolverError("ERR_STS_UNAVAILABLE", message);
  }
  const code = codeOf(error);
  const text = redact(secrets, `STS returned ${code} for ${action}: ${error.message}`);
  const message = printable(text.slice(0, MAX_MESSAGE_LENGTH));
  if (SIGNER_ERRORS.has(code)) {
    return new ResolverError("ERR_BASE_UNAVAILABLE", `STS rejected the sidecar's base identity. ${message}`);
  }
  if (REQUEST_ERRORS.has(code)) {
    return new UpstreamSTSError(message, { stsCode: code, stsStatus: error.$metadata.httpStatusCode ?? 0 });
  }
  return isUnavailable(error, code) ? new ResolverError("ERR_STS_UNAVAILABLE", message) : new UnknownSTSError(message);
}

/** A system error code of Node.js, such as ECONNREFUSED or CERT_HAS_EXPIRED. */
const SYSTEM_CODE = /^[A-Z][A-Z0-9_]{2,49}$/;

/** Returns the system error code, or else the name of the error. Neither quotes a value. */
function reasonOf(error: unknown): string {
  const code = stringAt(error, "code") ?? "";
  if (SYSTEM_CODE.test(code)) return code;
  return error instanceof Error ? error.name : "unknown";
}

/**
 * Removes longer secrets first, because they can contain shorter ones. Short secrets can be part of a word, so only
 * quoted ones are removed.
 */
function redact(secrets: readonly string[], text: string): string {
  const patterns = secrets.map((secret) => (secret.length < SHORT_SECRET_LENGTH ? `'${secret}'` : secret));
  const longestFirst = patterns.toSorted((a, b) => b.length - a.length);
  return longestFirst.reduce((redacted, pattern) => redacted.replaceAll(pattern, "[redacted]"), text);
}

/** Returns the value of the metric label `code`, out of a bounded set. */
export function metricCode(error: unknown): string {
  // The response was incomplete.
  if (error instanceof ResolverError) return "other";
  if (!(error instanceof STSServiceException) || !isErrorResponse(error)) return "unreachable";
  const code = codeOf(error);
  return [REQUEST_ERRORS, SIGNER_ERRORS, AVAILABILITY_ERRORS].some((codes) => codes.has(code)) ? code : "other";
}

/** Whether STS, or a proxy in front of it, is unavailable or throttles. True in case of doubt. */
function isUnavailable(error: STSServiceException, code: string): boolean {
  const { httpStatusCode: status = 500 } = error.$metadata;
  if (status >= 500 || status === 408 || status === 429) return true;
  return !("Code" in error) || /throttl|limit|slow|toomany|timeout/i.test(code);
}

/** Returns the code of the response. The SDK changes some names, such as MalformedPolicyDocumentException. */
function codeOf(error: STSServiceException): string {
  return "Code" in error && typeof error.Code === "string" ? error.Code : error.name;
}

/** Whether STS responded with an error status. */
function isErrorResponse({ $metadata: { httpStatusCode: status = 0 } }: STSServiceException): boolean {
  return status >= 400 && status < 600;
}
