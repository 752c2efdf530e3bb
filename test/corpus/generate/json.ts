import { createHash } from "node:crypto";

export type Json = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the value at the path; undefined if an object on the way is missing. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (found, key) => (isObject(found) || Array.isArray(found) ? Reflect.get(found, key) : undefined), value
  );
}

export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
}

/**
 * Returns a copy of the object with the value at the path. Creates missing objects. `undefined` removes the field. An
 * index steps into a list that exists.
 */
export function withValue(object: unknown, [key, ...rest]: readonly string[], value: unknown): Json {
  if (key === undefined) throw new Error("the path is empty");
  const { [key]: _, ...others } = isObject(object) ? object : {};
  const next = rest.length === 0 ? value : nextValue(at(object, key), rest, value);
  return next === undefined ? others : { ...others, [key]: next };
}

function nextValue(found: unknown, [index = "", ...rest]: readonly string[], value: unknown): unknown {
  if (!Array.isArray(found)) return withValue(found, [index, ...rest], value);
  return found.map((item: unknown, i) => {
    if (String(i) !== index) return item;
    return rest.length === 0 ? value : withValue(item, rest, value);
  });
}

/** Returns a short hash of a text or of the JSON of a value. */
export function hashOf(value: unknown): string {
  return createHash("sha256").update(
    typeof value === "string" ? value : JSON.stringify(value)
  ).digest("hex").slice(0, 8);
}
