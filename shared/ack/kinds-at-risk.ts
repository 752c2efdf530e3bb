import { isACKGroup } from "../core/ack-groups.ts";
import { USE_SELECTOR_ANNOTATION } from "../core/annotation-keys.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { Inventory, NamespaceUpdate } from "../core/inventory.ts";
import { annotationOf, stateOf } from "../core/namespace-change.ts";
import { isSameLabels } from "../formats/label-selector.ts";
import { type KindFilter, objectReference } from "../formats/object-meta.ts";
import { type Paced, paced } from "../formats/paced.ts";
import { canOverlap } from "./selector-overlap.ts";
import { SELECTORS } from "./selectors.ts";

/**
 * The selector in a review, before and after the reviewed change. A state is null if the selector does not exist or is
 * malformed.
 */
export interface ReviewedSelector {
  readonly name: string;
  readonly before: EffectiveSelector | null;
  readonly after: EffectiveSelector | null;
}

/** The number of overlapping selectors whose types are compared. */
const MAX_OVERLAPPING = 100;
/** The number of selectors that are compared between two pauses. */
const BETWEEN_PAUSES = 50;

/**
 * Returns of which types an unknown object could change the verdict on a selector. A new selector can only be in
 * conflict on what another one selects too. So most new selectors, which overlap with none, need only the basic kinds.
 */
export function* kindsAtRisk(
  { before, after }: ReviewedSelector, pending: readonly EffectiveSelector[], inventory: Inventory,
): Paced<KindFilter> {
  const ofBoth = kindsSelectedBy([before, after].filter((one) => one !== null));
  if (before !== null || after === null) return ofBoth;
  const others = [...pending, ...yield* overlapping(after, inventory)];
  if (others.length > MAX_OVERLAPPING) return ofBoth;
  const ofOthers = kindsSelectedBy(others);
  return (type) => ofBoth(type) && ofOthers(type);
}

/** Returns stored selectors that can select the same resource, whether or not such a resource exists. */
function* overlapping(selector: EffectiveSelector, inventory: Inventory): Paced<readonly EffectiveSelector[]> {
  const found: EffectiveSelector[] = [];
  yield* paced(yield* inventory.of(SELECTORS).overlapCandidates(selector), BETWEEN_PAUSES, (other) => {
    if (other.name !== selector.name && canOverlap(selector, other)) found.push(other);
    return found.length <= MAX_OVERLAPPING;
  });
  return found;
}

/**
 * Returns the types of resources that the update of a Namespace can give another role; null for none. A selector that
 * is not known may match the new labels.
 */
export function kindsOfRelabeled(
  { object, old }: NamespaceUpdate, inventory: Inventory, { mode, runtime }: DecisionSettings,
): KindFilter | null {
  if (mode !== "selectors") return null;
  const [before, after] = [stateOf(old), stateOf(object)];
  const choice = USE_SELECTOR_ANNOTATION;
  if (runtime === "extended" && annotationOf(before, choice) !== annotationOf(after, choice)) return everyResource;
  if (isSameLabels(before.labels, after.labels)) return null;
  const { name } = objectReference(object);
  const selecting = ({ labels }: typeof before): Set<EffectiveSelector> => (
    new Set(inventory.of(SELECTORS).inNamespace(name, labels))
  );
  const [lost, gained] = [selecting(before), selecting(after)];
  return kindsSelectedBy([...lost, ...gained].filter((one) => lost.has(one) !== gained.has(one)));
}

/** The types of ACK resources. */
export const everyResource: KindFilter = ({ group }) => isACKGroup(group);

/** Returns the types of resources that one of the selectors can select. */
function kindsSelectedBy(selectors: readonly EffectiveSelector[]): KindFilter {
  return (type) => everyResource(type) && selectors.some(({ types }) => {
    // Ignores the version, because the API server serves an object in each version of its kind.
    const kinds = types?.kindsOf(type.group);
    return kinds === undefined || kinds.has("") || kinds.has(type.kind);
  });
}
