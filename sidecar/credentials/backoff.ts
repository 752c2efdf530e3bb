import { ResolverError } from "../../shared/decisions/errors.ts";
import { NotAsked } from "../sts-upstream/circuit-breaker.ts";
import { UpstreamSTSError } from "../sts-upstream/errors.ts";

/** What one call that failed means for the next one of its session. */
export interface FailureVerdict {
  /** How long the failure is told again instead of asking. */
  readonly forMs: number;
  /** Whether it counts among those in a row, which make the pause longer. */
  readonly counts: boolean;
  /** STS's word that the role is not ours: what is kept ends with it. Any other refusal is about what was asked, such as the duration. */
  readonly endsKept: boolean;
  /** Whether STS spoke about what is asked for, so that somebody may have mended it since. */
  readonly refused: boolean;
}

/** What a role's trust policy says may be mended in a minute; a request that STS cannot take changes with its selector. */
const REFUSED_MS: Readonly<Record<string, number>> = {
  AccessDenied: 60_000, AccessDeniedException: 60_000, RegionDisabledException: 60_000,
  ValidationError: 300_000, MalformedPolicyDocument: 300_000, PackedPolicyTooLarge: 300_000,
};
const DENIALS: ReadonlySet<string> = new Set(["AccessDenied", "AccessDeniedException"]);
/** Full jitter between 0 and this, doubled by each failure in a row. */
const BACKOFF = { firstMs: 200, mostMs: 30_000 } as const;

/** `random` in [0, 1). */
export function judgeFailure(error: unknown, failuresInRow: number, random: number): FailureVerdict {
  // The circuit says when it may be.
  if (error instanceof NotAsked) return { forMs: 0, counts: false, endsKept: false, refused: false };
  if (error instanceof ResolverError && error.code === "ERR_STS_REFUSED") {
    const code = error instanceof UpstreamSTSError ? error.stsCode : "AccessDenied";
    return { forMs: REFUSED_MS[code] ?? 60_000, counts: true, endsKept: DENIALS.has(code), refused: true };
  }
  return { forMs: random * Math.min(BACKOFF.mostMs, BACKOFF.firstMs * 2 ** failuresInRow), counts: true, endsKept: false, refused: false };
}
