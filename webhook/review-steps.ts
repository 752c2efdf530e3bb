import {
  identityToReview, isCheckEnabled, newSelectorsToReview, selectorsToReview,
} from "../shared/checks/access-reviews.ts";
import { type CheckInput, contextOf } from "../shared/checks/change.ts";
import { type IdentityUse, identityUses } from "../shared/checks/cluster-identity-uses.ts";
import { AC_05 } from "../shared/checks/cluster-reference.ts";
import { NS_02 } from "../shared/checks/namespace-labels.ts";
import { ACK_09 } from "../shared/checks/resource-selection.ts";
import { type CheckResult, runChecks } from "../shared/checks/run.ts";
import type { Access, AccessByName } from "../shared/contract/context.ts";
import type { KindID } from "../shared/contract/kinds.ts";
import { LIMITS } from "../shared/contract/limits.ts";
import { ResolverError } from "../shared/formats/errors.ts";
import type { JsonObject } from "../shared/formats/json.ts";
import { objectReference } from "../shared/formats/object-meta.ts";
import { sortedListOf } from "../shared/formats/text.ts";
import type { PendingChanges } from "../shared/resolution/change-set.ts";
import { reviewAll } from "./access-review.ts";
import type { AdmissionRequest } from "./decode.ts";
import { type ReviewContext, type ReviewTime, runChecksInSlices, type SkipReason } from "./handler.ts";
import { podSkipReason } from "./mutate.ts";
import { requireNamespace, waitUntilKnown } from "./namespace-wait.ts";
import type { Refusal } from "./pending/list.ts";
import { concernsSelector, reviewedSelector, roleIdentityOf, writesInBrokenChain } from "./pending/pending-kinds.ts";
import type { ReviewedChange } from "./pending/write.ts";
import { type PendingWrite, type PendingWrites, possibleStates, secondsText } from "./pending/writes.ts";

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

/** A request whose object the checks examine. */
export interface Review {
  readonly request: AdmissionRequest;
  readonly input: CheckInput;
}

/** What the review of a kind does beside running its checks. */
export interface Steps {
  /** Returns why the object is not reviewed; null if it is. */
  readonly skips?: (object: JsonObject, request: AdmissionRequest) => SkipReason | null;
  /** Returns the result if the review needs no inventory, or if a fault of the object alone denies it; else null. */
  readonly early?: (review: Review, context: ReviewContext) => CheckResult | null;
  /** Waits for what the checks also read, and returns it. Returns null if nothing must be waited for. */
  readonly prepare?: (review: Review, context: ReviewContext) => Promise<Partial<CheckInput>> | null;
  /** Default: runs the checks once. */
  readonly run?: (review: Review, context: ReviewContext) => CheckResult | Promise<CheckResult>;
}

const withoutInventory: Steps["early"] = ({ input }, { settings }) => runChecks(input, settings);
/** Only WAIVER-01 applies to a definition that is not deleted, and needs no inventory. */
const ofDefinition: Steps = {
  early: ({ request, input }, { settings }) => (request.operation === "DELETE" ? null : runChecks(input, settings)),
};
const ofCluster: Steps = {
  prepare: (review, context) => (
    isKnown(review, context) && !needsAccess(AC_05, review, context) ? null : prepareCluster(review, context)
  ),
};

export const STEPS: Partial<Record<KindID, Steps>> = {
  selector: { early: selfChecks, run: checkSelector },
  "selector-definition": ofDefinition,
  "resource-definition": ofDefinition,
  "field-export": { early: withoutInventory },
  pod: { skips: podSkipReason, early: withoutInventory },
  namespace: {
    prepare: (review, context) => (isCheckEnabled(NS_02, context.settings) ? prepareNamespace(review, context) : null),
  },
  resource: {
    prepare: (review, context) => (
      isKnown(review, context) && !needsAccess(ACK_09, review, context) ? null : prepareResource(review, context)
    ),
  },
  identity: { run: checkIdentity },
  cluster: ofCluster,
  "cluster-part": ofCluster,
};

/** Returns the result of the checks of the selector alone if they deny it before the inventory is loaded. */
function selfChecks({ request, input }: Review, { source, settings }: ReviewContext): CheckResult | null {
  if (source.status.loaded || request.operation === "DELETE") return null;
  const result = runChecks({ ...input, inventory: null }, settings);
  return result.denied ? result : null;
}

