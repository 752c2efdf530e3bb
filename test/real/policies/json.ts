import { isJsonObject, type JsonObject } from "../../../shared/formats/json.ts";

/** Returns the value if it is an object, otherwise an empty object. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Returns the objects of a list. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

/** Returns a copy of the value as JSON, without undefined fields. */
export function plain(value: object): JsonObject {
  const copy: unknown = JSON.parse(JSON.stringify(value));
  return objectOf(copy);
}
