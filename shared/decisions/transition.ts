import type { ACKResource } from "./ack-resource.ts";
import type { Inventory } from "./inventory.ts";
import type { Labels } from "./label-selector.ts";
import { selectingSelectors } from "./resolve.ts";
import { accountOfARN } from "./role-arn.ts";
import { type RoleSelector, selectsNamespace, selectsWithinNamespace } from "./role-selector.ts";
import { NAME_LABEL } from "./selector-index.ts";

/** Which selectors select a resource before a change and after it: none is the default, several are a conflict. */
export interface Transition {
  readonly resource: ACKResource;
  readonly before: readonly RoleSelector[];
  readonly after: readonly RoleSelector[];
}

/** A selector as it is and as it is to be; null where there is none, or it takes no part. */
export interface SelectorStep {
  readonly name: string;
  readonly before: RoleSelector | null;
  readonly after: RoleSelector | null;
}

/** After so many resources a scan may be put off: about a millisecond's work. */
const RESOURCES_BETWEEN_PAUSES = 100;

/** What a change of a selector does to the resources that it selects before or after. Yields null where it may be put off. */
export function* transitionsOfSelector(inventory: Inventory, { name, before, after }: SelectorStep): Iterable<Transition | null> {
  for (const resource of concerned(inventory, [before, after])) {
    if (resource === null) {
      yield null;
      continue;
    }
    const labels = inventory.namespaceLabels(resource.namespace);
    const selectedBefore = before !== null && selects(inventory, before, resource, labels);
    const selectedAfter = after !== null && selects(inventory, after, resource, labels);
    if (!selectedBefore && !selectedAfter) continue;
    const others = selectingSelectors(inventory, resource).filter((selector) => selector.name !== name);
    yield { resource, before: selectedBefore ? [...others, before] : others, after: selectedAfter ? [...others, after] : others };
  }
}

/** What new labels of a namespace do to the resources in it. */
export function* transitionsOfNamespace(inventory: Inventory, name: string, after: Labels): Iterable<Transition | null> {
  let looked = 0;
  for (const resource of inventory.resources.inNamespace(name)) {
    if (++looked % RESOURCES_BETWEEN_PAUSES === 0) yield null;
    yield { resource, before: selectingSelectors(inventory, resource), after: selectingSelectors(inventory, resource, after) };
  }
}

/** The resources that any of the selectors could select, each once; of those that cannot be selected, few. */
function* concerned(inventory: Inventory, selectors: readonly (RoleSelector | null)[]): Iterable<ACKResource | null> {
  const seen = new Set<ACKResource>();
  for (const selector of selectors) {
    if (selector === null) continue;
    for (const resource of narrowest(inventory, selector)) {
      if (seen.has(resource)) continue;
      seen.add(resource);
      if (seen.size % RESOURCES_BETWEEN_PAUSES === 0) yield null;
      yield resource;
    }
  }
}

/** By the narrowest part of the selector that the inventory has an index for. */
function* narrowest(inventory: Inventory, selector: RoleSelector): Iterable<ACKResource> {
  const { resources } = inventory;
  const { types } = selector;
  const named = namespacesOf(inventory, selector);
  if (named !== null) for (const namespace of named) yield* resources.inNamespace(namespace);
  else if (types !== null && types.every(({ group }) => group !== "")) for (const group of new Set(types.map((type) => type.group))) yield* resources.ofGroup(group);
  else yield* resources.all();
}

/** The only namespaces that the selector can select, or null where an index does not tell. */
function namespacesOf(inventory: Inventory, { namespaces, namespaceLabels }: RoleSelector): Iterable<string> | null {
  if (namespaces !== null) return namespaces;
  const [pair] = namespaceLabels?.matchLabels ?? [];
  if (pair === undefined) return null;
  // A namespace that is not known carries its name as a label all the same.
  return pair[0] === NAME_LABEL ? [pair[1]] : inventory.namespacesWithLabel(...pair);
}

function selects(inventory: Inventory, selector: RoleSelector, resource: ACKResource, labels: Labels): boolean {
  return selectsNamespace(selector, resource.namespace, labels)
    && selectsWithinNamespace(selector, inventory.typeOf(resource), resource.labels);
}

/** The account that a resource is managed in by these selectors; null where it is the controller's own, or nobody's in a conflict. */
export function accountBy(selecting: readonly RoleSelector[]): string | null {
  const [only] = selecting;
  return only === undefined || selecting.length > 1 ? null : accountOfARN(only.roleARN);
}

/** The account that a resource is in: what ACK recorded once it exists, else where its selectors put it. */
export function accountOf({ resource, before }: Transition): string | null {
  return resource.status.ownerAccountID ?? accountBy(before);
}

/** `Bucket team-a/b1`, as messages name a resource. */
export function resourceName({ kind, namespace, name }: ACKResource): string {
  return `${kind} ${namespace}/${name ?? ""}`;
}
