import { STSServiceException } from "@aws-sdk/client-sts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { stringAt } from "../../shared/formats/json.ts";
import { printable } from "../../shared/formats/text.ts";

/** ERR_STS_REFUSED: STS rejected the role or the request. `/sts` returns the error of STS to the client. */
export class UpstreamSTSError extends ResolverError {
  /** The error code of STS, such as AccessDenied. */
  readonly stsCode: string;
  /** STS's HTTP status. */
  readonly stsStatus: number;
  constructor(message: string, { stsCode, stsStatus }: { readonly stsCode: string; readonly stsStatus: number }) {
    super("ERR_STS_REFUSED", message);
    this.stsCode = stsCode;
    this.stsStatus = stsStatus;
  }
}

/**
 * The error ERR_STS_UNAVAILABLE for an error of STS that concerns one request, and that a retry may avoid: the error is
 * unknown, or the provider of a web identity token is unavailable. The response shows that STS is available.
 */
export class RetryableSTSError extends ResolverError {
  /** The error code of STS, such as IDPCommunicationError; "" if it is unknown. */
  readonly stsCode: string;
  constructor(message: string, stsCode = "") {
    super("ERR_STS_UNAVAILABLE", message);
    this.stsCode = stsCode;
  }
}

/** The error ERR_BASE_UNAVAILABLE of a call whose credentials STS rejected. */
export class RejectedSignerError extends ResolverError {
  /** The response of STS, without the statement whose credentials STS rejected. */
  readonly response: string;
  constructor(response: string) {
    super("ERR_BASE_UNAVAILABLE", `STS rejected the sidecar's base identity. ${response}`);
    this.response = response;
  }
}

/** The only action whose calls are not signed. */
export const WEB_IDENTITY_ACTION = "AssumeRoleWithWebIdentity";

/** The codes of errors about the role or the request. Such an error persists until the role or the request changes. */
const REQUEST_ERRORS: ReadonlySet<string> = new Set([
  "AccessDenied", "AccessDeniedException", "ValidationError", "MalformedPolicyDocument", "PackedPolicyTooLarge",
  "RegionDisabledException", "InvalidIdentityToken", "IDPRejectedClaim",
]);
/** The codes of errors about the credentials that signed the call, or about the token of a call that is not signed. */
const SIGNER_ERRORS: ReadonlySet<string> = new Set([
  "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "SignatureDoesNotMatch", "IncompleteSignature",
  "MissingAuthenticationToken", "RequestExpired",
]);
/**
 * The maximum length of an STS message. Messages of STS have one or two sentences, but messages of a custom endpoint
 * can have any length.
 */
const MAX_MESSAGE_LENGTH = 1_000;
const SHORT_SECRET_LENGTH = 4;
/** The codes of other errors that STS documents. */
const OTHER_ERRORS: ReadonlySet<string> = new Set([
  "Throttling", "ThrottlingException", "ServiceUnavailable", "InternalFailure", "IDPCommunicationError",
]);

/**
 * Converts the error of an STS call to ERR_STS_REFUSED, ERR_STS_UNAVAILABLE or ERR_BASE_UNAVAILABLE. STS messages can
 * quote values of the request, so the `secrets` are removed from the message. An expired web identity token is
 * ERR_STS_UNAVAILABLE, because AWS documents to retry with a new token:
 * https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
 */
export function toResolverError(action: string, error: unknown, secrets: readonly string[]): ResolverError {
  if (error instanceof ResolverError) return error;
  // Omits the message of an error that is not an error response of STS, because such a message can quote a response
  // that contains secrets.
  if (!(error instanceof STSServiceException) || !isErrorResponse(error)) {
    const message = `The STS call failed (${action}: ${reasonOf(error)}). Retry the request.`;
    return new ResolverError("ERR_STS_UNAVAILABLE", message);
  }
  const code = codeOf(error);
  const text = redact(secrets, `STS returned ${code} for ${action}: ${error.message}`);
  const message = printable(text.slice(0, MAX_MESSAGE_LENGTH));
  if (SIGNER_ERRORS.has(code) && action !== WEB_IDENTITY_ACTION) return new RejectedSignerError(message);
  if (REQUEST_ERRORS.has(code)) {
    return new UpstreamSTSError(message, { stsCode: code, stsStatus: error.$metadata.httpStatusCode ?? 0 });
  }
  if (isUnavailable(error, code)) return new ResolverError("ERR_STS_UNAVAILABLE", message);
  return new RetryableSTSError(message, code);
}

/** Matches a system error code of Node.js, such as ECONNREFUSED or CERT_HAS_EXPIRED. */
const SYSTEM_CODE = /^[A-Z][A-Z0-9_]{2,49}$/;

/**
 * Returns the system error code or, if the error has no code, the name of the error. Codes and names contain no
 * secrets.
 */
function reasonOf(error: unknown): string {
  const code = stringAt(error, "code") ?? "";
  if (SYSTEM_CODE.test(code)) return code;
  return error instanceof Error ? error.name : "unknown";
}

/**
 * Removes the secrets from `text`, longest first, because a long secret can contain a short secret. A short secret can
 * also be part of a word, so a short secret is removed only where it is quoted.
 */
function redact(secrets: readonly string[], text: string): string {
  const patterns = secrets.map((secret) => (secret.length < SHORT_SECRET_LENGTH ? `'${secret}'` : secret));
  const longestFirst = patterns.toSorted((a, b) => b.length - a.length);
  return longestFirst.reduce((redacted, pattern) => redacted.replaceAll(pattern, "[redacted]"), text);
}

/** Returns the value of the metric label `code`, which has a bounded set of values. */
export function metricCode(error: unknown): string {
  // A ResolverError means that the response of STS was incomplete.
  if (error instanceof ResolverError) return "other";
  if (!(error instanceof STSServiceException) || !isErrorResponse(error)) return "unreachable";
  const code = codeOf(error);
  return [REQUEST_ERRORS, SIGNER_ERRORS, OTHER_ERRORS].some((codes) => codes.has(code)) ? code : "other";
}

/**
 * Returns true if STS, or a proxy in front of STS, is unavailable or throttles. Returns true as well if the cause of
 * the error is unclear.
 */
function isUnavailable(error: STSServiceException, code: string): boolean {
  const { httpStatusCode: status = 500 } = error.$metadata;
  if (status >= 500 || status === 408 || status === 429) return true;
  return !("Code" in error) || /throttl|limit|slow|toomany|timeout/i.test(code);
}

/**
 * Returns the error code that STS sent. The SDK adds a suffix to some codes, such as MalformedPolicyDocumentException.
 */
function codeOf(error: STSServiceException): string {
  return "Code" in error && typeof error.Code === "string" ? error.Code : error.name;
}

/** Returns true if STS responded with an error status. */
function isErrorResponse({ $metadata: { httpStatusCode: status = 0 } }: STSServiceException): boolean {
  return status >= 400 && status < 600;
}
