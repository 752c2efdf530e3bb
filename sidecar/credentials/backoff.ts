import { type ErrorCode, ResolverError } from "../../shared/formats/errors.ts";
import { STSNotCalledError } from "../sts-upstream/circuit-breaker.ts";
import { UpstreamSTSError } from "../sts-upstream/errors.ts";

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

/**
 * The delay after a rejection, by error code of STS, in ms. The delay is shorter for a denial, because a trust policy
 * can be fixed within a minute. The delay is longer for an invalid request, because it stays invalid until its selector
 * changes.
 */
const REJECTION_DELAYS_MS: Readonly<Record<string, number>> = {
  AccessDenied: 60_000, AccessDeniedException: 60_000, IDPRejectedClaim: 60_000, RegionDisabledException: 60_000,
  // The retry uses a new token, as AWS documents. A missing OIDC provider can be created within seconds.
  InvalidIdentityToken: 10_000,
  ValidationError: 300_000, MalformedPolicyDocument: 300_000, PackedPolicyTooLarge: 300_000,
};
const DENIALS: ReadonlySet<string> = new Set(["AccessDenied", "AccessDeniedException", "IDPRejectedClaim"]);
/** The errors of an access key that STS rejects, and of a ServiceAccount for which the API server issues no token. */
const CALLER_DENIALS: ReadonlySet<ErrorCode> = new Set(["ERR_IDENTITY_SECRET", "ERR_IDENTITY_TOKEN"]);
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
    const delayMs = REJECTION_DELAYS_MS[code] ?? 60_000;
    return { delayMs, isCounted: true, evictsSession: DENIALS.has(code), isRejection: true };
  }
  const evictsSession = error instanceof ResolverError && CALLER_DENIALS.has(error.code);
  const delayMs = random * Math.min(BACKOFF.maxMs, BACKOFF.firstMs * 2 ** failuresInRow);
  return { delayMs, isCounted: true, evictsSession, isRejection: false };
}
