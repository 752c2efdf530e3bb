import type { Exemption } from "../shared/decisions/admission-scope.ts";
import type { ErrorCode } from "../shared/decisions/errors.ts";
import type { Finding } from "../shared/decisions/finding.ts";
import type { PatchOperation } from "../shared/decisions/json-patch.ts";
import type { Resolution } from "../shared/decisions/resolve.ts";

/** Something to tell the requester of a mutation. */
export interface Notice {
  readonly code: ErrorCode | "ACK-02";
  /** One sentence without its full stop. */
  readonly message: string;
}

/**
 * What was decided of a request. There is no verdict for "could not tell": that is a thrown error, so that the webhook's
 * failurePolicy decides.
 */
export type Verdict =
  /** Judged, and nothing stands against it. */
  | { readonly outcome: "allowed"; readonly findings: readonly Finding[] }
  | { readonly outcome: "denied"; readonly findings: readonly Finding[] }
  /** Mutated, if the patch holds anything. */
  | { readonly outcome: "mutated"; readonly patch: readonly PatchOperation[]; readonly notices: readonly Notice[]; readonly resolution: Resolution | null }
  /** Let through without a judgement. */
  | { readonly outcome: "skipped"; readonly reason: Exemption | "not ours" | "no object" };

export const NOT_OURS: Verdict = { outcome: "skipped", reason: "not ours" };
export const NO_OBJECT: Verdict = { outcome: "skipped", reason: "no object" };
