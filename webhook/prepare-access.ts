import { newSelectorsToReview, selectorsToReview } from "../shared/ack/selector-uses.ts";
import { creationOf } from "../shared/ack/adopted-resources.ts";
import { type CheckEntry, contextOf } from "../shared/core/check.ts";
import { identityUses } from "../shared/capa/cluster-identity-uses.ts";
import { AC_05 } from "../shared/capa/cluster-reference.ts";
import { NS_02 } from "../shared/ack/namespace-labels.ts";
import { isCheckEnabled, severityOf } from "../shared/core/plan.ts";
import { ACK_09 } from "../shared/ack/resource-selection.ts";
import { usedIdentity, usedSelector } from "../shared/core/use-rights.ts";
import type { AccessByName } from "../shared/core/context.ts";
import type { TerminatingNamespaces } from "../shared/core/exemptions.ts";
import { LIMITS } from "../shared/core/limits.ts";
import { namespaceNameFaults } from "../shared/formats/names.ts";
import { objectReference } from "../shared/formats/object-meta.ts";
import { type ObjectUse, reviewAll } from "./access-review.ts";
import { basicKinds, identityKinds, type KindFilter, requireCurrent } from "./current-state.ts";
import { refreshNamespace, requireNamespace, waitUntilKnown } from "./namespace-wait.ts";
import type { Prepare, Review, ReviewContext } from "./review.ts";

/** The objects that a review uses, each by the name under which the checks read the requester's access. */
type Uses = (review: Review, context: ReviewContext) => readonly (readonly [name: string, use: ObjectUse])[];

const usesOfResource: Uses = ({ request: { namespace }, input }, { settings, source: { inventory } }) => (
  selectorsToReview(input.object, input.old, inventory, settings)
    .map((name) => [name, { ...usedSelector(name), namespace }])
);

/** The identities that the object uses before or after the change. */
const usesOfCluster: Uses = ({ request: { namespace }, input }, { settings, source: { inventory } }) => (
  [...identityUses(input.object, input.old, contextOf(input, settings, inventory))]
    .map(([name, { identity }]) => [name, { ...usedIdentity(identity), namespace }])
);

/** The selectors that match the namespace only after the change. */
const usesOfNamespace: Uses = ({ request: { oldObject }, input: { object } }, { settings, source: { inventory } }) => (
  newSelectorsToReview(object, oldObject, inventory, settings)
    .map((name) => [name, { ...usedSelector(name), namespace: objectReference(object).name }])
);

/**
 * Waits for the requester's access to the selectors that match the namespace only after the change. The review contains
 * the stored Namespace, so that only the selectors can be outdated.
 */
export const prepareNamespace: Prepare = (review, context) => {
  if (review.request.operation === "DELETE" || !isCheckEnabled(NS_02, context.settings)) return null;
  return currentAccess(review, context, { check: NS_02, usesOf: usesOfNamespace, kinds: basicKinds, namespace: "" })
    .then((access) => ({ access }));
};

export const prepareResource = inKnownNamespace({ check: ACK_09, usesOf: usesOfResource, kinds: basicKinds }, true);
export const prepareCluster = inKnownNamespace({ check: AC_05, usesOf: usesOfCluster, kinds: identityKinds }, false);

/**
 * Waits for what the checks of the resource read that an AdoptedResource creates. A text that is not the name of a
 * namespace, which can be very long, is not looked up, and nobody may use a role there.
 */
export const prepareCreation: Prepare = (review, context) => {
  const creation = creationOf(review.input);
  if (creation === null) return null;
  const { namespace } = objectReference(creation.object);
  if (namespaceNameFaults(namespace).length > 0) return Promise.resolve({ access: new Map() });
  return prepareResource({ ...review, request: { ...review.request, namespace }, input: creation }, context);
};

/** What decides which objects a review uses. */
interface UseReview {
  /** The check that reads the requester's access. */
  readonly check: CheckEntry;
  readonly usesOf: Uses;
  readonly kinds: KindFilter;
}

const NONE_TERMINATING: TerminatingNamespaces = { namespaces: { isTerminating: () => false } };

/**
 * Returns a step that waits for the namespace, because the checks read its labels and annotations, and for the
 * requester's access.
 */
function inKnownNamespace(uses: UseReview, isRequired: boolean): Prepare {
  return (review, context) => {
    const { request: { namespace }, input: { warnOnly = false }, warnsIn } = review;
    const { inventory } = context.source;
    if (isCheckEnabled(uses.check, context.settings) && !warnsIn(NONE_TERMINATING)) {
      return currentAccess(review, context, { ...uses, namespace }).then((access) => {
        const onlyWarns = warnsIn(inventory);
        if (isRequired && !onlyWarns) requireNamespace(namespace, context);
        return { access, warnOnly: onlyWarns };
      });
    }
    const isKnown = (): boolean => inventory.namespaces.has(namespace);
    if (namespace === "" || isKnown()) return null;
    return waitUntilKnown(namespace, isKnown, context).then(() => {
      if (isRequired && !warnOnly) requireNamespace(namespace, context);
      return {};
    });
  };
}

/**
 * Returns the requester's access to what the review uses in the current state of the cluster. Asks at the same time for
 * the access and for the state, also if the access is cached. Throws an error if the current state is not known, unless
 * the check only warns.
 */
async function currentAccess(
  review: Review, context: ReviewContext,
  { check, usesOf, kinds, namespace }: UseReview & { readonly namespace: string },
): Promise<AccessByName> {
  const { requester } = review.request;
  const current = Promise.all([refreshNamespace(namespace, context), requireCurrent(kinds, context)]);
  const isRequired = severityOf(check, context.settings) === "deny";
  const [access] = await Promise.all([
    reviewAll(context, requester, usesOf(review, context)), isRequired ? current : current.catch(() => null),
  ]);
  const uses = usesOf(review, context).slice(0, LIMITS.accessReviews.value);
  const missing = uses.filter(([name]) => !access.has(name));
  return missing.length === 0 ? access : new Map([...access, ...await reviewAll(context, requester, missing)]);
}
