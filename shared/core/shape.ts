import type { ErrorObject } from "ajv";
import { isConfidentialAt } from "./confidential.ts";
import { LIMITS } from "./limits.ts";
import { field, type FieldPath, type FieldStep, isJsonObject } from "../formats/json.ts";
import { quote } from "../formats/text.ts";
import { compileSchema, type NamedSchema } from "../formats/json-schema.ts";
import {
  type Aliases, fieldOfList, isCertainText, isItemOf, isUnquoted, meantFields, namesOf, valueOfField,
} from "./meant-field.ts";
import { by, type Edit, remove, type Repair, safely, set } from "./repair.ts";

// `shapeChecker` finds the fields that a schema does not allow. `droppedFields` finds the fields that the API server
// has pruned.

/** A field that the schema of an object does not allow. */
interface ShapeFault {
  readonly path: FieldPath;
  readonly message: string;
  /**
   * Whether the schema does not define the field. Without strict field validation, the API server prunes unknown
   * fields, but rejects an object that has another fault.
   */
  readonly unknownField: boolean;
  readonly repairs: readonly Repair[];
  /** Null if the repairs say what to do. */
  readonly fix: string | null;
}

/** The fields that contain maps with arbitrary keys. A path step below such a field is a map key, not a field name. */
const MAPS: ReadonlySet<unknown> = new Set(["matchLabels", "labels", "annotations"]);

/** Compiles a schema. Returns a function that returns every fault of a value. */
export function shapeChecker(schema: NamedSchema, aliases: Aliases = new Map()): (value: unknown) => ShapeFault[] {
  const validate = compileSchema(schema);
  return (value) => {
    validate(value);
    return (validate.errors ?? []).map((error, i) => (
      shapeFault(value, error, i < LIMITS.faultsPerCheck.value ? aliases : null)
    ));
  };
}

/** If `aliases` is null, does not search for a similar field name, because the search is slow for many faults. */
function shapeFault(value: unknown, error: ErrorObject, aliases: Aliases | null): ShapeFault {
  const path = pathOf(value, error.instancePath);
  if (error.keyword === "additionalProperties") {
    const name = String(field(error.params, "additionalProperty"));
    const { hint, ...correction } = unknownFieldHint({ name, path: [...path, name] }, error, aliases);
    const message = `unknown field ${quote(name)}; ${hint}`;
    return { path: [...path, name], message, unknownField: true, fix: null, ...correction };
  }
  const expected = [field(error.params, "type")].flat().filter((type) => type !== "null").join(" or ");
  const isConfidential = isConfidentialAt(path);
  const found = isConfidential ? `a ${typeof error.data}` : describeValue(error.data);
  const message = `expected ${withArticle(expected)}, not ${found}`;
  const repairs = isConfidential ? NONE : typeRepairs(path, error);
  return { path, message, repairs, fix: null, unknownField: false };
}

function typeRepairs(path: FieldPath, { data, parentSchema: schema }: ErrorObject): readonly Repair[] {
  if (isUnquoted(data, schema)) {
    const edit = set(path, String(data));
    return isCertainText(data) ? safely(edit) : by(edit);
  }
  if (isItemOf(data, schema)) return safely(set(path, [data]));
  // A list cannot stand for the whole spec, whose other fields would be missing.
  const inner = path.length > 1 ? fieldOfList(data, schema) : null;
  return inner === null ? NONE : safely(set(path, { [inner]: data }));
}

const NONE: readonly never[] = [];

type Correction = Partial<Pick<ShapeFault, "fix">> & Pick<ShapeFault, "repairs"> & { readonly hint: string };

function unknownFieldHint(
  { name, path }: { readonly name: string; readonly path: FieldPath },
  { data: parent, parentSchema: schema }: ErrorObject, aliases: Aliases | null,
): Correction {
  const known = namesOf(schema);
  const value = field(parent, name);
  const meant = aliases === null ? NONE : meantFields({ name, value, parent, schema }, aliases);
  const [first] = meant;
  if (first !== undefined) {
    const written = meant.map((one) => movedTo(path, one, valueOfField(value, one, schema)));
    const hint = `perhaps ${first} was meant`;
    const isShared = aliases !== null && otherUnknown(name, parent, known).some(([other, otherValue]) => (
      meantFields({ name: other, value: otherValue, parent, schema }, aliases).includes(first)
    ));
    return { hint, repairs: alternatives(meant, written, isShared) };
  }
  const repairs = by(remove(path));
  const needless = aliases?.get(name);
  if (typeof needless === "string") return { hint: needless, repairs };
  return known.length === 0
    ? { hint: "no field is expected here", repairs }
    : { hint: `expected one of ${known.join(", ")}`, repairs, fix: "write one of these fields, or remove the field" };
}

