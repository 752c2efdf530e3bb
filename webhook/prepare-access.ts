import { queryOf } from "../shared/core/ack-resource.ts";
import { type CheckInput, operationOf } from "../shared/core/check.ts";
import type { AccessByName } from "../shared/core/context.ts";
import type { TerminatingNamespaces } from "../shared/core/exemptions.ts";
import { LIMITS } from "../shared/core/limits.ts";
import { isCheckEnabled, runsOn, severityOf } from "../shared/core/plan.ts";
import type { ReviewNeeds, UseNeeds } from "../shared/core/review-needs.ts";
import { namespaceNameFaults } from "../shared/formats/names.ts";
import { objectReference } from "../shared/formats/object-meta.ts";
import { reviewAll } from "./access-review.ts";
import { requireCurrent } from "./current-state.ts";
import { refreshNamespace, requireNamespace, waitUntilKnown } from "./namespace-wait.ts";
import type { Review, ReviewContext } from "./review.ts";

/** What the checks read beside the inventory; null if the review has nothing to wait for. */
type Prepared = Promise<Partial<CheckInput>> | null;

/**
 * Waits for the namespace, because the checks read its labels and annotations, and for the requester's access to what
 * the change uses.
 */
export function prepare(needs: ReviewNeeds, review: Review, context: ReviewContext): Prepared {
  if (needs.causes === undefined) return prepareInput(needs, review, context);
  const input = needs.causes(review.input);
  if (input === null) return null;
  // A text that is no name of a namespace, which can be very long, is not looked up. Nobody may use a role there.
  const { namespace } = objectReference(input.object);
  if (namespaceNameFaults(namespace).length > 0) return Promise.resolve({ access: new Map() });
  return prepareInput(needs, { ...review, input }, context);
}

const NONE_TERMINATING: TerminatingNamespaces = { namespaces: { isTerminating: () => false } };

function prepareInput({ uses, namespace: need }: ReviewNeeds, review: Review, context: ReviewContext): Prepared {
  const { input, warnsIn } = review;
  const { inventory } = context.source;
  const namespace = need === undefined ? "" : objectReference(input.object).namespace;
  const settle = (): boolean => {
    const warnOnly = warnsIn(inventory);
    if (need === "required" && !warnOnly) requireNamespace(queryOf(input.object, namespace), context);
    return warnOnly;
  };
  // Controllers, whom the checks only warn, write often.
  const onlyWarns = need !== undefined && warnsIn(NONE_TERMINATING);
  if (uses !== undefined && readsAccess(uses, input, context) && !onlyWarns) {
    return currentAccess(uses, { ...review, namespace }, context).then((access) => ({ access, warnOnly: settle() }));
  }
  const isKnown = (): boolean => inventory.namespaces.has(namespace);
  if (namespace === "" || isKnown()) return null;
  return waitUntilKnown(namespace, isKnown, context).then(() => ({ warnOnly: settle() }));
}

function readsAccess({ check }: UseNeeds, input: CheckInput, { settings }: ReviewContext): boolean {
  return isCheckEnabled(check, settings) && runsOn(check, operationOf(input));
}

/**
 * Returns the requester's access to what the review uses in the current state of the cluster. Asks at the same time for
 * the access and for the state, also if the access is cached. Throws an error if the current state is not known, unless
 * the check only warns.
 */
async function currentAccess(
  { check, of, kinds = () => false }: UseNeeds,
  { request: { requester }, input, namespace }: Review & { readonly namespace: string }, context: ReviewContext,
): Promise<AccessByName> {
  const { settings, source: { inventory } } = context;
  const current = Promise.all([refreshNamespace(namespace, context), requireCurrent(kinds, context)]);
  const isRequired = severityOf(check, settings) === "deny";
  const [access] = await Promise.all([
    reviewAll(context, requester, of(input, settings, inventory)), isRequired ? current : current.catch(() => null),
  ]);
  const uses = of(input, settings, inventory).slice(0, LIMITS.accessReviews.value);
  const missing = uses.filter(([name]) => !access.has(name));
  return missing.length === 0 ? access : new Map([...access, ...await reviewAll(context, requester, missing)]);
}
