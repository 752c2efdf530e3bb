import { field, isJsonObject, type JsonObject } from "./json.ts";
import type { FieldPath } from "./field-path.ts";

/** Which fields a structural schema knows, and nothing else that it says. */
export interface KnownFields {
  readonly properties: ReadonlyMap<string, KnownFields>;
  /** Of a map's values, whatever their keys; null where the schema has none. */
  readonly values: KnownFields | null;
  /** Of a list's elements; null where the schema has none. */
  readonly items: KnownFields | null;
  /** Whether fields that it does not know are kept all the same. */
  readonly keepsUnknown: boolean;
}

const ANYTHING: KnownFields = { properties: new Map(), values: null, items: null, keepsUnknown: true };

/**
 * Reads the schema of whole objects (`openAPIV3Schema` of a CustomResourceDefinition's version). Type and metadata are the API
 * server's own and always known. Source: k8s.io/apiextensions-apiserver pkg/apiserver/schema/pruning/algorithm.go.
 */
export function objectFields(schema: unknown): KnownFields {
  const known = knownFields(schema);
  return { ...known, properties: new Map([...known.properties, ["apiVersion", ANYTHING], ["kind", ANYTHING], ["metadata", ANYTHING]]) };
}

function knownFields(schema: unknown): KnownFields {
  const properties = field(schema, "properties");
  const values = field(schema, "additionalProperties");
  const items = field(schema, "items");
  return {
    properties: new Map(isJsonObject(properties) ? Object.entries(properties).map(([name, child]) => [name, knownFields(child)] as const) : []),
    values: isJsonObject(values) ? knownFields(values) : null,
    items: isJsonObject(items) ? knownFields(items) : null,
    keepsUnknown: values === true || field(schema, "x-kubernetes-preserve-unknown-fields") === true,
  };
}

/**
 * The fields of `applied` that are not in `stored`, because the schema does not know them. One that says nothing (null, an empty
 * list or object) is no loss, and of a part that is not stored at all nothing can be told.
 */
export function* droppedFields(known: KnownFields, applied: unknown, stored: unknown, path: FieldPath = []): Iterable<FieldPath> {
  if (Array.isArray(applied) && Array.isArray(stored) && known.items !== null) {
    for (const [i, item] of applied.entries()) yield* droppedFields(known.items, item, stored[i], [...path, i]);
  }
  if (isJsonObject(applied) && isJsonObject(stored)) yield* droppedOfObject(known, applied, stored, path);
}

function* droppedOfObject(known: KnownFields, applied: JsonObject, stored: JsonObject, path: FieldPath): Iterable<FieldPath> {
  for (const [key, value] of Object.entries(applied)) {
    const property = known.properties.get(key);
    const child = property ?? known.values;
    if (child !== null) yield* droppedFields(child, value, field(stored, key), [...path, property === undefined ? { key } : key]);
    else if (!known.keepsUnknown && !Object.hasOwn(stored, key) && saysSomething(value)) yield [...path, key];
  }
}

function saysSomething(value: unknown): boolean {
  return value !== null && (typeof value !== "object" || Object.keys(value).length > 0);
}
