/** An object as `JSON.parse` or a YAML reader gives it: every key own and enumerable, `__proto__` included. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Undefined for what is not JSON. */
export function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The own field `key`, so that `constructor` or `__proto__` never answer from the prototype. */
export function field(object: unknown, key: string): unknown {
  return isJsonObject(object) && Object.hasOwn(object, key) ? object[key] : undefined;
}

/** The string at `path`, or null where anything on the way is absent or of another type. */
export function stringAt(object: unknown, ...path: readonly string[]): string | null {
  const value = path.reduce<unknown>(field, object);
  return typeof value === "string" ? value : null;
}

/** The entries of an object whose values are strings (labels, annotations); entries of another type are left out. */
export function stringMap(value: unknown): ReadonlyMap<string, string> {
  const map = new Map<string, string>();
  if (!isJsonObject(value)) return map;
  for (const [key, item] of Object.entries(value)) if (typeof item === "string") map.set(key, item);
  return map;
}/** An operation of RFC 6902, of the kinds that we ever send. */
export type PatchOperation =
  | { readonly op: "add" | "replace"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

/** A JSON pointer (RFC 6901) from unescaped keys. */
export function jsonPointer(...keys: readonly (string | number)[]): string {
  return keys.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
