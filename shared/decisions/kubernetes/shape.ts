import type { ErrorObject } from "ajv";
import type { FieldPath, FieldStep } from "./field-path.ts";
import { compileSchema, type NamedSchema } from "./json-schema.ts";
import { field, isJsonObject, type JsonObject } from "./json.ts";
import { closest, quote } from "./text.ts";

// The shape of objects: `shapeChecker` finds the fields that a schema does not allow, and `droppedFields` the fields
// that the
// API server has pruned.

/** A field that the schema of an object does not allow. */
interface ShapeFault {
  readonly path: FieldPath;
  readonly message: string;
  /** Whether the field is unknown. A lenient API server prunes unknown fields; it rejects other faults. */
  readonly unknownField: boolean;
}

/** Maps with free keys: a step below them is a key, not a field. */
const MAPS: ReadonlySet<unknown> = new Set(["matchLabels", "labels", "annotations"]);

/** Compiles `schema` once. The returned function returns every fault of a value. */
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
    const message = `unknown field ${quote(name)}; ${suggestion(known, closest(name, known))}`;
    return { path: [...path, name], message, unknownField: true };
  }
  const expected = [field(error.params, "type")].flat().filter((type) => type !== "null").join(" or ");
  return { path, message: `expected ${withArticle(expected)}, not ${describe(error.data)}`, unknownField: false };
}

function suggestion(known: readonly string[], guess: string | null): string {
  if (guess !== null) return `perhaps ${guess} was meant`;
  return known.length === 0 ? "no field is expected here" : `expected one of ${known.join(", ")}`;
}

/** Converts the JSON pointer of an ajv error (RFC 6901) to a field path. */
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

/** The fields that a structural schema knows. */
export interface KnownFields {
  readonly properties: ReadonlyMap<string, KnownFields>;
  /** The fields of the values of a map; null if the schema has none. */
  readonly values: KnownFields | null;
  /** The fields of the elements of a list; null if the schema has none. */
  readonly items: KnownFields | null;
  /** Whether the API server preserves unknown fields. */
  readonly preservesUnknown: boolean;
}

const ANYTHING: KnownFields = { properties: new Map(), values: null, items: null, preservesUnknown: true };
const COMMON_FIELDS = [["apiVersion", ANYTHING], ["kind", ANYTHING], ["metadata", ANYTHING]] as const;

/**
 * Reads the schema of an object: `openAPIV3Schema` of a version in a CustomResourceDefinition. Type and metadata are
 * always known. Source: k8s.io/apiextensions-apiserver pkg/apiserver/schema/pruning/algorithm.go.
 */
export function objectFields(schema: unknown): KnownFields {
  const known = knownFields(schema);
  return { ...known, properties: new Map([...known.properties, ...COMMON_FIELDS]) };
}

function knownFields(schema: unknown): KnownFields {
  const properties = field(schema, "properties");
  const values = field(schema, "additionalProperties");
  const items = field(schema, "items");
  const children = isJsonObject(properties) ? Object.entries(properties) : [];
  return {
    properties: new Map(children.map(([name, child]) => [name, knownFields(child)] as const)),
    values: isJsonObject(values) ? knownFields(values) : null,
    items: isJsonObject(items) ? knownFields(items) : null,
    preservesUnknown: values === true || field(schema, "x-kubernetes-preserve-unknown-fields") === true,
  };
}

/**
 * Yields the fields of `applied` that the API server pruned from `stored` because the schema does not know them. Skips
 * empty values (null, [] and {}) and everything below a field that is not stored at all.
 */
export function* droppedFields(
  known: KnownFields, applied: unknown, stored: unknown, path: FieldPath = [],
): Iterable<FieldPath> {
  if (Array.isArray(applied) && Array.isArray(stored) && known.items !== null) {
    for (const [i, item] of applied.entries()) yield* droppedFields(known.items, item, stored[i], [...path, i]);
  }
  if (isJsonObject(applied) && isJsonObject(stored)) yield* droppedFromObject(known, applied, stored, path);
}

function* droppedFromObject(
  known: KnownFields, applied: JsonObject, stored: JsonObject, path: FieldPath,
): Iterable<FieldPath> {
  for (const [key, value] of Object.entries(applied)) {
    const property = known.properties.get(key);
    const child = property ?? known.values;
    if (child !== null) {
      yield* droppedFields(child, value, field(stored, key), [...path, property === undefined ? { key } : key]);
    } else if (!known.preservesUnknown && !Object.hasOwn(stored, key) && !isEmpty(value)) yield [...path, key];
  }
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}
