import { field, isJsonObject, type JsonObject, stringAt } from "../formats/json.ts";
import { definedKind, isACKGroup, isKindDefinition, SELECTOR_GROUP, SELECTOR_KIND } from "../core/ack-groups.ts";
import type { NamedKind } from "../core/kind.ts";
import { kindOf, KINDS } from "../kinds.ts";
import { objectReference } from "../formats/object-meta.ts";

const NO_OBJECT = "not a Kubernetes object; expected fields such as apiVersion and kind";

/** Returns the value as a Kubernetes object, or the fault if the value is not a Kubernetes object. */
export function asObject(value: unknown): { readonly object: JsonObject } | { readonly fault: string } {
  if (!isJsonObject(value)) return { fault: NO_OBJECT };
  const missing = ["apiVersion", "kind"].filter((name) => (stringAt(value, name) ?? "") === "");
  if (missing.length === 0) return { object: value };
  return { fault: `not a Kubernetes object: ${missing.join(" and ")} must be set to a string` };
}

/** Whether a value that is not a Kubernetes object has an API group or a kind that is read, so it was meant as one. */
export function resemblesReadObject(value: unknown): boolean {
  const [group = ""] = (stringAt(value, "apiVersion") ?? "").split("/");
  return group.endsWith(SELECTOR_GROUP) || GROUPS.has(group) || stringAt(value, "kind") === SELECTOR_KIND;
}

/** The groups, except that of the core, of the kinds that can choose a role. */
const GROUPS: ReadonlySet<string> = new Set(KINDS.flatMap(({ choosesRole, served }) => (
  choosesRole === true ? served?.groups.flatMap(({ group }) => (group === "" ? [] : group)) ?? [] : []
)));

/** Whether any decision reads objects of this kind. */
export function isRead(object: JsonObject): boolean {
  if (isKindDefinition(object)) return isReadKind({ ...definedKind(object), name: "" });
  const type = objectReference(object);
  return isReadKind(type) || type.kind === SELECTOR_KIND;
}

function isReadKind(type: NamedKind): boolean {
  if (type.group === SELECTOR_GROUP || isACKGroup(type.group)) return true;
  const kind = kindOf(type);
  return kind?.choosesRole === true && kind.isMisspelled !== true;
}

/** Returns the items if the object's kind ends in `List`. Returns null for any other object. */
export function listItems(object: JsonObject): readonly unknown[] | null {
  const items = field(object, "items");
  if (!String(field(object, "kind")).endsWith("List") || items === undefined) return null;
  if (items === null) return [];
  return Array.isArray(items) ? (items as unknown[]) : null;
}
