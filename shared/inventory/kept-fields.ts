import { field, isJsonObject, type JsonObject, stringAt } from "../decisions/json.ts";

/** An object with the fields of these names alone; an empty one in place of what is none. */
export function only(value: unknown, names: readonly string[]): JsonObject {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)));
}

/** An object without the field. */
export function without(value: unknown, name: string): JsonObject {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([other]) => other !== name));
}

/** The type and status of an object's conditions of a type. */
export function conditionsOf(object: JsonObject, type: string): JsonObject[] {
  const conditions = field(field(object, "status"), "conditions");
  if (!Array.isArray(conditions)) return [];
  return conditions.filter((condition) => stringAt(condition, "type") === type).map((condition) => only(condition, ["type", "status"]));
}
