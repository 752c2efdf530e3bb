import { isJsonObject, type JsonObject } from "../formats/json.ts";

/**
 * A value that an input states, but whose text is not known yet: a reference in a template, or a value that Terraform
 * knows only after apply. It stands in a document in place of the value.
 */
const KEY = "ack-role-resolver/unresolved";

/** A text in place of the unresolved values of a condition. A policy that contains it is not decided by it. */
export const UNRESOLVED_TEXT = KEY;

/** `name` says what is not known, for a report. */
export function unresolved(name: string): JsonObject {
  return { [KEY]: name };
}

/** Returns the name of an unresolved value, or null for any other value. */
export function unresolvedName(value: unknown): string | null {
  if (!isJsonObject(value) || !Object.hasOwn(value, KEY)) return null;
  const { [KEY]: name } = value;
  return typeof name === "string" ? name : "a value";
}

/** Whether the text of a document may contain an unresolved value. */
export function mayBeUnresolved(text: string): boolean {
  return text.includes(KEY);
}

/** Returns the names of the unresolved values in a value. The depth of the recursion is that of a bounded document. */
export function unresolvedNames(value: unknown): string[] {
  const name = unresolvedName(value);
  if (name !== null) return [name];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(unresolvedNames);
}

/** A statement without unresolved values, and what is not known of it. */
export interface StatementVariant {
  readonly statement: JsonObject;
  readonly missing: readonly string[];
}

/**
 * Returns statements without unresolved values between which the given one lies: one that applies to less, if its known
 * items already are a statement, and one that may apply to more, of which parts are missing.
 */
export function statementVariants(statement: JsonObject): StatementVariant[] {
  const missing = [...new Set(unresolvedNames(statement))];
  if (missing.length === 0) return [{ statement, missing }];
  const narrow = narrowed(statement);
  const wide = { statement: widened(statement), missing };
  return narrow === null ? [wide] : [{ statement: narrow, missing: [] }, wide];
}

const LISTS = ["Principal", "Action", "Resource"] as const;

/** Returns the statement without its unresolved items. Returns null if they are not items of lists that only add. */
function narrowed(statement: JsonObject): JsonObject | null {
  const fields = Object.entries(statement).map(([key, value]): readonly [string, unknown] => {
    const isList = LISTS.some((list) => list === key);
    return [key, isList ? withoutItems(key, value) : value];
  });
  const isWhole = fields.every(([, value]) => value !== undefined && unresolvedNames(value).length === 0);
  return isWhole ? Object.fromEntries(fields) : null;
}

/** Returns undefined if no item is left. */
function withoutItems(key: string, value: unknown): unknown {
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    const known = items.filter((item) => unresolvedNames(item).length === 0);
    return known.length === 0 ? undefined : known;
  }
  if (key !== "Principal" || !isJsonObject(value) || unresolvedName(value) !== null) return value;
  const types = Object.entries(value).map(([type, texts]) => [type, withoutItems(type, texts)] as const)
    .filter(([, texts]) => texts !== undefined && unresolvedNames(texts).length === 0);
  return types.length === 0 ? undefined : Object.fromEntries(types);
}

/** Returns the items of an element that are known, whatever the others are. Returns undefined if none is. */
export function knownItems(name: (typeof LISTS)[number], value: unknown): unknown {
  const known = withoutItems(name, value);
  return unresolvedNames(known).length === 0 ? known : undefined;
}

/** Returns the statement with every element that is not known replaced by one that matches everything. */
function widened(statement: JsonObject): JsonObject {
  const fields: Record<string, unknown> = { ...statement };
  for (const list of LISTS) {
    if (unresolvedNames([fields[list], fields[`Not${list}`]]).length === 0) continue;
    Reflect.deleteProperty(fields, `Not${list}`);
    fields[list] = "*";
  }
  if ("Condition" in fields) fields["Condition"] = knownConditions(fields["Condition"]);
  return fields;
}

/** Keeps each key, because a request without it can decide the condition. */
function knownConditions(condition: unknown): unknown {
  if (unresolvedName(condition) !== null) return {};
  if (!isJsonObject(condition)) return condition;
  return Object.fromEntries(Object.entries(condition).map(([operator, keys]) => {
    if (!isJsonObject(keys)) return [operator, keys];
    const known = Object.entries(keys).map(([key, values]) => (
      [key, unresolvedNames(values).length === 0 ? values : [UNRESOLVED_TEXT]]
    ));
    return [operator, unresolvedName(keys) === null ? Object.fromEntries(known) : {}];
  }));
}
