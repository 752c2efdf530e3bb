import type { CheckInput } from "../shared/checks/change.ts";
import type { Finding } from "../shared/checks/check.ts";
import { type CheckResult, runChecksPaced } from "../shared/checks/run.ts";
import type { DecisionSettings } from "../shared/contract/context.ts";
import type { ErrorCode } from "../shared/formats/errors.ts";
import type { Exemption } from "../shared/contract/exemptions.ts";
import type { RoleIdentity } from "../shared/model/identity.ts";
import type { PatchOperation } from "../shared/formats/json.ts";
import type { Resolution } from "../shared/resolution/resolve.ts";
import type { EffectiveSelector } from "../shared/model/effective-selector.ts";
import { runInSlices } from "../shared/sources/slices.ts";
import type { TurnQueue } from "../shared/server/turn-queue.ts";
import type { AccessContext } from "./access-review.ts";
import type { NamespaceWaitContext } from "./namespace-wait.ts";
import type { PendingWrites } from "./pending/writes.ts";

/** The maximum time that one review blocks the event loop, in ms. */
const SLICE_MS = 10;

/** A warning about the annotations that the webhook writes to an object. */
export interface Notice {
  readonly code: ErrorCode | "ACK-02";
  /** The message starts in lower case and has no trailing full stop. */
  readonly message: string;
}

export type SkipReason = Exemption | "not managed" | "no object" | "limit exceeded" | "written by CAPA";

/**
 * The result of a review. If a review cannot determine the result, the handler throws, and `route.ts` denies the
 * object or responds with an HTTP error.
 */
export type Verdict =
  | { readonly outcome: "allowed" | "denied"; readonly findings: readonly Finding[] }
  /** The patch is empty if the object needs no change. */
  | {
    readonly outcome: "mutated";
    readonly patch: readonly PatchOperation[];
    readonly notices: readonly Notice[];
    readonly resolution: Resolution | null;
  }
  /** The webhook allows the request and has run no check. */
  | { readonly outcome: "skipped"; readonly reason: SkipReason };

/** The time budget of one review. */
export interface ReviewTime {
  /** Returns the time of a monotonic clock, in ms. */
  readonly monotonicMs: () => number;
  /** Returns the remaining time until the deadline of the response, in ms. */
  readonly remainingMs: () => number;
}

/** What a review reads besides the request. */
export interface ReviewContext extends ReviewTime, NamespaceWaitContext, AccessContext {
  /** The paused reviews and scans of the process. */
  readonly turns: TurnQueue;
  readonly pendingSelectors: PendingWrites<EffectiveSelector>;
  readonly pendingIdentities: PendingWrites<RoleIdentity>;
}

export function skipped(reason: SkipReason): Verdict {
  return { outcome: "skipped", reason };
}

/**
 * Runs every check that applies to the change. Yields to the event loop between slices, and returns a promise only if
 * it does. Throws ERR_REQUEST_DEADLINE if the deadline passes.
 */
export function runChecksInSlices(
  input: CheckInput, settings: DecisionSettings, { monotonicMs, remainingMs, turns }: ReviewTime & { turns: TurnQueue },
): CheckResult | Promise<CheckResult> {
  const pause = (pauses: number): Promise<void> => turns.pause(pauses, remainingMs);
  return runInSlices(runChecksPaced(input, settings), { sliceMs: SLICE_MS, now: monotonicMs, pause, remainingMs });
}

export function verdictOf({ findings, denied }: Pick<CheckResult, "findings" | "denied">): Verdict {
  return { outcome: denied ? "denied" : "allowed", findings };
}
