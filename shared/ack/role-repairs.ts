import { SELECTOR_GROUP, SELECTOR_KIND } from "../core/ack-groups.ts";
import { DEFAULT_VERSION, isPinned, type ResourceQuery } from "../core/ack-resource.ts";
import { RESOLUTION } from "../core/annotation-keys.ts";
import { type EffectiveSelector, selectsWithinNamespace } from "../core/effective-selector.ts";
import type { Inventory } from "../core/inventory.ts";
import { LIMITS } from "../core/limits.ts";
import { by, type Edit, remove, type Repair, restoreEntries, set } from "../core/repair.ts";
import { desiredRegion } from "../core/resolve.ts";
import { accountOfARN, parseRoleARN, partitionOfRegion } from "../formats/arn.ts";
import { NameIndex } from "../formats/nearest.ts";
import { compareText, printable } from "../formats/text.ts";
import type { ResourceChange } from "./resource-change.ts";
import { CHOICE_PATH, choiceFor, restoredRoleInputs } from "./role-inputs.ts";
import { selectingSelectors } from "./selection.ts";
import { selectorName } from "./selector-conditions.ts";
import { SELECTORS } from "./selectors.ts";

const NONE: readonly never[] = [];
const SELECTOR = { apiVersion: `${SELECTOR_GROUP}/${DEFAULT_VERSION}`, kind: SELECTOR_KIND };
/** The number of alternatives that a reader compares. */
const MAX_ALTERNATIVES = 3;

/** Returns the edits that restore the fields of the stored resource that choose its role. */
export function restoredInputs({ resource, stored }: ResourceChange): readonly Edit[] {
  if (stored === null) return NONE;
  return restoredRoleInputs(stored.resource, resource);
}

/**
 * Returns the repairs that give the resource a role in the account of its status: the fields that the change replaced,
 * or the role that it had before, if something records it.
 */
export function roleInAccount(
  change: ResourceChange, account: string | null, appliedRole: string | null,
): readonly Repair[] {
  const edits = change.stored?.resolution.accountID === account ? restoredInputs(change) : NONE;
  if (edits.length > 0) return by(...edits);
  const { resource: { annotations }, resolution, settings: { mode } } = change;
  const arn = [annotations.get(RESOLUTION.roleARN), appliedRole].find((one) => (
    parseRoleARN(one ?? "")?.accountID === account
  )) ?? null;
  if (arn === null || mode !== "selectors") return NONE;
  const when = stillItsRole(arn);
  if (resolution.outcome === "default") return [{ when, edits: [selectorFor(change, arn)] }];
  const [selector] = resolution.selectors;
  if (selector === undefined || selector.name !== annotations.get(RESOLUTION.selector)) return NONE;
  return [{ when, edits: [{ path: ["spec", "arn"], value: arn, of: selectorName(selector.name) }] }];
}

/** Says when to choose a role that a record names: whoever can write the resource can write its annotations. */
export function stillItsRole(arn: string): string {
  return `if ${printable(arn)} is still its role`;
}

interface Selected {
  readonly inventory: Inventory;
  readonly resource: ResourceQuery;
}

/** Returns the creation of a selector that selects only resources with the kind, namespace and labels of this one. */
export function selectorFor({ inventory, resource }: Selected, arn: string): Edit {
  const { annotations, group, kind, labels, namespace } = resource;
  const recorded = annotations.get(RESOLUTION.selector) ?? "";
  const selectors = inventory.of(SELECTORS);
  const isFree = recorded !== "" && !selectors.has(recorded) && !selectors.malformed.has(recorded);
  const name = isFree ? recorded : `${namespace}-${kind.toLowerCase()}`;
  const matchLabels = Object.fromEntries([...labels].slice(0, LIMITS.selectorLabels.value));
  const spec = {
    arn, namespaceSelector: { names: [namespace] }, resourceTypeSelector: [{ group, version: "", kind }],
    ...(labels.size > 0 && { resourceLabelSelector: { matchLabels } }),
  };
  return { path: [], value: { ...SELECTOR, metadata: { name }, spec }, of: selectorName(name) };
}

/**
 * Returns, for each conflicting selector, how only this one selects the resource. ACK-06 denies a change of the labels
 * of a resource that is pinned to an account.
 */
