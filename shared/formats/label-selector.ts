import { field, type FieldPath, type JsonObject, stringAt, stringMap } from "./json.ts";
import { labelKeyFaults, labelValueFaults } from "./names.ts";
import { quote } from "./text.ts";

/** A label selector in an object, not validated. */
export interface LabelSelectorSpec {
  readonly matchLabels: ReadonlyMap<string, string>;
  readonly matchExpressions: readonly LabelRequirementSpec[];
}

export interface LabelRequirementSpec {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** Reads a label selector. Reads an invalid list element as "", and skips a label whose value is not a string. */
export function readLabelSelector(selector: JsonObject): LabelSelectorSpec {
  const expressions = field(selector, "matchExpressions");
  return {
    matchLabels: stringMap(field(selector, "matchLabels")),
    matchExpressions: Array.isArray(expressions) ? expressions.map(readRequirement) : [],
  };
}

function readRequirement(requirement: unknown): LabelRequirementSpec {
  return {
    key: stringAt(requirement, "key") ?? "",
    operator: stringAt(requirement, "operator") ?? "",
    values: stringList(requirement, "values"),
  };
}

/** Returns the list at `key`, with "" for each element that is not a string. Returns [] if the value is not a list. */
export function stringList(parent: unknown, key: string): readonly string[] {
  const list = field(parent, key);
  return Array.isArray(list) ? list.map((item) => (typeof item === "string" ? item : "")) : [];
}

/** A fault of a label selector. `path` starts at the selector. */
export interface LabelFault {
  readonly path: FieldPath;
  readonly message: string;
  readonly isEmptyKey: boolean;
}

/** Yields the faults of `matchLabels`. */
export function* matchLabelFaults({ matchLabels }: LabelSelectorSpec): Iterable<LabelFault> {
  for (const [key, value] of matchLabels) {
    const path = ["matchLabels", { key }];
    if (key === "") yield { path, message: "the label key is empty", isEmptyKey: true };
    else yield* keyFaults(path, key);
    yield* valueFaults(path, value);
  }
}

/** Yields the faults of `matchExpressions`. Source: k8s.io/apimachinery pkg/labels/selector.go, NewRequirement. */
export function* expressionFaults({ matchExpressions }: LabelSelectorSpec): Iterable<LabelFault> {
  for (const [i, requirement] of matchExpressions.entries()) {
    yield* requirementFaults(["matchExpressions", i], requirement);
  }
}

function* keyFaults(path: FieldPath, key: string): Iterable<LabelFault> {
  const faults = labelKeyFaults(key);
  if (faults.length > 0) yield fault(path, `${quote(key)} is not a valid label key: ${faults.join("; ")}`);
}

function* valueFaults(path: FieldPath, value: string): Iterable<LabelFault> {
  const faults = labelValueFaults(value);
  if (faults.length > 0) yield fault(path, `${quote(value)} is not a valid label value: ${faults.join("; ")}`);
}

function* requirementFaults(
  path: FieldPath, { key, operator, values }: LabelRequirementSpec,
): Iterable<LabelFault> {
  yield* keyFaults([...path, "key"], key);
  if (!isOperator(operator)) {
    const message = `${quote(operator)} is not a valid operator: expected one of ${OPERATORS.join(", ")}`;
    yield fault([...path, "operator"], message);
  } else if ((operator === "In" || operator === "NotIn") && values.length === 0) {
    yield fault([...path, "values"], `operator ${operator} requires at least one value`);
  } else if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0) {
    yield fault([...path, "values"], `operator ${operator} allows no values`);
  }
  for (const [i, value] of values.entries()) yield* valueFaults([...path, "values", i], value);
}

function fault(path: FieldPath, message: string): LabelFault {
  return { path, message, isEmptyKey: false };
}

export type Labels = ReadonlyMap<string, string>;

/** Parses labels in the form `KEY=VALUE`. Calls `reject` for each fault in a text. */
export function parseLabels(texts: readonly string[], reject: (text: string, fault: string) => void): Labels {
  const labels = new Map<string, string>();
  for (const text of texts) {
    const at = text.indexOf("=");
    if (at < 0) {
      reject(text, "expected KEY=VALUE, such as tier=gold");
      continue;
    }
    const [key, value] = [text.slice(0, at), text.slice(at + 1)];
    const faults = [...labelKeyFaults(key), ...labelValueFaults(value)];
    if (labels.has(key)) faults.push("the key is repeated");
    for (const message of faults) reject(text, message);
    labels.set(key, value);
  }
  return labels;
}

export const OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist"] as const;
type Operator = (typeof OPERATORS)[number];

export function isOperator(text: string): text is Operator {
  return (OPERATORS as readonly string[]).includes(text);
}

export interface LabelRequirement {
  readonly key: string;
  readonly operator: Operator;
  readonly values: readonly string[];
}

/** A valid label selector. Labels must satisfy every requirement; an empty selector matches all labels. */
export interface LabelSelector {
  readonly matchLabels: readonly (readonly [key: string, value: string])[];
  readonly matchExpressions: readonly LabelRequirement[];
}

/** Whether the labels satisfy the selector. Source: k8s.io/apimachinery pkg/labels/selector.go, Requirement.Matches. */
export function satisfies(labels: Labels, selector: LabelSelector): boolean {
  for (const [key, value] of selector.matchLabels) if (labels.get(key) !== value) return false;
  for (const { key, operator, values } of selector.matchExpressions) {
    if (!MATCHES[operator](labels.get(key), values)) return false;
  }
  return true;
}

/** The match function of each operator. `value` is undefined if the label is missing. */
const MATCHES: Readonly<Record<Operator, (value: string | undefined, values: readonly string[]) => boolean>> = {
  In: (value, values) => value !== undefined && contains(values, value),
  NotIn: (value, values) => value === undefined || !contains(values, value),
  Exists: (value) => value !== undefined,
  DoesNotExist: (value) => value === undefined,
};

/** Lists that are longer are searched as sets. */
const MAX_SEARCHED = 32;
/** The set of each long list that was searched. One selector is compared with the labels of many namespaces. */
const SETS = new WeakMap<readonly string[], ReadonlySet<string>>();

function contains(values: readonly string[], value: string): boolean {
  if (values.length <= MAX_SEARCHED) return values.includes(value);
  const set = SETS.get(values) ?? new Set(values);
  SETS.set(values, set);
  return set.has(value);
}

export function isEmptySelector(selector: LabelSelector): boolean {
  return selector.matchLabels.length === 0 && selector.matchExpressions.length === 0;
}

/** Returns whether the labels are equal. */
export function isSameLabels(a: Labels, b: Labels): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}
