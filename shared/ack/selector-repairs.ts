import { EXTERNAL_ID_ANNOTATION, REPLACES_ANNOTATION, SELECTOR_ANNOTATIONS } from "../core/annotation-keys.ts";
import { SELECTOR_GROUP, SELECTOR_KIND } from "../core/ack-groups.ts";
import { DEFAULT_VERSION, isPinned } from "../core/ack-resource.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { Inventory } from "../core/inventory.ts";
import { objectExcess } from "../core/limits.ts";
import { by, type Edit, type ObjectName, type Repair, set } from "../core/repair.ts";
import { accountOfARN } from "../formats/arn.ts";
import {
  annotationPath, field, type FieldPath, isSame, type JsonObject, stringAt, stringMap, valueAt,
} from "../formats/json.ts";
import { annotationAt } from "../formats/object-meta.ts";
import { listOf } from "../formats/text.ts";
import { SCAN_LIMIT } from "../core/fault-texts.ts";
import type { Hits } from "./hits.ts";
import type { SelectorChange } from "./selector-change.ts";
import { SELECTORS } from "./selectors.ts";

const NONE: readonly never[] = [];
const NAMES = ["spec", "namespaceSelector", "names"] as const;
const RESTRICTIONS: readonly FieldPath[] = [
  ["spec", "namespaceSelector"], ["spec", "resourceTypeSelector"], ["spec", "resourceLabelSelector"],
];
const FIELDS: readonly FieldPath[] = [["spec", "arn"], ...RESTRICTIONS];

type Change = Pick<SelectorChange, "object" | "storedObject">;

/** Returns the repair that restores what an update changes in the spec of a selector. */
export function restoreSpec({ object, storedObject: old }: Change): readonly Repair[] {
  const edits = old === null ? NONE : restored(object, old, FIELDS);
  return edits.length === 0 ? NONE : by(...edits);
}

/** Returns the repair that restores the restrictions that an update removes from a selector. */
export function restoreRestrictions(object: JsonObject, old: JsonObject): readonly Repair[] {
  return by(...restored(object, old, RESTRICTIONS));
}

function restored(object: JsonObject, old: JsonObject, fields: readonly FieldPath[]): readonly Edit[] {
  return fields.filter((path) => !isSame(valueAt(object, path), valueAt(old, path)))
    .map((path) => set(path, valueAt(old, path)));
}

/**
 * Returns the repair that creates a copy which replaces the selector before the selector is deleted. None if the copy
 * would contain an external ID, or if a resource is in another account than the role.
 */
export function replacementRepairs(
  { object, inventory, before }: Pick<SelectorChange, "object" | "inventory" | "before">, { first }: Hits,
): readonly Repair[] {
  const account = accountOfARN(String(before?.roleARN));
  const isElsewhere = first.some(({ resource }) => (resource.status.ownerAccountID ?? account) !== account);
  // What an object that exceeds the limits selects is not read.
  const isUnknown = objectExcess(object) !== null;
  const copy = isElsewhere || isUnknown ? null : replacementOf(object, inventory);
  return copy === null ? NONE : by(copy);
}

/**
 * Returns the creation of a selector with the same spec and session settings, which replaces the selector. Null if it
 * would contain an external ID, which is confidential.
 */
export function replacementOf(object: JsonObject, inventory: Inventory): Edit | null {
  if (annotationAt(object, EXTERNAL_ID_ANNOTATION) !== null) return null;
  const own = String(stringAt(object, "metadata", "name"));
  const name = freeName(inventory, own);
  const copied = [...stringMap(field(field(object, "metadata"), "annotations"))]
    .filter(([key]) => SELECTOR_ANNOTATIONS.has(key));
  const annotations = { ...Object.fromEntries(copied), [REPLACES_ANNOTATION]: own };
  const type = { apiVersion: String(field(object, "apiVersion")), kind: String(field(object, "kind")) };
  const value = { ...type, metadata: { name, annotations }, spec: field(object, "spec") };
  return { path: [], value, of: { ...type, namespace: null, name } };
}

/** Returns the first of the names NAME-2, NAME-3 and so on that no selector has. */
function freeName(inventory: Inventory, name: string): string {
  const selectors = inventory.of(SELECTORS);
  const nameOf = (number: number): string => `${name.slice(0, 240)}-${number}`;
  let number = 2;
  while (selectors.has(nameOf(number)) || selectors.malformed.has(nameOf(number))) number += 1;
  return nameOf(number);
}

/**
 * Returns the repairs of a change after which a selector and others select the same resources: those that give fewer
 * resources a role come first.
 */
export function conflictRepairs(
  hits: Hits, others: readonly EffectiveSelector[], { object, storedObject, after }: SelectorChange,
): readonly Repair[] {
  const keep = `to keep ${listOf(others.map(({ name }) => name))}`;
  const back = restoreSpec({ object, storedObject }).map(({ edits }) => ({ when: keep, edits }));
  if (after === null || hits.found >= SCAN_LIMIT) return back;
  const shared = new Set(hits.first.map(({ resource }) => resource.namespace));
  const narrowed = withoutNamespaces(object, shared);
  const first = back.length > 0 || narrowed === null ? back : [{ when: keep, edits: [narrowed] }];
  if (others.length > SCAN_LIMIT || moves(hits, after, others)) return first;
  return [...first, replacing(object, after, others), ...narrowedOther(after, others, shared)];
}

/** Whether one of the resources exists in AWS, and would get a role in another account. */
function moves({ first }: Hits, { roleARN }: EffectiveSelector, others: readonly EffectiveSelector[]): boolean {
  const account = accountOfARN(roleARN);
  return others.some((other) => accountOfARN(other.roleARN) !== account)
    && first.some(({ resource }) => isPinned(resource));
}

function replacing(object: JsonObject, { name }: EffectiveSelector, others: readonly EffectiveSelector[]): Repair {
  const names = others.map((other) => other.name);
  const listed = annotationAt(object, REPLACES_ANNOTATION);
  const value = [...(listed === null || listed === "" ? [] : [listed]), ...names].join(",");
  const edits = [set(annotationPath(REPLACES_ANNOTATION), value)];
  return { when: `if ${name} is to replace ${listOf(names)}`, edits };
}

/** Returns the edit after which the selector does not name the namespaces; null if it would name none. */
export function withoutNamespaces(object: JsonObject, namespaces: ReadonlySet<string>): Edit | null {
  const names = valueAt(object, NAMES);
  if (!Array.isArray(names)) return null;
  const rest = names.filter((name) => !namespaces.has(String(name)));
  return rest.length === 0 || rest.length === names.length ? null : set(NAMES, rest);
}

/**
 * Returns the repair that removes the namespaces from the only other selector. None if that selector would still select
 * the resources, or if others of its resources would lose it.
 */
function narrowedOther(
  { name, types, resourceLabels }: EffectiveSelector, [other, ...more]: readonly EffectiveSelector[],
  namespaces: ReadonlySet<string>,
): readonly Repair[] {
  if (other === undefined || more.length > 0 || types !== null || resourceLabels !== null) return NONE;
  const rest = [...other.namespaces ?? []].filter((one) => !namespaces.has(one));
  if (rest.length === 0) return NONE;
  const of: ObjectName = {
    apiVersion: `${SELECTOR_GROUP}/${DEFAULT_VERSION}`, kind: SELECTOR_KIND, namespace: null, name: other.name,
  };
  return [{ when: `to keep ${name}`, edits: [{ path: NAMES, value: rest, of }] }];
}
