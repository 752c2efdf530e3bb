import { ResolverError } from "../../shared/formats/errors.ts";
import { sortedListOf } from "../../shared/formats/text.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { type PendingChanges, possibleStates } from "../../shared/core/pending-changes.ts";
import type { Comparison } from "../../shared/core/review-needs.ts";
import type { CheckResult } from "../../shared/core/run.ts";
import { requireCurrent } from "../current-state.ts";
import { inSlices, type Review, type ReviewContext, runChecksInSlices } from "../review.ts";
import type { Refusal, ReviewedChange } from "./list.ts";
import type { PendingWrite, PendingWrites } from "./writes.ts";

/** Returns when a change can be sent again, such as `12 s`. */
function secondsText(ms: number): string {
  return `${Math.ceil(Math.min(ms, LIMITS.pendingMs.value) / 1000)} s`;
}

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
  readonly run: (changes: PendingChanges<T>) => Promise<CheckResult>;
  /** Returns the remaining time until the deadline of the response, in ms. */
  readonly remainingMs: () => number;
  /**
   * Waits until the inventory is known to be current. Returns true if the checks have to run again, because they may
   * have read an outdated inventory. Throws if the inventory may be outdated.
   */
  readonly update: () => Promise<boolean>;
  /** The reviewed change, which becomes a pending write if the checks admit it, unless it is a dry run. */
  readonly change: ReviewedChange;
  readonly isDryRun: boolean;
}

/** Runs the checks of the review also with the admitted changes of other objects that the comparison finds. */
export async function runWithPending(
  { request, input }: Review, pendingWrites: PendingWrites, comparison: Comparison, context: ReviewContext,
): Promise<CheckResult> {
  const { object, old } = input;
  return await runChecksWithPending({
    pendingWrites, remainingMs: context.remainingMs, related: (writes) => comparison.related(writes),
    run: async (changes) => runChecksInSlices({ ...input, ...comparison.inputWith(changes) }, context),
    async update() {
      const related = comparison.related(pendingWrites.all());
      return await requireCurrent(await inSlices(comparison.atRisk(related), context), context);
    },
    change: { object, old, isDeletion: request.operation === "DELETE" }, isDryRun: request.dryRun,
  });
}

/**
 * Runs the checks also with the pending writes. Admits a change only if the inventory is current, and only in the step
 * that makes it a pending write, if no other review has admitted a related change since the checks started. Otherwise,
 * runs them again. Throws ERR_PENDING_WRITES if the change cannot become a pending write, or if other reviews admit
 * related changes all the time.
 */
export async function runChecksWithPending<T>(review: PendingReview<T>): Promise<CheckResult> {
  const { pendingWrites, related, remainingMs, update, change, isDryRun } = review;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { sequence } = pendingWrites;
    // The rounds are sequential.
    // oxlint-disable-next-line no-await-in-loop
    const result = await runInStates(review);
    if (result.denied) return result;
    // oxlint-disable-next-line no-await-in-loop
    if (pendingWrites.hasEffect(change) && await update()) continue;
    if (isDryRun) return result;
    const isCurrent = (): boolean => {
      const added = pendingWrites.since(sequence);
      return added !== null && related(added).length === 0;
    };
    // oxlint-disable-next-line no-await-in-loop
    const added = await pendingWrites.add(change, isCurrent, remainingMs);
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
  const { pendingWrites, related, run } = review;
  // Reads the pending writes first: a write that is delivered while the checks run may not be in what they have read.
  const { stored, open } = await pendingWrites.confirm(related(pendingWrites.all()));
  const result = await run(stored);
  if (result.denied) return result;
  for (const state of possibleStates(open, stored)) {
    // The first denial ends the loop.
    // oxlint-disable-next-line no-await-in-loop
    const possible = await run(state);
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
