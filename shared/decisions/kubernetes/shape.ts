import type { ErrorObject } from "ajv";
import { LIMITS } from "../limits.ts";
import type { FieldPath, FieldStep } from "./field-path.ts";
import { compileSchema, type NamedSchema } from "./json-schema.ts";
import { field, isJsonObject, type JsonObject } from "./json.ts";
import { closest, quote } from "./text.ts";

// `shapeChecker` finds the fields that a schema does not allow. `droppedFields` finds the fields that the API server
// has pruned.

/** A field that the schema of an object does not allow. */
interface ShapeFault {
  readonly path: FieldPath;
  readonly message: string;
  /**
   * Whether the schema does not define the field. Without strict field validation, the API server prunes unknown fields
   * but rejects all other faults.
   */
  readonly unknownField: boolean;
}

/** The fields that contain maps with arbitrary keys. A path step below such a field is a map key, not a field name. */
const MAPS: ReadonlySet<unknown> = new Set(["matchLabels", "labels", "annotations"]);

/** Compiles a schema. Returns a function that returns every fault of a value. */
export function shapeChecker(schema: NamedSchema): (value: unknown) => ShapeFault[] {
  const validate = compileSchema(schema);
  return (value) => {
    validate(value);
    return (validate.errors ?? []).map((error, i) => shapeFault(value, error, i < LIMITS.faultsPerCheck.value));
  };
}

/** Searches for a similar field name only if `isReported`, because the search is slow and an object has many fields. */
function shapeFault(value: unknown, error: ErrorObject, isReported: boolean): ShapeFault {
  const path = pathOf(value, error.instancePath);
  if (error.keyword === "additionalProperties") {
    const name = String(field(error.params, "additionalProperty"));
    const known = Object.keys(Object(field(error.parentSchema, "properties")));
    const message = `unknown field ${quote(name)}; ${suggestion(known, isReported ? closest(name, known) : null)}`;
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
  return `the ${typeof value} ${typeof value === "string" ? quote(value) : JSON.stringify(value)}`;
}

function withArticle(type: string): string {
  const name = type === "array" ? "list" : type;
  return `${/^[aeiou]/.test(name) ? "an" : "a"} ${name}`;
}

/** The fields that a structural schema defines. */
export interface KnownFields {
  readonly properties: ReadonlyMap<string, KnownFields>;
  /** The fields of each value in a map; null if the schema does not define map values. */
  readonly values: KnownFields | null;
  /** The fields of each element in a list; null if the schema does not define list elements. */
  readonly items: KnownFields | null;
  /** Whether the API server preserves unknown fields. */
  readonly preservesUnknown: boolean;
}

const ANYTHING: KnownFields = { properties: new Map(), values: null, items: null, preservesUnknown: true };
const COMMON_FIELDS = [["apiVersion", ANYTHING], ["kind", ANYTHING], ["metadata", ANYTHING]] as const;

/**
 * Returns the fields in the `openAPIV3Schema` of a version in a CustomResourceDefinition. Always includes `apiVersion`,
 * `kind` and `metadata`. Source: k8s.io/apiextensions-apiserver pkg/apiserver/schema/pruning/algorithm.go.
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
 * Yields the fields of `applied` that the API server pruned from `stored` because the schema does not define them.
 * Skips empty values (null, [] and {}) and all fields below a field that is not stored.
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
