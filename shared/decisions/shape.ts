import type { ErrorObject } from "ajv";
import type { FieldPath, FieldStep } from "./field-path.ts";
import { closest } from "./closest.ts";
import { field } from "./json.ts";
import { compileSchema, type NamedSchema } from "./json-schema.ts";
import { quote } from "./quote.ts";

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
