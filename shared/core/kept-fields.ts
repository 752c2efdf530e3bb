import { field, isJsonObject, type JsonObject, stringAt } from "../formats/json.ts";

// What an inventory keeps of the objects that a cluster sends, so that the inventory of a large cluster fits in memory.
// A function returns a copy of an object without the fields that no decision reads.

/** Returns a transform that keeps only the listed fields of these fields of an object, or all of them. */
export function keeping(kept: Readonly<Record<string, readonly string[] | "all">>): (object: JsonObject) => JsonObject {
  return (object) => Object.fromEntries(Object.entries(kept).map(([name, names]) => {
    const value = field(object, name);
    return [name, names === "all" ? value ?? {} : pickFields(value, names)];
  }));
}

const RESOURCE_METADATA = ["name", "namespace", "uid", "labels", "deletionTimestamp", "resourceVersion"];

/** Returns the fields of the metadata that decisions on roles read. */
export function roleMetadata(object: JsonObject): JsonObject {
  const metadata = field(object, "metadata");
  const annotations = relevantAnnotations(field(metadata, "annotations"));
  return { ...pickFields(metadata, RESOURCE_METADATA), annotations };
}

const RELEVANT_ANNOTATION = /^(?:(?:[^/]+\.)?services\.k8s\.aws|ack-role-resolver\.io)\//;

/**
 * Returns the annotations of ACK and of this project. Drops other annotations, which can be as large as the object,
 * such as the last-applied annotation of `kubectl apply`.
 */
function relevantAnnotations(annotations: unknown): JsonObject {
  if (!isJsonObject(annotations)) return {};
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => RELEVANT_ANNOTATION.test(key)));
}

/** Returns a copy of `value` that has only the named fields. Returns an empty object if `value` is not an object. */
export function pickFields(value: unknown, names: readonly string[]): JsonObject {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)));
}

/** Returns the object's conditions whose type is `type`, reduced to the fields type and status. */
export function conditionsOfType(object: JsonObject, type: string): JsonObject[] {
  const conditions = field(field(object, "status"), "conditions");
  if (!Array.isArray(conditions)) return [];
  return conditions
    .filter((condition) => stringAt(condition, "type") === type)
    .map((condition) => pickFields(condition, ["type", "status"]));
}

