import { printable } from "./text.ts";

/** The maximum depth and the maximum number of values of a JSON value. */
interface Bounds {
  readonly maxDepth: number;
  readonly maxValues: number;
}

/** The position at which a JSON value first exceeds its bounds. */
export interface Excess {
  /** At most the first 10 steps of the path, because a deep path would not fit into a message. */
  readonly path: FieldPath;
  readonly message: string;
}

const STEPS_IN_PATH = 10;

/** Returns the position at which a JSON value first exceeds its bounds, or null. Visits at most `maxValues` values. */
export function excessOf(root: unknown, { maxDepth, maxValues }: Bounds): Excess | null {
  const budget = { maxDepth, values: maxValues };
  const steps = stepsToExcess(root, 0, budget);
  if (steps === null) return null;
  if (budget.values < 0) return { path: [], message: `the object has more than ${maxValues} values` };
  const message = `the object is nested deeper than ${maxDepth} levels`;
  return { path: steps.toReversed().slice(0, STEPS_IN_PATH), message };
}

interface Budget {
  readonly maxDepth: number;
  /** The number of values that may follow; negative if there are more. */
  values: number;
}

/**
 * Returns the steps to the first value that exceeds the budget, the last step first, or null. Makes no path before,
 * because each review visits the whole object.
 */
function stepsToExcess(value: unknown, depth: number, budget: Budget): FieldStep[] | null {
  if (typeof value !== "object" || value === null) return null;
  if (depth >= budget.maxDepth) return [];
  return Array.isArray(value) ? stepsInList(value, depth, budget) : stepsInObject(value, depth, budget);
}

function stepsInList(list: readonly unknown[], depth: number, budget: Budget): FieldStep[] | null {
  budget.values -= list.length;
  if (budget.values < 0) return [];
  for (let i = 0; i < list.length; i++) {
    const steps = stepsToExcess(list[i], depth + 1, budget);
    if (steps !== null) return steps.concat(i);
  }
  return null;
}

function stepsInObject(object: object, depth: number, budget: Budget): FieldStep[] | null {
  for (const key in object) {
    budget.values -= 1;
    const steps = budget.values < 0 ? [] : stepsToExcess(Reflect.get(object, key), depth + 1, budget);
    if (steps !== null) return steps.concat(key);
  }
  return null;
}

/**
 * Visits an object or a list, and those that it contains, in their order and down to `maxDepth` levels. `path` is valid
 * only during the call. Makes no object, because each review visits the whole object. `maxDepth` bounds the recursion,
 * because a client controls the nesting depth.
 */
export function eachObject(root: unknown, maxDepth: number, visit: Visit["visit"]): void {
  visitAll(root, [], { maxDepth, visit });
}

interface Visit {
  readonly maxDepth: number;
  readonly visit: (value: object, path: readonly FieldStep[]) => void;
}

function visitAll(value: unknown, path: FieldStep[], how: Visit): void {
  if (typeof value !== "object" || value === null || path.length >= how.maxDepth) return;
  how.visit(value, path);
  if (Array.isArray(value)) for (let i = 0; i < value.length; i++) visitChild(value[i], i, path, how);
  else for (const key in value) visitChild(Reflect.get(value, key), key, path, how);
}

function visitChild(child: unknown, step: FieldStep, path: FieldStep[], how: Visit): void {
  path.push(step);
  visitAll(child, path, how);
  path.pop();
}

/** A step of a field path: a field name, a list index, or the key of a map entry. */
export type FieldStep = string | number | { readonly key: string };
export type FieldPath = readonly FieldStep[];

/** Returns the path of an annotation. */
export function annotationPath(key: string): FieldPath {
  return ["metadata", "annotations", { key }];
}

/** The length of the longest label key: a prefix of 253 characters, a slash, and a name of 63 characters. */
const MAX_KEY_LENGTH = 317;

/**
 * Formats a path as Kubernetes does, such as `spec.resourceLabelSelector.matchLabels[example.com/team]`. Escapes
 * control characters, and truncates long keys. Source: k8s.io/apimachinery pkg/util/validation/field/path.go.
 */
export function formatFieldPath(path: FieldPath): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "string") text += text === "" ? cut(step) : `.${cut(step)}`;
    else text += typeof step === "number" ? `[${step}]` : `[${cut(step.key)}]`;
  }
  return printable(text);
}

function cut(key: string): string {
  return key.length > MAX_KEY_LENGTH ? `${key.slice(0, MAX_KEY_LENGTH)}…` : key;
}

/** Returns the path as plain keys and list indexes, for access to a parsed document. */
export function plainKeys(path: FieldPath): (string | number)[] {
  return path.map((step) => (typeof step === "object" ? step.key : step));
}

/** Returns the value of the field at the path, or undefined if it is missing. */
export function valueAt(value: unknown, path: FieldPath): unknown {
  let found = value;
  for (const step of path) {
    const key = typeof step === "object" ? step.key : step;
    found = Array.isArray(found) ? (found as unknown[])[Number(key)] : field(found, String(key));
  }
  return found;
}

/** A parsed JSON or YAML object. Every key, even `__proto__`, is an own enumerable property. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses a JSON text. Returns undefined if the text is not valid JSON. */
export function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns an own property of an object, or undefined. Ignores inherited properties such as `constructor`: all of them
 * are functions, which JSON has not, or `__proto__`. A review reads some hundred fields, of which hardly any is one.
 */
export function field(object: unknown, key: string): unknown {
  if (!isJsonObject(object)) return undefined;
  const value = object[key];
  if (typeof value !== "function" && key !== "__proto__") return value;
  return Object.hasOwn(object, key) ? value : undefined;
}

/** Returns the string at `path`, or null if the value is missing or is not a string. */
export function stringAt(object: unknown, ...path: readonly string[]): string | null {
  let value = object;
  for (const key of path) value = field(value, key);
  return typeof value === "string" ? value : null;
}

/** Returns the string values of an object, such as labels or annotations, by key. Skips values that are not strings. */
export function stringMap(value: unknown): ReadonlyMap<string, string> {
  const map = new Map<string, string>();
  if (!isJsonObject(value)) return map;
  for (const [key, item] of Object.entries(value)) if (typeof item === "string") map.set(key, item);
  return map;
}

/** Returns a copy without the field. Returns an empty object if the value is not an object. */
export function omitField(value: unknown, name: string): JsonObject {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([other]) => other !== name));
}

/**
 * Returns whether two JSON values are equal. The order of array elements matters, but the order of keys does not. Uses
 * no recursion, because a client controls the nesting depth.
 */
export function isSame(a: unknown, b: unknown): boolean {
  const open = [a, b];
  while (open.length > 0) {
    const right = open.pop();
    if (!isSameWithoutChildren(open.pop(), right, open)) return false;
  }
  return true;
}

/** Returns whether two values are equal, apart from their children. Adds each pair of children to `open`. */
function isSameWithoutChildren(a: unknown, b: unknown, open: unknown[]): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let i = 0; i < a.length && a.length === b.length; i++) open.push(a[i], b[i]);
    return a.length === b.length;
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return a === b;
  const keys = Object.keys(a);
  for (const key of keys) open.push(a[key], field(b, key));
  return keys.length === Object.keys(b).length;
}

/** The operations of a JSON patch (RFC 6902) that the webhook sends. */
export type PatchOperation =
  | { readonly op: "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "add" | "replace"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

/** Returns the JSON pointer (RFC 6901) for a path of unescaped keys. */
export function jsonPointer(...keys: readonly (string | number)[]): string {
  return keys.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
