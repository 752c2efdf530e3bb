import { NO_CHANGES, type PendingChanges } from "../core/pending-changes.ts";
import { RESOURCES } from "./resources.ts";
import type { Inventory } from "../core/inventory.ts";
import { type ACKResource, isPinned, resourceName } from "../core/ack-resource.ts";
import { accountOfARN } from "../formats/arn.ts";
import { type Labels, satisfies } from "../formats/label-selector.ts";
import { NAME_LABEL } from "../formats/names.ts";
import { sortedListOf } from "../formats/text.ts";
import { type Paced, paced } from "../formats/paced.ts";
import { type EffectiveSelector, selectsNamespace, selectsWithinNamespace } from "../core/effective-selector.ts";
import { choiceOf, selectingSelectors, type Selection, selectionFor, selectionOf } from "./selection.ts";

/** The selection for a resource before and after a change. */
export interface Transition {
  readonly resource: ACKResource;
  readonly before: Selection;
  readonly after: Selection;
}

/** A selector before and after a change. `before` or `after` is null if the selector does not exist or is malformed. */
export interface SelectorTransition {
  readonly name: string;
  readonly before: EffectiveSelector | null;
  readonly after: EffectiveSelector | null;
  /** Default: no changes. */
  readonly pending?: PendingChanges;
}

/** Whether no pending change deletes or writes the stored selector. */
export function isUnchanged({ name }: EffectiveSelector, { deletions, writes }: PendingChanges): boolean {
  return !deletions.has(name) && !writes.has(name);
}

/**
 * The number of resources that a scan visits between two pauses. Visiting these resources takes well under a
 * millisecond.
 */
export const RESOURCES_BETWEEN_PAUSES = 100;

/**
 * Visits each resource that the selector selects before or after the change. The change has no effect on any other
 * resource, even if an annotation `use-selector` names the selector. If `visit` returns false, ends the scan and
 * returns false. If a resource changes during the scan, visits the state before that change.
 */
export function* transitionsOfSelector(
  inventory: Inventory,
  { name, before, after, pending = NO_CHANGES }: SelectorTransition,
  visit: (transition: Transition) => boolean,
): Paced<boolean> {
  const written = Array.from(pending.writes.values()).filter((selector) => selector.name !== name);
  const othersOf = (resource: ACKResource): EffectiveSelector[] => [
    ...selectingSelectors(inventory, resource).filter((one) => one.name !== name && isUnchanged(one, pending)),
    ...written.filter((selector) => selects(inventory, selector, resource)),
  ];
  const transitionOf = (
    resource: ACKResource, step: Pick<SelectorTransition, "before" | "after">,
  ): Transition => {
    const [others, choice] = [othersOf(resource), choiceOf(inventory, resource)];
    const selection = (own: EffectiveSelector | null): Selection => (
      selectionOf(own === null ? others : [...others, own], choice)
    );
    return { resource, before: selection(step.before), after: selection(step.after) };
  };
  const isFinished = yield* visitSelected(inventory, before, (resource) => {
    const stillSelects = after !== null && selects(inventory, after, resource);
    return visit(transitionOf(resource, { before, after: stillSelects ? after : null }));
  });
  if (!isFinished) return false;
  return yield* visitSelected(inventory, after, (resource) => {
    const selectedBefore = before !== null && selects(inventory, before, resource);
    return selectedBefore || visit(transitionOf(resource, { before: null, after }));
  });
}

/** The labels and annotations of a namespace. */
interface NamespaceState {
  readonly labels: Labels;
  readonly annotations: ReadonlyMap<string, string>;
}

/** Visits each resource of a namespace whose labels or annotations change. */
export function* transitionsOfNamespace(
  inventory: Inventory, name: string, after: NamespaceState, visit: (transition: Transition) => boolean,
): Paced<boolean> {
  const resources = Array.from(inventory.of(RESOURCES).inNamespace(name));
  // Pauses after each resource, because the selectors for the new labels are not cached, and can be thousands.
  return yield* paced(resources, 1, (resource) => visit({
    resource,
    before: selectionFor(inventory, resource),
    after: selectionOf(
      selectingSelectors(inventory, resource, after.labels), choiceOf(inventory, resource, after.annotations),
    ),
  }));
}

function* visitSelected(
  inventory: Inventory, selector: EffectiveSelector | null, visit: (resource: ACKResource) => boolean,
): Paced<boolean> {
  if (selector === null) return true;
  // Also pauses while it collects the resources, because a selector may name many empty namespaces. Skips a resource
  // that is created during the scan, because the admission review of that resource checks it.
  const sets: ReadonlySet<ACKResource>[] = [];
  const candidates = candidateSets(inventory, selector);
  yield* paced(candidates, RESOURCES_BETWEEN_PAUSES, (set) => set.size === 0 || sets.push(set) > 0);
  return yield* paced(sets.flatMap((set) => [...set]), RESOURCES_BETWEEN_PAUSES, (resource) => (
    !selects(inventory, selector, resource) || visit(resource)
  ));
}

