import type { CheckResult } from "../../shared/decisions/checks/run.ts";
import { ResolverError } from "../../shared/decisions/errors.ts";
import { sortedListOf } from "../../shared/decisions/kubernetes/text.ts";
import type { PendingChanges } from "../../shared/decisions/resolution/change-set.ts";
import type { ReviewTime } from "../handler.ts";
import type { Refusal } from "./list.ts";
import type { ReviewedChange } from "./write.ts";
import { type PendingWrite, type PendingWrites, possibleStates, secondsText } from "./writes.ts";

/** The maximum number of times that a review runs its checks because other reviews admitted changes meanwhile. */
const MAX_ROUNDS = 5;
/** When to send a change again that was compared too often, in ms: other reviews may have ended by then. */
const BUSY_MS = 1_000;

/** A review whose result depends on the pending writes of other objects. */
interface PendingReview<T> {
  readonly pendingWrites: PendingWrites<T>;
  /** Returns the pending writes that can affect the checks, in the same order. */
  readonly related: (writes: readonly PendingWrite<T>[]) => readonly PendingWrite<T>[];
  /** Runs the checks as if the changes were in the inventory. */
  readonly runChecks: (changes: PendingChanges<T>) => Promise<CheckResult>;
  readonly time: ReviewTime;
  /** The reviewed change, which becomes a pending write if the checks admit it; null for a dry run. */
  readonly change: ReviewedChange | null;
}

/**
 * Runs the checks also with the pending writes. Admits a change only in the step that makes it a pending write, and
 * only if no other review has admitted a related change since the checks started: otherwise, runs them again. Throws
 * ERR_PENDING_WRITES if the change cannot become a pending write, or if other reviews admit related changes all the
 * time.
 */
export async function runChecksWithPending<T>(review: PendingReview<T>): Promise<CheckResult> {
  const { pendingWrites, related, time, change } = review;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { sequence } = pendingWrites;
    // The rounds are sequential.
    // oxlint-disable-next-line no-await-in-loop
    const result = await runInStates(review);
    if (result.denied || change === null) return result;
    const isCurrent = (): boolean => {
      const added = pendingWrites.since(sequence);
      return added !== null && related(added).length === 0;
    };
    // oxlint-disable-next-line no-await-in-loop
    const added = await pendingWrites.add(change, isCurrent, time.remainingMs);
    if (added === "added") return result;
    if (added !== "outdated") throw refusalError(added);
  }
  throw refusalError({ reason: "other changes that can conflict with it keep arriving", retryMs: BUSY_MS });
}

function refusalError({ reason, retryMs }: Refusal): ResolverError {
  const message = `The change cannot be compared with those that are pending: ${reason}. Apply it again in `;
  return new ResolverError("ERR_PENDING_WRITES", `${message}${secondsText(Math.max(retryMs, BUSY_MS))}.`);
}

/** Runs the checks in each state that the other objects can have. Returns the first result that denies. */
async function runInStates<T>(review: PendingReview<T>): Promise<CheckResult> {
  const { pendingWrites, related, runChecks } = review;
  // Reads the pending writes first: a write that is delivered while the checks run may not be in what they have read.
  const { stored, open } = await pendingWrites.confirm(related(pendingWrites.all()));
  const result = await runChecks(stored);
  if (result.denied) return result;
  for (const state of possibleStates(open, stored)) {
    // The first denial ends the loop.
    // oxlint-disable-next-line no-await-in-loop
    const possible = await runChecks(state);
    if (possible.denied) return withRetry(possible, open, pendingWrites.remainingMs(open));
  }
  return result;
}

/** Replaces the fix of each denial: only a change that is not stored yet, and may never be, causes it. */
function withRetry<T>(result: CheckResult, writes: readonly PendingWrite<T>[], retryMs: number): CheckResult {
  const names = [...new Set(writes.map(({ name }) => name))];
  const subject = `${sortedListOf(names)} ${names.length === 1 ? "is" : "are"}`;
  const fix = `apply it again in ${secondsText(retryMs)}: ${subject} being changed at the same time`;
  const findings = result.findings.map((one) => (one.severity === "deny" ? { ...one, fix } : one));
  return { ...result, findings };
}
