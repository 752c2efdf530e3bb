import type { CheckResult } from "../../shared/decisions/checks/run.ts";
import { NO_CHANGES, type PendingChanges } from "../../shared/decisions/resolution/change-set.ts";
import type { ReviewTime } from "../handler.ts";
import { CONFIRMATION_MS, type ConfirmedWrites, type PendingWrite, type PendingWrites } from "./writes.ts";

/** The time that a review reserves to run its checks, in ms. */
const RESERVED_MS = 1_000;

/** Returns the time until which a review waits for pending writes. */
function confirmationEndMs({ monotonicMs, remainingMs }: ReviewTime): number {
  return monotonicMs() + Math.min(CONFIRMATION_MS, remainingMs() - RESERVED_MS);
}

/** The maximum number of times that a review runs its checks again because other reviews admitted changes meanwhile. */
const MAX_ROUNDS = 5;

/** A review whose result depends on the pending writes of other objects. */
interface PendingReview<T> {
  readonly pendingWrites: PendingWrites<T>;
  /** Returns the pending writes that can affect the checks, in the same order. */
  readonly related: (writes: readonly PendingWrite<T>[]) => readonly PendingWrite<T>[];
  /** Runs the checks as if the changes were in the inventory. */
  readonly runChecks: (changes: PendingChanges<T>) => Promise<CheckResult>;
  readonly time: ReviewTime;
  /** The reviewed change, which becomes a pending write if the checks admit it; null for a dry run. */
  readonly change: Pick<PendingWrite<T>, "name" | "isDeletion" | "value"> | null;
}

/**
 * Runs the checks, and runs them again with the pending writes of other reviews. Another round follows if another
 * review admits a change meanwhile, or if the watch delivers a pending write: the last round may have read the
 * inventory before. The number of rounds is limited, because a client can send reviews continuously.
 * No other review can miss the admitted change, because it is stored in the same step as the last comparison.
 */
export async function runChecksWithPending<T>(review: PendingReview<T>): Promise<CheckResult> {
  const { pendingWrites, related, runChecks, time, change } = review;
  const endMs = confirmationEndMs(time);
  let { delivered } = pendingWrites;
  let result = await runChecks(NO_CHANGES);
  let newest = 0;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { denied } = result;
    // After a denial, only the deletion of another object can change the result.
    const writes = related(pendingWrites.all()).filter(({ isDeletion }) => isDeletion || !denied);
    const latest = writes.at(-1)?.sequence ?? 0;
    if (latest <= newest && pendingWrites.delivered === delivered) break;
    newest = Math.max(newest, latest);
    ({ delivered } = pendingWrites);
    // The rounds are sequential.
    // oxlint-disable-next-line no-await-in-loop
    result = await runChecksWith(await pendingWrites.confirm(writes, endMs), runChecks);
  }
  if (!result.denied && change !== null) pendingWrites.add(change);
  return result;
}

/** Runs the checks with each set of pending writes. Returns the first result that denies, else the first result. */
async function runChecksWith<T>(
  { certain, possible }: ConfirmedWrites<T>, runChecks: PendingReview<T>["runChecks"],
): Promise<CheckResult> {
  const result = await runChecks(certain);
  if (result.denied || possible === certain) return result;
  const other = await runChecks(possible);
  return other.denied ? other : result;
}
