import { field, isJsonObject } from "../formats/json.ts";
import { NameIndex } from "../formats/nearest.ts";

/**
 * Maps field names that users often write by mistake to the paths of the fields that they can mean, such as
 * `namespaceSelector.names`, or to the text that says why no field is needed.
 */
export type Aliases = ReadonlyMap<string, readonly string[] | string>;

interface UnknownField {
  readonly name: string;
  readonly value: unknown;
  /** The object that contains the field, and its JSON schema. */
  readonly parent: unknown;
  readonly schema: unknown;
}

/** Returns the paths of the fields that are probably meant: they accept the value, and the object lacks them. */
export function meantFields({ name, value, parent, schema }: UnknownField, aliases: Aliases): readonly string[] {
  const isFree = (path: string): boolean => {
    const isUnset = field(parent, path.replace(/\..*/, "")) === undefined;
    return isUnset && accepts(path.split(".").reduce(propertyOf, schema), value);
  };
  const paths = aliases.get(name) ?? [];
  if (typeof paths === "string") return [];
  const free = paths.filter(isFree);
  return free.length > 0 ? free : new NameIndex(namesOf(schema).filter(isFree)).guesses(name);
}

/** Returns the value as the field at the path accepts it: the only item of a list is written as a list. */
export function valueOfField(value: unknown, path: string, schema: unknown): unknown {
  const isList = field(path.split(".").reduce(propertyOf, schema), "items") !== undefined;
  return isList ? [value].flat() : value;
}

/** Whether a number or a boolean was written instead of a text. */
export function isUnquoted(value: unknown, schema: unknown): value is number | boolean {
  return (typeof value === "number" || typeof value === "boolean") && accepts(schema, String(value));
}

/**
 * Whether the text of a number or boolean is what was meant. YAML rounds long numbers, and a number of 9 to 11 digits
 * can be an account that starts with zeros. Whoever edits a file sees whether the text differs, such as 010 or yes.
 */
export function isCertainText(value: number | boolean): boolean {
  return typeof value === "boolean" || (Number.isSafeInteger(value) && !/^[0-9]{9,11}$/.test(String(value)));
}

/** Whether a value was written instead of a list of such values. */
export function isItemOf(value: unknown, schema: unknown): boolean {
  return !Array.isArray(value) && field(schema, "items") !== undefined && accepts(schema, value);
}

/** Returns the only field of an object that accepts the list that was written instead of the object; else null. */
export function fieldOfList(value: unknown, schema: unknown): string | null {
  if (!Array.isArray(value) || value.length === 0) return null;
  const [first = null, ...others] = namesOf(schema).filter((name) => accepts(propertyOf(schema, name), value));
  return others.length === 0 ? first : null;
}

/** Returns the names of the fields that the schema defines. */
export function namesOf(schema: unknown): string[] {
  return Object.keys(Object(field(schema, "properties")));
}

function propertyOf(schema: unknown, name: string): unknown {
  return field(field(schema, "properties"), name);
}

/** Whether a value has the type of the schema, or can be written as its only item or its only field. */
function accepts(schema: unknown, value: unknown): boolean {
  const types = new Set([field(schema, "type")].flat());
  if (types.has("array")) return [value].flat().every((item) => accepts(field(schema, "items"), item));
  if (!types.has("object")) return types.has(typeof value);
  const keys = isJsonObject(value) ? Object.keys(value) : null;
  if (keys === null || field(schema, "properties") === undefined) return keys !== null;
  return keys.length === 0 || keys.some((key) => namesOf(schema).includes(key));
}
