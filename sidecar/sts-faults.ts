import { STSServiceException } from "@aws-sdk/client-sts";
import { ResolverError } from "../shared/decisions/errors.ts";

/** ERR_STS_REFUSED: what STS itself said about the role that was asked for, as `/sts` passes it on. */
export class STSRefused extends ResolverError {
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

/** What STS says about the role that was asked for; it stays true until somebody changes the role. */
const REFUSALS: ReadonlySet<string> = new Set([
  "AccessDenied", "AccessDeniedException", "ValidationError", "MalformedPolicyDocument", "PackedPolicyTooLarge", "RegionDisabledException",
]);
/** What STS says about the credentials that signed the call. */
const BASE_FAULTS: ReadonlySet<string> = new Set([
  "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "SignatureDoesNotMatch", "IncompleteSignature", "MissingAuthenticationToken",
  "RequestExpired",
]);
const TROUBLES: ReadonlySet<string> = new Set(["Throttling", "ThrottlingException", "ServiceUnavailable", "InternalFailure"]);

/** What a call of STS that failed means here: ERR_STS_REFUSED, ERR_STS_UNAVAILABLE or ERR_BASE_UNAVAILABLE. */
export function explain(action: string, error: unknown): ResolverError {
  // Anything but STS's own words may quote the answer, and an answer holds a secret.
  if (!(error instanceof STSServiceException) || !isAnswer(error)) {
    return new ResolverError("ERR_STS_UNAVAILABLE", `STS could not be asked (${action}: ${error instanceof Error ? error.name : "unknown"}); ask again.`);
  }
  const said = `STS answered ${action} with ${error.name}: ${error.message}`;
  if (BASE_FAULTS.has(error.name)) return new ResolverError("ERR_BASE_UNAVAILABLE", `The sidecar's own identity is not accepted. ${said}`);
  if (!REFUSALS.has(error.name)) return new ResolverError("ERR_STS_UNAVAILABLE", said);
  return new STSRefused(said, { stsCode: error.name, stsStatus: error.$metadata.httpStatusCode ?? 0 });
}

/** STS's code as a metric counts it, out of a bounded set. */
export function boundedCode(error: unknown): string {
  if (!(error instanceof STSServiceException) || !isAnswer(error)) return "unreachable";
  return [REFUSALS, BASE_FAULTS, TROUBLES].some((codes) => codes.has(error.name)) ? error.name : "other";
}

/** Whether STS itself said it, with a status of an error. */
function isAnswer({ $metadata }: STSServiceException): boolean {
  return ($metadata.httpStatusCode ?? 0) >= 400;
}
