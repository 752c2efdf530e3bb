import type { Inventory } from "../inventory/inventory.ts";
import type { ACKResource } from "../kubernetes/ack-resource.ts";
import { accountOfARN } from "../kubernetes/arn.ts";
import { type Labels, labelsSatisfy } from "../kubernetes/label-selector.ts";
import { NAME_LABEL } from "../kubernetes/names.ts";
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

/** After so many resources a scan may be put off: well under a millisecond's work. */
const RESOURCES_BETWEEN_PAUSES = 100;

/**
 * What a change of a selector does to the resources that it selects before or after. Yields null where it may be put off; a
 * resource that changes meanwhile is told of as it was when its part of the scan began.
 */
export function* transitionsOfSelector(inventory: Inventory, { name, before, after, pendingDeletions = NOBODY }: SelectorStep): Iterable<Transition | null> {
  const stays = (selector: EffectiveSelector): boolean => selector.name !== name && !pendingDeletions.has(selector.name);
  const othersOf = (resource: ACKResource): EffectiveSelector[] => selectingSelectors(inventory, resource).filter(stays);
  for (const resource of selectedBy(inventory, before)) {
    if (resource === null) yield null;
    else yield transition(resource, othersOf(resource), before, after !== null && selects(inventory, after, resource) ? after : null);
  }
  for (const resource of selectedBy(inventory, after)) {
    if (resource === null) yield null;
    else if (before === null || !selects(inventory, before, resource)) yield transition(resource, othersOf(resource), null, after);
  }
}

const NOBODY: Names = new Set();

function transition(resource: ACKResource, others: readonly EffectiveSelector[], before: EffectiveSelector | null, after: EffectiveSelector | null): Transition {
  const withOthers = (selector: EffectiveSelector | null): readonly EffectiveSelector[] => (selector === null ? others : [...others, selector]);
  return { resource, before: withOthers(before), after: withOthers(after) };
}

/** What new labels of a namespace do to the resources in it. */
export function* transitionsOfNamespace(inventory: Inventory, name: string, after: Labels): Iterable<Transition | null> {
  for (const resource of withPauses([inventory.resources.inNamespace(name)], () => true)) {
    if (resource === null) yield null;
    else yield { resource, before: selectingSelectors(inventory, resource), after: selectingSelectors(inventory, resource, after) };
  }
}

function selectedBy(inventory: Inventory, selector: EffectiveSelector | null): Iterable<ACKResource | null> {
  return selector === null ? [] : withPauses(placesOf(inventory, selector), (resource) => selects(inventory, selector, resource));
}

/**
 * The resources that count. Each place is looked through as it is when the look gets there: one that grows meanwhile would
 * otherwise never come to its end.
 */
function* withPauses(places: Places, counts: (resource: ACKResource) => boolean): Iterable<ACKResource | null> {
  let looked = 0;
  for (const place of places) {
    if (++looked % RESOURCES_BETWEEN_PAUSES === 0) yield null;
    for (const resource of Array.from(place)) {
      if (++looked % RESOURCES_BETWEEN_PAUSES === 0) yield null;
      if (counts(resource)) yield resource;
    }
  }
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
