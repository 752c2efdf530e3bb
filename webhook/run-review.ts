import type { ReviewNeeds } from "../shared/core/review-needs.ts";
import type { CheckResult } from "../shared/core/run.ts";
import { judgeOfKind, runChecks } from "../shared/judges.ts";
import { notLoaded } from "../shared/server/readiness.ts";
import { requireCurrent } from "./current-state.ts";
import { runWithPending } from "./pending/run-with-pending.ts";
import { prepare } from "./prepare-access.ts";
import { type Review, type ReviewContext, runChecksInSlices } from "./review.ts";

/**
 * Runs the checks of a review when what they read is known: the inventory, and what the judge of the kind needs beside
 * it. Throws ERR_NOT_READY if the inventory is not loaded yet, unless the review does not need it. Returns a promise
 * only if the review waits, for example for an access review.
 */
export function runReview(review: Review, context: ReviewContext): CheckResult | Promise<CheckResult> {
  const { kind, request: { operation }, input } = review;
  const { settings, source: { status } } = context;
  const { readsInventory, review: needs = {} } = judgeOfKind(kind) ?? {};
  if (readsInventory?.(operation) === false) return runChecks(input, settings);
  if (!status.loaded) return judgeObject(needs, review, context);
  const prepared = prepare(needs, review, context);
  if (prepared === null) return runPrepared(needs, review, context);
  return prepared.then((added) => runPrepared(needs, { ...review, input: { ...input, ...added } }, context));
}

/** Returns the result if a fault of the object alone denies it. Otherwise, throws ERR_NOT_READY. */
function judgeObject(
  { judgesObjectFirst }: ReviewNeeds, { request: { operation }, input }: Review,
  { settings, source: { status } }: ReviewContext,
): CheckResult {
  const isJudged = judgesObjectFirst === true && operation !== "DELETE";
  const result = isJudged ? runChecks({ ...input, inventory: null }, settings) : null;
  if (result?.denied === true) return result;
  throw notLoaded(status);
}

/** Runs the checks with what the review has waited for. */
function runPrepared(
  needs: ReviewNeeds, review: Review, context: ReviewContext,
): CheckResult | Promise<CheckResult> {
  const { kind, input } = review;
  const pending = context.pending.get(kind);
  const comparison = pending?.compare(input, context.source.inventory) ?? null;
  if (pending !== undefined && comparison !== null) return runWithPending(review, pending, comparison, context);
  if (needs.atRisk === undefined) return runChecksInSlices(input, context);
  return runUntilCurrent(needs.atRisk, review, context);
}

/** Runs the checks again if objects that can change the verdict may not have been known. */
async function runUntilCurrent(
  atRisk: NonNullable<ReviewNeeds["atRisk"]>, { input }: Review, context: ReviewContext,
): Promise<CheckResult> {
  const { settings, source: { inventory } } = context;
  for (;;) {
    // The rounds are sequential. A proof lasts longer than a round, so that only a new object causes another one.
    // oxlint-disable-next-line no-await-in-loop
    const result = await runChecksInSlices(input, context);
    if (result.denied || input.warnOnly === true) return result;
    const kinds = atRisk(input, settings, inventory);
    // oxlint-disable-next-line no-await-in-loop
    if (kinds === null || !await requireCurrent(kinds, context)) return result;
  }
}
