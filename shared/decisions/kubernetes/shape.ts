import type { ErrorObject } from "ajv";
import type { FieldPath, FieldStep } from "./field-path.ts";
import { compileSchema, type NamedSchema } from "./json-schema.ts";
import { field, isJsonObject, type JsonObject } from "./json.ts";
import { closest, quote } from "./text.ts";

/** Something in an object that its schema does not allow. */
export interface ShapeFault {
  readonly path: FieldPath;
  readonly message: string;
  /** An unknown field, which a lenient API server prunes; the rest it refuses. */
  readonly unknownField: boolean;
}

/** Maps from free keys to values: a step below them is a key, not a field. */
const MAPS: ReadonlySet<unknown> = new Set(["matchLabels", "labels", "annotations"]);

/** Compiles `schema` once; the function returns every fault of a value. */
export function shapeChecker(schema: NamedSchema): (value: unknown) => ShapeFault[] {
  const validate = compileSchema(schema);
  return (value) => {
    validate(value);
    return (validate.errors ?? []).map((error) => shapeFault(value, error));
  };
}

function shapeFault(value: unknown, error: ErrorObject): ShapeFault {
  const path = pathOf(value, error.instancePath);
  if (error.keyword === "additionalProperties") {
    const name = String(field(error.params, "additionalProperty"));
    const known = Object.keys(Object(field(error.parentSchema, "properties")));
    const guess = closest(name, known);
    return { path: [...path, name], message: `unknown field ${quote(name)}; ${expectation(known, guess)}`, unknownField: true };
  }
  const expected = [field(error.params, "type")].flat().filter((type) => type !== "null").join(" or ");
  return { path, message: `expected ${withArticle(expected)}, not ${describe(error.data)}`, unknownField: false };
}

function expectation(known: readonly string[], guess: string | null): string {
  if (guess !== null) return `perhaps ${guess} was meant`;
  return known.length === 0 ? "no field is expected here" : `expected one of ${known.join(", ")}`;
}

/** ajv's JSON pointer as a field path (RFC 6901 escapes undone). */
function pathOf(value: unknown, pointer: string): FieldPath {
  const keys = pointer.split("/").slice(1).map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  let at = value;
  return keys.map((key, i): FieldStep => {
    if (Array.isArray(at)) {
      at = at[Number(key)];
      return Number(key);
    }
    at = field(at, key);
    return MAPS.has(keys[i - 1]) ? { key } : key;
  });
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return `the ${typeof value} ${JSON.stringify(value)}`;
}

function withArticle(type: string): string {
  const name = type === "array" ? "list" : type;
  return `${/^[aeiou]/.test(name) ? "an" : "a"} ${name}`;
}

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
