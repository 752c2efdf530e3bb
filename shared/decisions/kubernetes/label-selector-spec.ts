import type { FieldPath } from "./field-path.ts";
import { field, type JsonObject, stringAt, stringMap } from "./json.ts";
import { isOperator, OPERATORS } from "./label-selector.ts";
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