/** Runs the checks also with admitted changes of other selectors. */
async function checkSelector({ request, input }: Review, context: ReviewContext): Promise<CheckResult> {
  const { source: { inventory }, settings, pendingSelectors } = context;
  const reviewed = reviewedSelector(input, settings.runtime);
  return await runChecksWithPending({
    pendingWrites: pendingSelectors, time: context,
    related: (writes) => writes.filter((write) => concernsSelector(reviewed, write, inventory)),
    run: async (pending) => runChecksInSlices({ ...input, pending }, settings, context),
    change: changeOf(request, input),
  });
}

/** Runs the checks also with admitted changes of other identities that form a cycle with this identity. */
async function checkIdentity({ request, input }: Review, context: ReviewContext): Promise<CheckResult> {
  const { source: { inventory }, settings, pendingIdentities } = context;
  const role = request.operation === "DELETE" ? null : roleIdentityOf(input.object, settings.runtime);
  if (role === null) return await runChecksInSlices(input, settings, context);
  return await runChecksWithPending({
    pendingWrites: pendingIdentities, time: context,
    related: (writes) => writesInBrokenChain(role, writes, inventory),
    run: async (pending) => runChecksInSlices({ ...input, pendingIdentities: pending }, settings, context),
    change: changeOf(request, input),
  });
}

function changeOf({ dryRun, operation }: AdmissionRequest, { object, old }: CheckInput): ReviewedChange | null {
  return dryRun ? null : { object, old, isDeletion: operation === "DELETE" };
}

function isKnown({ request: { namespace } }: Review, { source: { inventory } }: ReviewContext): boolean {
  return namespace === "" || inventory.namespaces.has(namespace);
}

function needsAccess(check: typeof ACK_09 | typeof AC_05, { input }: Review, { settings }: ReviewContext): boolean {
  return input.warnOnly !== true && isCheckEnabled(check, settings);
}

/** Waits for the namespace, because the checks read its labels and annotations, and for the requester's access. */
async function prepareResource(review: Review, context: ReviewContext): Promise<Partial<CheckInput>> {
  const { request: { namespace }, input } = review;
  const { inventory } = context.source;
  await waitUntilKnown(namespace, () => inventory.namespaces.has(namespace), context);
  if (input.warnOnly !== true) requireNamespace(namespace, context);
  return needsAccess(ACK_09, review, context) ? { access: await accessToSelectors(review, context) } : {};
}

/** The same for a cluster: the selectors of identities read the labels of the namespace. */
async function prepareCluster(review: Review, context: ReviewContext): Promise<Partial<CheckInput>> {
  const { request: { namespace } } = review;
  const { inventory } = context.source;
  await waitUntilKnown(namespace, () => inventory.namespaces.has(namespace), context);
  return needsAccess(AC_05, review, context) ? { access: await accessToIdentities(review, context) } : {};
}

/** Waits for the requester's access to the selectors that match the namespace only after the change. */
async function prepareNamespace(
  { request, input: { object } }: Review, { reviewAccess, settings, source }: ReviewContext,
): Promise<Partial<CheckInput>> {
  const { operation, oldObject, requester } = request;
  if (operation === "DELETE") return {};
  if (reviewAccess === null) return { access: new Map() };
  const selectors = newSelectorsToReview(object, oldObject, source.inventory, settings);
  return { access: await reviewAll(reviewAccess, requester, { selectors, namespace: objectReference(object).name }) };
}

/** Returns the requester's access to the selectors of the resource. */
async function accessToSelectors(
  { request: { requester, namespace }, input: { object, old } }: Review,
  { source: { inventory }, settings, reviewAccess }: ReviewContext,
): Promise<AccessByName> {
  if (reviewAccess === null) return new Map();
  return await reviewAll(reviewAccess, requester, {
    selectors: selectorsToReview(object, old, inventory, settings), namespace,
  });
}

/** Returns the requester's access to each identity that the object uses before or after the change. */
async function accessToIdentities(
  { request: { requester, namespace }, input }: Review,
  { reviewAccess, settings, source: { inventory } }: ReviewContext,
): Promise<AccessByName> {
  if (reviewAccess === null) return new Map();
  const uses = [...identityUses(input.object, input.old, contextOf(input, settings, inventory))];
  const review = async ([key, { identity }]: readonly [string, IdentityUse]): Promise<readonly [string, Access]> => (
    [key, await reviewAccess(requester, { ...identityToReview(identity), namespace })]
  );
  return new Map(await Promise.all(uses.slice(0, LIMITS.accessReviews.value).map(review)));
}
