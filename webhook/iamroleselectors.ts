import type { CheckInput } from "../shared/decisions/checks/change.ts";
import { type CheckResult, runChecks } from "../shared/decisions/checks/run.ts";
import { mutationExemptionOf } from "../shared/decisions/exemptions.ts";
import type { JsonObject } from "../shared/decisions/kubernetes/json.ts";
import {
  definedKind, isKindDefinition, isSelector, SELECTOR_GROUP, SELECTOR_KIND,
} from "../shared/decisions/kubernetes/kinds.ts";
import { completionPatch } from "../shared/decisions/selectors/completion.ts";
import { requireLoaded } from "../shared/server/readiness.ts";
import type { AdmissionRequest } from "./decode.ts";
import { type ReviewContext, runChecksInSlices, skipped, unlessExempt, type Verdict, verdictOf } from "./handler.ts";
import {
  confirmationEndMs, type ConfirmedWrites, NO_WRITES, type PendingWrites, reviewedSelector, type ReviewedSelector,
} from "./pending-writes.ts";

/** The maximum number of times that a review runs its checks again because other reviews admitted changes meanwhile. */
const MAX_ROUNDS = 5;

export interface SelectorContext extends ReviewContext {
  readonly pendingWrites: PendingWrites;
}

/**
 * Adds the empty fields that ACK's CustomResourceDefinition requires, and rewrites type entries that have the form
 * `{apiVersion, kind}`.
 */
export function mutateIAMRoleSelectors(request: AdmissionRequest): Verdict {
  const { operation, object } = request;
  if (operation === "DELETE" || object === null) return skipped("no object");
  if (!isSelector(object)) return skipped("not managed");
  const exemption = mutationExemptionOf(request);
  if (exemption !== null) return skipped(exemption);
  return { outcome: "mutated", patch: completionPatch(object), notices: [], resolution: null };
}

/**
 * Validates a create, update or delete request for an IAMRoleSelector or its CustomResourceDefinition. Rejects with
 * ERR_NOT_READY if the inventory is not loaded yet, unless a check of the object alone denies the request.
 */
export async function validateIAMRoleSelectors(request: AdmissionRequest, context: SelectorContext): Promise<Verdict> {
  return unlessExempt(request, isSelectorOrKind, async (object) => {
    const { source, settings } = context;
    if (isSelectorKind(object) && request.operation !== "DELETE") {
      // Only WAIVER-01 applies to this request, and WAIVER-01 requires no inventory.
      return verdictOf(runChecks(selectorInputOf(request, object), settings));
    }
    if (!source.status.loaded && request.operation !== "DELETE") {
      const result = runChecks(selectorInputOf(request, object), settings);
      if (result.denied) return verdictOf(result);
    }
    requireLoaded(source.status);
    return validateInInventory(request, object, context);
  });
}

function isSelectorOrKind(object: JsonObject): boolean {
  return isSelector(object) || isSelectorKind(object);
}

function isSelectorKind(object: JsonObject): boolean {
  const { group, kind } = definedKind(object);
  return isKindDefinition(object) && group === SELECTOR_GROUP && kind === SELECTOR_KIND;
}

async function validateInInventory(
  request: AdmissionRequest,
  object: JsonObject,
  context: SelectorContext,
): Promise<Verdict> {
  const { source: { inventory }, settings, pendingWrites } = context;
  const isDeletion = request.operation === "DELETE";
  const change: CheckInput = {
    ...selectorInputOf(request, object), inventory, ...(isDeletion && { operation: "DELETE" }),
  };
  if (!isSelector(object)) return verdictOf(await runChecksInSlices(change, settings, context));
  const reviewed = reviewedSelector(change, settings.runtime);
  const first = { result: await runChecksWith(NO_WRITES, change, context), newest: 0 };
  const review = { change, reviewed, context, endMs: confirmationEndMs(context) };
  const { result } = await compareWithPending(review, first, MAX_ROUNDS);
  // No other review can miss this write, because no other review runs between the last comparison and this call.
  if (!result.denied && !request.dryRun) {
    pendingWrites.add({ name: reviewed.name, isDeletion, selector: reviewed.after });
  }
  return verdictOf(result);
}

interface SelectorReview {
  readonly change: CheckInput;
  readonly reviewed: ReviewedSelector;
  readonly context: SelectorContext;
  /** The time at which the review stops waiting for pending writes, in ms of the monotonic clock. */
  readonly endMs: number;
}

interface Compared {
  readonly result: CheckResult;
  /** The sequence number of the newest pending write with which the checks have run. */
  readonly newest: number;
}

/**
 * Runs the checks again with the pending writes of other reviews, and once more each time that another review admits a
 * change meanwhile. The number of rounds is limited, because a client can send reviews continuously.
 */
async function compareWithPending(review: SelectorReview, compared: Compared, rounds: number): Promise<Compared> {
  const { change, reviewed, context, endMs } = review;
  const { denied } = compared.result;
  // After a denial, only the deletion of another selector can change the result.
  const writes = context.pendingWrites.concerning(reviewed).filter(({ isDeletion }) => isDeletion || !denied);
  const newest = writes.at(-1)?.sequence ?? 0;
  if (newest <= compared.newest || rounds === 0) return compared;
  const result = await runChecksWith(await context.pendingWrites.confirm(writes, endMs), change, context);
  return await compareWithPending(review, { result, newest }, rounds - 1);
}

/** Runs the checks with each set of pending writes. Returns the first result that denies, else the first result. */
async function runChecksWith(
  { certain, possible }: ConfirmedWrites, change: CheckInput, context: SelectorContext,
): Promise<CheckResult> {
  const result = await runChecksInSlices({ ...change, pending: certain }, context.settings, context);
  if (result.denied || possible === certain) return result;
  const other = await runChecksInSlices({ ...change, pending: possible }, context.settings, context);
  return other.denied ? other : result;
}

function selectorInputOf({ operation, oldObject, requester }: AdmissionRequest, object: JsonObject): CheckInput {
  return { object, old: operation === "UPDATE" ? oldObject : null, requester, origin: "cluster" };
}