/** The number of unknown fields that are compared, because each comparison reads all names of the schema. */
const MAX_COMPARED = 10;

/** Returns the other fields of the object that the schema does not define. */
function otherUnknown(
  name: string, parent: unknown, known: readonly string[],
): readonly (readonly [name: string, value: unknown])[] {
  const fields = Object.entries<unknown>(Object(parent));
  return fields.filter(([key]) => key !== name && !known.includes(key)).slice(0, MAX_COMPARED);
}

/** Returns the edits that write the value in another field. `name` is its path from the same parent. */
function movedTo(path: FieldPath, name: string, value: unknown): readonly Edit[] {
  return [remove(path), set([...path.slice(0, -1), ...name.split(".")], value)];
}

function alternatives(
  names: readonly string[], edits: readonly (readonly Edit[])[], isShared: boolean,
): readonly Repair[] {
  if (names.length === 1) return edits.flatMap((one) => (isShared ? by(...one) : safely(...one)));
  return edits.map((one, i) => ({ when: `if ${names[i]} is meant`, edits: one }));
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

/** Returns a text that states the type of a value, and the value itself if it is short. */
export function describeValue(value: unknown): string {
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
  /** The names of the required fields. */
  readonly required: readonly string[];
}

const ANYTHING: KnownFields = {
  properties: new Map(), values: null, items: null, preservesUnknown: true, required: [],
};
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
  const required = field(schema, "required");
  return {
    properties: new Map(children.map(([name, child]) => [name, knownFields(child)] as const)),
    values: isJsonObject(values) ? knownFields(values) : null,
    items: isJsonObject(items) ? knownFields(items) : null,
    preservesUnknown: values === true || field(schema, "x-kubernetes-preserve-unknown-fields") === true,
    required: Array.isArray(required) ? required.filter((name) => typeof name === "string") : [],
  };
}

/**
 * Yields the fields of `applied` that the API server pruned from `stored` because the schema does not define them.
 * Skips empty values (null, [] and {}) and all fields below a field that is not stored.
 */
export function* droppedFields(known: KnownFields, applied: unknown, stored: unknown): Iterable<FieldPath> {
  for (const { path, value } of unknownFields(known, applied)) {
    const parent = path.slice(0, -1).reduce<unknown>(childAt, stored);
    const name = path.at(-1);
    const isDropped = isJsonObject(parent) && typeof name === "string" && !Object.hasOwn(parent, name);
    if (isDropped && !isEmpty(value)) yield path;
  }
}

interface FieldAt {
  readonly path: FieldPath;
  readonly value: unknown;
}

/** Yields the fields of an object that the schema does not define. */
export function* unknownFields(known: KnownFields, value: unknown, path: FieldPath = []): Iterable<FieldAt> {
  const { items } = known;
  if (items !== null) for (const [i, item] of elementsOf(value)) yield* unknownFields(items, item, [...path, i]);
  for (const [key, child] of isJsonObject(value) ? Object.entries(value) : []) {
    const property = known.properties.get(key);
    const fields = property ?? known.values;
    if (fields !== null) yield* unknownFields(fields, child, [...path, property === undefined ? { key } : key]);
    else if (!known.preservesUnknown) yield { path: [...path, key], value: child };
  }
}

/** Yields the required fields that are missing or null, in each object that exists. */
export function* missingFields(known: KnownFields, value: unknown, path: FieldPath = []): Iterable<FieldPath> {
  const { items } = known;
  if (items !== null) for (const [i, item] of elementsOf(value)) yield* missingFields(items, item, [...path, i]);
  if (!isJsonObject(value)) return;
  for (const name of known.required) if ((field(value, name) ?? null) === null) yield [...path, name];
  for (const [name, fields] of known.properties) yield* missingFields(fields, field(value, name), [...path, name]);
}

function elementsOf(value: unknown): Iterable<readonly [index: number, element: unknown]> {
  return Array.isArray(value) ? value.entries() : [];
}

function childAt(parent: unknown, step: FieldStep): unknown {
  if (typeof step === "number") return Array.isArray(parent) ? parent[step] : undefined;
  return field(parent, typeof step === "string" ? step : step.key);
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}