export function conflictRepairs(change: ResourceChange): readonly Repair[] {
  const { inventory, operation, resource, stored } = change;
  const edits = stored?.resolution.outcome === "conflict" ? NONE : restoredInputs(change);
  if (edits.length > 0) return by(...edits);
  const selectors = selectingSelectors(inventory, resource).toSorted((a, b) => compareText(a.name, b.name));
  if (selectors.length > MAX_ALTERNATIVES) return NONE;
  const isFree = operation === "CREATE" || !isPinned(resource);
  return selectors.filter((one) => isUsable(change, one)).flatMap((kept) => {
    const others = selectors.filter((one) => one !== kept);
    const narrowed = others.map((other) => (
      (isFree ? withoutLabel(other, kept) : null) ?? withoutNamespace(other, resource.namespace)
    ));
    const found = narrowed.filter((one) => one !== null);
    return found.length < others.length ? [] : [{ when: `to use ${printable(kept.name)}`, edits: found }];
  });
}

/** Returns the removal of a label of the resource that only the selector `other` requires, or null. */
function withoutLabel({ resourceLabels }: EffectiveSelector, kept: EffectiveSelector): Edit | null {
  const { matchExpressions = NONE, matchLabels = NONE } = kept.resourceLabels ?? {};
  const required = new Set<string>(matchLabels.map(([key]) => key));
  const removable = resourceLabels?.matchLabels.find(([key]) => !required.has(key));
  if (removable === undefined || matchExpressions.length > 0) return null;
  return remove(["metadata", "labels", { key: removable[0] }]);
}

/** Returns the removal of the namespace from the names that the selector lists; null if it lists no other. */
function withoutNamespace({ name, namespaces }: EffectiveSelector, namespace: string): Edit | null {
  const others = [...namespaces ?? []].filter((one) => one !== namespace);
  if (others.length === 0 || namespaces?.has(namespace) !== true) return null;
  return { path: ["spec", "namespaceSelector", "names"], value: others, of: selectorName(name) };
}

/** Whether no check would deny the role to the resource: because of its account, its region or the requester. */
function isUsable(change: ResourceChange, { grantable, name, roleARN }: EffectiveSelector): boolean {
  const { access, inventory, resource, settings } = change;
  const region = desiredRegion(inventory, resource, settings);
  return grantable && isUnknownOr(accountOfARN(roleARN), resource.status.ownerAccountID)
    && isUnknownOr(roleARN.split(":", 2)[1], region === null ? null : partitionOfRegion(region.value))
    && (access === null || access.get(name) === "allowed");
}

function isUnknownOr(expected: string | null | undefined, value: string | null): boolean {
  return value === null || value === expected;
}

/** Returns the repairs of a resource whose choice names no selector that selects it. */
export function refusedRepairs(change: ResourceChange): readonly Repair[] {
  const { inventory, resource } = change;
  const choice = choiceFor(change, resource)?.name;
  if (choice === undefined) return NONE;
  const selecting = selectingSelectors(inventory, resource).filter((one) => isUsable(change, one))
    .map(({ name }) => name);
  if (selecting.length > MAX_ALTERNATIVES || (selecting.length > 1 && isPinned(resource))) return NONE;
  const nearest = new NameIndex(selecting).nearest(choice);
  return (nearest.length > 0 ? nearest : selecting.toSorted()).map((name) => (
    { when: `to use ${name}`, edits: [set(CHOICE_PATH, name)] }
  ));
}

/**
 * Returns the repairs of a resource that no selector selects: its former labels or, if it is new, the labels of the
 * selectors of its namespace. ACK-06 denies that a stored resource gets another role.
 */
export function selectedRepairs(change: ResourceChange): readonly Repair[] {
  const { inventory, operation, resource, settings, stored } = change;
  if (settings.mode !== "selectors") return NONE;
  if (operation !== "CREATE") {
    const edits = stored?.resolution.outcome === "default" ? NONE : restoredInputs(change);
    return edits.length > 0 ? by(...edits) : NONE;
  }
  const found: Repair[] = [];
  for (const selector of inventory.of(SELECTORS).inNamespace(resource.namespace)) {
    const edits = labelsFor(change, selector);
    if (edits.length > 0) found.push({ when: `to use ${printable(selector.name)}`, edits });
    if (found.length === MAX_ALTERNATIVES) break;
  }
  return found;
}

/** Returns the labels with which only the selector selects the resource; none if the resource may not have its role. */
function labelsFor(change: ResourceChange, selector: EffectiveSelector): readonly Edit[] {
  const { inventory, resource } = change;
  const wanted = selector.resourceLabels?.matchLabels ?? NONE;
  const labels = new Map([...resource.labels, ...wanted]);
  const isSelected = selectsWithinNamespace(selector, inventory.kinds.typeOf(resource), labels);
  if (!isSelected || !isUsable(change, selector)) return NONE;
  if (selectingSelectors(inventory, { ...resource, labels }).length > 1) return NONE;
  return restoreEntries(["metadata", "labels"], labels, resource.labels);
}