type ResourceSets = readonly ReadonlySet<ACKResource>[];

/**
 * Returns the resources that match one criterion of the selector. Uses the criterion that the fewest resources match.
 */
function candidateSets(inventory: Inventory, selector: EffectiveSelector): ResourceSets {
  const resources = inventory.of(RESOURCES);
  const groups = selector.types?.groups ?? ANY_GROUP;
  const namespaces = candidateNamespaces(inventory, selector);
  const byGroup = groups.has("") ? resources.groups() : Array.from(groups, (group) => resources.ofGroup(group));
  const others: ResourceSets[] = (selector.resourceLabels?.matchLabels ?? []).map((label) => [
    resources.withLabel(...label),
  ]);
  if (namespaces !== null) others.push(Array.from(namespaces, (namespace) => resources.inNamespace(namespace)));
  return smallest(byGroup, others, totalSize);
}

const ANY_GROUP: ReadonlySet<string> = new Set([""]);

function smallest<Item>(first: Item, others: readonly Item[], sizeOf: (item: Item) => number): Item {
  return others.reduce((best, item) => (sizeOf(item) < sizeOf(best) ? item : best), first);
}

function totalSize(sets: ResourceSets): number {
  return sets.reduce((sum, set) => sum + set.size, 0);
}

/** Returns a superset of the namespaces that the selector selects, or null if the selector has no indexed criterion. */
export function candidateNamespaces(
  inventory: Inventory, { namespaces, namespaceLabels }: EffectiveSelector,
): ReadonlySet<string> | null {
  if (namespaces !== null) return namespaces;
  const sets = namespaceLabels?.matchLabels.map(([key, value]) => (
    // A namespace that is not in the inventory also has the name label.
    key === NAME_LABEL ? new Set([value]) : inventory.namespaces.withLabel(key, value)
  ));
  const [first, ...others] = sets ?? [];
  return first === undefined ? null : smallest(first, others, ({ size }) => size);
}

/** Whether the selector selects the resource. Tests the cheapest conditions first. */
function selects(inventory: Inventory, selector: EffectiveSelector, resource: ACKResource): boolean {
  const { resourceLabels, types } = selector;
  return (resourceLabels === null || satisfies(resource.labels, resourceLabels))
    && selectsNamespace(selector, resource.namespace, inventory.namespaces.labelsOf(resource.namespace))
    && (types === null || selectsWithinNamespace(selector, inventory.kinds.typeOf(resource), resource.labels));
}

/**
 * Returns the account of the selected role. Returns the controller's account if no selector selects the resource, or
 * null if no role resolves.
 */
export function accountOfSelection(
  { outcome, selectors: [selector] }: Selection, controllerAccount: string | null = null,
): string | null {
  if (outcome === "default") return controllerAccount;
  return outcome === "selected" && selector !== undefined ? accountOfARN(selector.roleARN) : null;
}

/**
 * Returns the account in the status of a resource. If the status names no account, returns the account of the role
 * before the change.
 */
export function accountOfResource(
  { resource, before }: Pick<Transition, "resource" | "before">, controllerAccount: string | null = null,
): string | null {
  return resource.status.ownerAccountID ?? accountOfSelection(before, controllerAccount);
}

/** A move of a pinned resource to a role in another account. Controllers reject such a role. */
interface AccountMove {
  readonly from: string;
  readonly to: string;
}

/**
 * Returns the account move that a transition causes; null if the resource is not pinned, stays in its account, or
 * already had a role in the new account.
 */
export function accountMoveOf(
  { resource, before, after }: Transition, controllerAccount: string | null,
): AccountMove | null {
  const to = accountOfSelection(after);
  if (!isPinned(resource) || to === null || to === accountOfSelection(before, controllerAccount)) return null;
  const from = accountOfResource({ resource, before }, controllerAccount) ?? otherAccount(before, to);
  return from === null || from === to ? null : { from, to };
}

/**
 * Returns the account of the first selector whose role is not in `account`. One of these selectors has pinned the
 * resource to its account.
 */
function otherAccount({ selectors }: Selection, account: string): string | null {
  const accounts = selectors.map(({ roleARN }) => accountOfARN(roleARN));
  return accounts.find((other) => other !== account) ?? null;
}

/**
 * Returns a sentence about the resources whose status does not prove that they exist in AWS, or "" if there are no such
 * resources. Callers append the sentence to the fix of an account move.
 */
export function recreationHint(resources: readonly ACKResource[]): string {
  const names = resources.filter(({ created }) => !created).map(resourceName);
  if (names.length === 0) return "";
  return `. The status of ${sortedListOf(names)} has no ARN: if the creation failed, delete the resource now, `
    + "while its old role is in use, and create it again after the change";
}
