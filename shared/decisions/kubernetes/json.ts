/** A parsed JSON or YAML object. Every key, even `__proto__`, is an own enumerable property. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses a JSON text. Returns undefined if the text is not valid JSON. */
export function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns an own property of an object, or undefined. Ignores inherited properties such as `constructor`. */
export function field(object: unknown, key: string): unknown {
  return isJsonObject(object) && Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Returns the string at `path`, or null if the value is missing or is not a string. */
export function stringAt(object: unknown, ...path: readonly string[]): string | null {
  const value = path.reduce<unknown>(field, object);
  return typeof value === "string" ? value : null;
}

/** Returns the string values of an object, such as labels or annotations, by key. Skips values that are not strings. */
export function stringMap(value: unknown): ReadonlyMap<string, string> {
  const map = new Map<string, string>();
  if (!isJsonObject(value)) return map;
  for (const [key, item] of Object.entries(value)) if (typeof item === "string") map.set(key, item);
  return map;
}

/** Returns a copy without the field. Returns an empty object if the value is not an object. */
export function omitField(value: unknown, name: string): JsonObject {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([other]) => other !== name));
}

/**
 * Returns whether two JSON values are equal. The order of array elements matters, but the order of keys does not. Uses
 * no recursion, because a client controls the nesting depth.
 */
export function isSame(a: unknown, b: unknown): boolean {
  const open = [a, b];
  while (open.length > 0) {
    const right = open.pop();
    if (!isSameWithoutChildren(open.pop(), right, open)) return false;
  }
  return true;
}

/** Returns whether two values are equal, apart from their children. Adds each pair of children to `open`. */
function isSameWithoutChildren(a: unknown, b: unknown, open: unknown[]): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let i = 0; i < a.length && a.length === b.length; i++) open.push(a[i], b[i]);
    return a.length === b.length;
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return a === b;
  const keys = Object.keys(a);
  for (const key of keys) open.push(a[key], field(b, key));
  return keys.length === Object.keys(b).length;
}

/** The operations of a JSON patch (RFC 6902) that the webhook sends. */
export type PatchOperation =
  | { readonly op: "add" | "replace"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

/** Returns the JSON pointer (RFC 6901) for a path of unescaped keys. */
export function jsonPointer(...keys: readonly (string | number)[]): string {
  return keys.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
