import { STSServiceException } from "@aws-sdk/client-sts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { stringAt } from "../../shared/formats/json.ts";
import { printable, quote } from "../../shared/formats/text.ts";
import { signerCause } from "../../shared/refusals/refusal-causes.ts";
import { refusalText } from "../../shared/refusals/refusal-text.ts";
import type { RefusedCall } from "../../shared/refusals/refused-call.ts";

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

/** The error of a refused call: its message states the likely cause, the fix and the command that shows the cause. */
export class RefusedCallError extends UpstreamSTSError {
  /** Returns the message, of which all but the answer of STS has at most `maxBytes`. */
  readonly explain: (maxBytes?: number) => string;

  /** `about` is the start of the message. */
  constructor(call: RefusedCall, { stsCode, stsStatus, message }: UpstreamSTSError, about = "") {
    const explain = (maxBytes?: number): string => refusalText({ code: stsCode, message }, call, maxBytes);
    super(`${about}${explain()}`, { stsCode, stsStatus });
    this.explain = explain;
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
  constructor(stsCode: string, response: string) {
    const { cause, fix } = signerCause(stsCode);
    super("ERR_BASE_UNAVAILABLE", `STS rejected the sidecar's base identity: ${cause}. ${fix}. ${response}`);
    this.response = response;
  }
}

/**
 * The error of a call that lacks its own caller, such as an access key or a token. The cached session must not be used
 * again.
 */
export class DeniedCallerError extends ResolverError {}

/** The error ERR_STS_UNAVAILABLE of a call that STS throttled. */
export class ThrottledSTSError extends ResolverError {
  constructor(message: string) {
    super("ERR_STS_UNAVAILABLE", message);
  }
}

/**
 * The error ERR_STS_UNAVAILABLE of a request for which the sidecar did not call STS. This error does not show whether
 * STS is available.
 */
export class STSNotCalledError extends ResolverError {
  constructor(message: string) {
    super("ERR_STS_UNAVAILABLE", message);
  }
}

export class CircuitOpenError extends STSNotCalledError {}

/** STS returned a session that was not requested. The message can contain secrets that the response repeats. */
export class OtherSessionError extends Error {
  constructor(requested: string, returned: string | null) {
    const session = returned === null ? "a session without an ARN" : `the session ${quote(returned)}`;
    super(`${session} instead of ${quote(requested)}. Check the STS endpoint, and any proxy in front of it.`);
  }
}

/** The only action whose calls are not signed. */
export const WEB_IDENTITY_ACTION = "AssumeRoleWithWebIdentity";

/** What the sidecar knows about an error code of STS. */
interface CodeRow {
  /**
   * A `request` error is about the role or the request, and persists until one of them changes. A `signer` error is
   * about the credentials that signed the call, or about the token of a call that is not signed.
   */
  readonly about: "request" | "signer" | "other";
  /** How long the cache repeats a `request` error before it calls STS again, in ms. */
  readonly delayMs?: number;
  /** Whether STS denied the role or its caller, so that the cached session must not be used again. */
  readonly isDenial?: true;
}

const DENIAL: CodeRow = { about: "request", isDenial: true };
/** An invalid request stays invalid until its selector changes. */
const INVALID = { about: "request", delayMs: 300_000 } as const;
/** The delay after any other rejection: a trust policy can be fixed within a minute. */
const REJECTION_MS = 60_000;

/** The error codes that STS documents. */
const CODES: ReadonlyMap<string, CodeRow> = new Map<string, CodeRow>([
  ["AccessDenied", DENIAL], ["AccessDeniedException", DENIAL], ["IDPRejectedClaim", DENIAL],
  ["RegionDisabledException", { about: "request" }],
  // The retry uses a new token, as AWS documents. A missing OIDC provider can be created within seconds.
  ["InvalidIdentityToken", { about: "request", delayMs: 10_000 }],
  ["ValidationError", INVALID], ["MalformedPolicyDocument", INVALID], ["PackedPolicyTooLarge", INVALID],
  ...[
    "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "SignatureDoesNotMatch", "IncompleteSignature",
    "MissingAuthenticationToken", "RequestExpired",
  ].map((code) => [code, { about: "signer" }] as const),
  ...["Throttling", "ThrottlingException", "ServiceUnavailable", "InternalFailure", "IDPCommunicationError"]
    .map((code) => [code, { about: "other" }] as const),
]);

/**
 * The maximum length of an STS message. Messages of STS have one or two sentences, but messages of a custom endpoint
 * can have any length.
 */
const MAX_MESSAGE_LENGTH = 1_000;
const SHORT_SECRET_LENGTH = 4;
/**
 * Converts the error of an STS call to ERR_STS_REFUSED, ERR_STS_UNAVAILABLE or ERR_BASE_UNAVAILABLE. STS messages can
 * quote values of the request, so the `secrets` are removed from the message. An expired web identity token is
 * ERR_STS_UNAVAILABLE, because AWS documents to retry with a new token:
 * https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
 */
export function toResolverError(action: string, error: unknown, secrets: readonly string[]): ResolverError {
  if (!(error instanceof STSServiceException) || !isErrorResponse(error)) return failedCall(action, error, secrets);
  const code = codeOf(error);
  const text = redact(secrets, `STS returned ${code} for ${action}: ${error.message}`);
  const message = printable(text.slice(0, MAX_MESSAGE_LENGTH));
  const about = CODES.get(code)?.about;
  if (about === "signer" && action !== WEB_IDENTITY_ACTION) return new RejectedSignerError(code, message);
  if (about === "request") {
    return new UpstreamSTSError(message, { stsCode: code, stsStatus: error.$metadata.httpStatusCode ?? 0 });
  }
  if (isThrottled(error, code)) return new ThrottledSTSError(message);
  return isUnavailable(error, code)
    ? new ResolverError("ERR_STS_UNAVAILABLE", message) : new RetryableSTSError(message, code);
}

/**
 * Returns the error of a call without an error response of STS. Omits the message of an error of the SDK, because such
 * a message can quote a response that contains secrets.
 */
function failedCall(action: string, error: unknown, secrets: readonly string[]): ResolverError {
  const message = error instanceof OtherSessionError
    ? redact(secrets, `STS returned for ${action} ${error.message}`)
    : `The STS call failed (${action}: ${reasonOf(error)}). Retry the request.`;
  return new ResolverError("ERR_STS_UNAVAILABLE", message);
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
  if (error instanceof OtherSessionError) return "other";
  if (!(error instanceof STSServiceException) || !isErrorResponse(error)) return "unreachable";
  const code = codeOf(error);
  return CODES.has(code) ? code : "other";
}

function isThrottled({ $metadata: { httpStatusCode } }: STSServiceException, code: string): boolean {
  return httpStatusCode === 429 || /throttl|limit|slow|toomany/i.test(code);
}

/**
 * Returns true if STS, or a proxy in front of STS, is unavailable. Returns true as well if the cause of the error is
 * unclear.
 */
function isUnavailable(error: STSServiceException, code: string): boolean {
  const { httpStatusCode: status = 500 } = error.$metadata;
  if (status >= 500 || status === 408) return true;
  return !("Code" in error) || /timeout/i.test(code);
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

/** How the cache handles a failed call for a session. */
interface Backoff {
  /** How long the cache returns the same error before it calls STS again, in ms. */
  readonly delayMs: number;
  /**
   * Whether the failure counts as one of the failures in a row. Each failure in a row doubles the maximum delay of the
   * next failure.
   */
  readonly isCounted: boolean;
  /**
   * Whether STS, or the provider of the token, denied the role or its caller. After such a denial, the cached session
   * must not be used again. Any other error concerns only the request, for example its duration.
   */
  readonly evictsSession: boolean;
  /**
   * Whether STS rejected the request. A changed selector can fix the request, so the cache retries immediately after
   * such a change.
   */
  readonly isRejection: boolean;
}

/** The delay after any other failure is random, between 0 and a limit that doubles with each failure in a row. */
const BACKOFF = { firstMs: 200, maxMs: 30_000 } as const;

/** Returns how to handle `error` after `failuresInRow` earlier failures. The argument `random` is in [0, 1). */
export function backoffFor(error: unknown, failuresInRow: number, random: number): Backoff {
  // Needs no delay, because the circuit breaker decides when STS may be called again.
  if (error instanceof STSNotCalledError) {
    return { delayMs: 0, isCounted: false, evictsSession: false, isRejection: false };
  }
  if (error instanceof ResolverError && error.code === "ERR_STS_REFUSED") {
    const code = error instanceof UpstreamSTSError ? error.stsCode : "AccessDenied";
    const { delayMs = REJECTION_MS, isDenial = false } = CODES.get(code) ?? {};
    return { delayMs, isCounted: true, evictsSession: isDenial, isRejection: true };
  }
  const evictsSession = error instanceof DeniedCallerError;
  const delayMs = random * Math.min(BACKOFF.maxMs, BACKOFF.firstMs * 2 ** failuresInRow);
  return { delayMs, isCounted: true, evictsSession, isRejection: false };
}
