import type { Inventory } from "../inventory/inventory.ts";
import type { ACKResource } from "../kubernetes/ack-resource.ts";
import { accountOfARN } from "../kubernetes/arn.ts";
import { type Labels, labelsSatisfy } from "../kubernetes/label-selector.ts";
import { NAME_LABEL } from "../kubernetes/names.ts";
import { type Paced, paced } from "../paced.ts";
import { type EffectiveSelector, selectsNamespace, selectsWithinNamespace } from "../selectors/effective.ts";
import { selectingSelectors } from "./resolve.ts";

/** Which selectors select a resource before a change and after it: none is the default, several are a conflict. */
export interface Transition {
  readonly resource: ACKResource;
  readonly before: readonly EffectiveSelector[];
  readonly after: readonly EffectiveSelector[];
}

/** A selector as it is and as it is to be; null where there is none, or it takes no part. */
export interface SelectorStep {
  readonly name: string;
  readonly before: EffectiveSelector | null;
  readonly after: EffectiveSelector | null;
  /** Selectors that are on their way out, which count as gone already. */
  readonly pendingDeletions?: Names;
}

export type Names = Pick<ReadonlySet<string>, "has">;

/** How many resources a scan visits between two pauses: well under a millisecond of work. */
const RESOURCES_BETWEEN_PAUSES = 100;

/**
 * Visits each resource that the selector selects before or after the change, with the selectors that select it then. Ends early when
 * `visit` returns false. A resource that changes meanwhile is visited as it was when the scan of its place began.
 */
export function* transitionsOfSelector(
  inventory: Inventory,
  { name, before, after, pendingDeletions = NO_NAMES }: SelectorStep,
  visit: (transition: Transition) => boolean,
): Paced<boolean> {
  const stays = (selector: EffectiveSelector): boolean => selector.name !== name && !pendingDeletions.has(selector.name);
  const othersOf = (resource: ACKResource): EffectiveSelector[] => selectingSelectors(inventory, resource).filter(stays);
  const isFinished = yield* visitSelected(inventory, before, (resource) => {
    const stillSelects = after !== null && selects(inventory, after, resource);
    return visit(transition(resource, othersOf(resource), before, stillSelects ? after : null));
  });
  if (!isFinished) return false;
  return yield* visitSelected(inventory, after, (resource) => (
    (before !== null && selects(inventory, before, resource)) || visit(transition(resource, othersOf(resource), null, after))
  ));
}

const NO_NAMES: Names = new Set();

function transition(
  resource: ACKResource, others: readonly EffectiveSelector[], before: EffectiveSelector | null, after: EffectiveSelector | null,
): Transition {
  const withOthers = (selector: EffectiveSelector | null): readonly EffectiveSelector[] => (
    selector === null ? others : [...others, selector]
  );
  return { resource, before: withOthers(before), after: withOthers(after) };
}

/** Visits each resource of the namespace with the selectors that select it before and after the labels change. */
export function* transitionsOfNamespace(
  inventory: Inventory, name: string, after: Labels, visit: (transition: Transition) => boolean,
): Paced<boolean> {
  return yield* paced(Array.from(inventory.resources.inNamespace(name)), RESOURCES_BETWEEN_PAUSES, (resource) => (
    visit({ resource, before: selectingSelectors(inventory, resource), after: selectingSelectors(inventory, resource, after) })
  ));
}

function* visitSelected(
  inventory: Inventory, selector: EffectiveSelector | null, visit: (resource: ACKResource) => boolean,
): Paced<boolean> {
  if (selector === null) return true;
  // A selector may name many namespaces without resources. A resource created during the scan has a review of its own.
  const places: ReadonlySet<ACKResource>[] = [];
  yield* paced(placesOf(inventory, selector), RESOURCES_BETWEEN_PAUSES, (place) => place.size === 0 || places.push(place) > 0);
  return yield* paced(resourcesIn(places), RESOURCES_BETWEEN_PAUSES, (resource) => !selects(inventory, selector, resource) || visit(resource));
}

/** Copies each place when the scan reaches it: a place that grows meanwhile would otherwise never end. */
function* resourcesIn(places: Places): Iterable<ACKResource> {
  for (const place of places) yield* Array.from(place);
}

type Places = readonly ReadonlySet<ACKResource>[];

/** The resources that the selector could select, by the part of it that leaves the fewest. */
function placesOf(inventory: Inventory, selector: EffectiveSelector): Places {
  const { resources } = inventory;
  const groups = new Set(selector.types?.map(({ group }) => group) ?? [""]);
  const namespaces = namespacesOf(inventory, selector);
  const byGroup = groups.has("") ? resources.groups() : Array.from(groups, (group) => resources.ofGroup(group));
  const others: Places[] = (selector.resourceLabels?.matchLabels ?? []).map((pair) => [resources.withLabel(...pair)]);
  if (namespaces !== null) others.push(Array.from(namespaces, (namespace) => resources.inNamespace(namespace)));
  return fewest(byGroup, others, sizeOf);
}

/** The first of those with the least size. */
function fewest<Item>(first: Item, others: readonly Item[], size: (item: Item) => number): Item {
  return others.reduce((least, one) => (size(one) < size(least) ? one : least), first);
}

function sizeOf(places: Places): number {
  return places.reduce((sum, place) => sum + place.size, 0);
}

/** The only namespaces that the selector can select, or null where no index tells. */
export function namespacesOf(inventory: Inventory, { namespaces, namespaceLabels }: EffectiveSelector): ReadonlySet<string> | null {
  if (namespaces !== null) return namespaces;
  const carrying = namespaceLabels?.matchLabels.map(([key, value]) =>
    // A namespace that is not known carries its name as a label all the same.
    (key === NAME_LABEL ? new Set([value]) : inventory.namespacesWithLabel(key, value)));
  const [first, ...others] = carrying ?? [];
  return first === undefined ? null : fewest(first, others, ({ size }) => size);
}

/** In the order of what each part costs: labels of its own need no look at anything else. */
function selects(inventory: Inventory, selector: EffectiveSelector, resource: ACKResource): boolean {
  const { resourceLabels, types } = selector;
  return (resourceLabels === null || labelsSatisfy(resource.labels, resourceLabels))
    && selectsNamespace(selector, resource.namespace, inventory.namespaceLabels(resource.namespace))
    && (types === null || selectsWithinNamespace(selector, inventory.typeOf(resource), resource.labels));
}

/** The account that a resource is managed in by these selectors: by none in the controller's `own`, by several in nobody's. */
export function accountBy(selecting: readonly EffectiveSelector[], own: string | null = null): string | null {
  const [only] = selecting;
  if (only === undefined) return own;
  return selecting.length > 1 ? null : accountOfARN(only.roleARN);
}

/** The account that a resource is in: what ACK recorded once it exists, else where its selectors put it. */
export function accountOf({ resource, before }: Pick<Transition, "resource" | "before">, own: string | null = null): string | null {
  return resource.status.ownerAccountID ?? accountBy(before, own);
}

/** `Bucket team-a/b1`, as messages name a resource. */
export function resourceName({ kind, namespace, name }: ACKResource): string {
  return `${kind} ${namespace}/${name ?? ""}`;
}
