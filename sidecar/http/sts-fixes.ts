import type { ErrorCode } from "../../shared/decisions/errors.ts";

/**
 * The fixes to append to messages that state only a fault, because clients of `/sts` show only the code and the message
 * to their users. The messages of other errors already contain a fix.
 */
const FIXES: Partial<Record<ErrorCode, string>> = {
  ERR_SELECTOR_CONFLICT: "Change the IAMRoleSelectors so that only one selects the resource.",
  ERR_SELECTOR_MALFORMED: "Correct the faults; `ack-role-resolver lint` reports them.",
  ERR_SELECTOR_UNMATCHED: "Create an IAMRoleSelector that selects the resource, or set --unmatched base.",
  ERR_STS_REFUSED: "In the trust policy of the role, allow the sidecar's role to assume it with the external ID and "
    + "tags of the IAMRoleSelector.",
  ERR_STS_UNAVAILABLE: "The sidecar retries automatically.",
  ERR_BASE_UNAVAILABLE: "Configure web identity or EKS Pod Identity for the service account of the Pod.",
};

/** The fixes for rejections by STS, except for an AccessDenied error. */
const UPSTREAM_FIXES: Readonly<Record<string, string>> = {
  ValidationError: "Correct the parameter that the message names.",
  MalformedPolicyDocument: "Correct the session policy of the request.",
  PackedPolicyTooLarge: "Shorten the session policy or the session tags.",
  RegionDisabledException: "Activate STS in the region, or set another --region of the sidecar.",
};

const SIGN = "Sign the request with credentials of GET /v1/credentials: set AWS_CONTAINER_CREDENTIALS_FULL_URI, and "
  + "remove other credentials from the controller's container.";

/**
 * The fixes for a request whose signature the sidecar rejects. The fixes are appended to the messages of STS, which
 * contain no fix.
 */
const SIGNATURE_FIXES: Readonly<Record<string, string>> = {
  InvalidClientTokenId: `${SIGN} If the sidecar restarted, set --state-dir.`,
  SignatureDoesNotMatch: SIGN,
  MissingAuthenticationToken: SIGN,
  IncompleteSignature: SIGN,
  ExpiredToken: "Do not copy credentials: set AWS_CONTAINER_CREDENTIALS_FULL_URI, so that the client refreshes them.",
};

/** Returns the message with the fix and the code. `upstreamCode` is the error code of upstream STS. */
export function messageWithFix(code: ErrorCode, message: string, upstreamCode = ""): string {
  return `${join(message, UPSTREAM_FIXES[upstreamCode] ?? FIXES[code])} (${code})`;
}

/** Returns the message of a rejected signature with the fix. SDKs print the code before the message. */
export function signatureMessage(stsCode: string, message: string): string {
  const isLate = message.startsWith("Signature expired");
  return join(message, isLate ? "Correct the clock of the client." : SIGNATURE_FIXES[stsCode]);
}

function join(message: string, fix: string | undefined): string {
  if (fix === undefined) return message;
  return `${message}${/[.!?]$/.test(message) ? "" : "."} ${fix}`;
}
