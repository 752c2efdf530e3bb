import type { FieldPath } from "../formats/json.ts";
import { type LabelRequirementSpec, type LabelSelectorSpec, OPERATORS } from "../formats/label-selector.ts";
import { labelKeyFaults, labelValueFaults } from "../formats/names.ts";
import { by, type Edit, meant, remove, rename, type Repair, safely, set } from "../core/repair.ts";

/** A label selector, and its path in the object. */
export type LocatedSelector = readonly [path: FieldPath, selector: LabelSelectorSpec];

const NONE: readonly never[] = [];

/** Returns the repairs of a fault at a path in a label selector. */
export function labelRepairs([path, selector]: LocatedSelector, fault: FieldPath): readonly Repair[] {
  const [, step] = fault;
  if (typeof step === "object") return pairRepairs([path, selector], step.key);
  return selector.matchExpressions.slice(Number(step), Number(step) + 1)
    .flatMap((expression) => partRepairs(expression, [...path, ...fault]));
}

/** Returns the repair of the key and the value of a label. */
function pairRepairs([path, { matchLabels }]: LocatedSelector, key: string): readonly Repair[] {
  const value = String(matchLabels.get(key));
  const [newKey, newValue] = [hyphenated(key), hyphenated(value)];
  if (labelKeyFaults(newKey).length > 0 || labelValueFaults(newValue).length > 0) return NONE;
  if (newKey !== key && matchLabels.has(newKey)) return NONE;
  const at = [...path, "matchLabels", { key }];
  const edits = newKey === key ? [set(at, newValue)] : rename(at, { key: newKey }, newValue);
  return newKey === key.trim() && newValue === value.trim() ? safely(...edits) : by(...edits);
}

/** Returns the repair of the key, the operator, the values or one value of an expression. */
function partRepairs(expression: LabelRequirementSpec, path: FieldPath): readonly Repair[] {
  const last = path.at(-1);
  if (last === "operator") {
    return meant(path, OPERATORS.filter((one) => one.toLowerCase() === expression.operator.trim().toLowerCase()));
  }
  // An operator that requires values lacks them, and only a person knows which are meant.
  if (last === "values") return expression.values.length === 0 ? NONE : safely(remove(path));
  const text = last === "key" ? expression.key : String(expression.values[Number(last)]);
  const corrected = hyphenated(text);
  const faults = last === "key" ? labelKeyFaults(corrected) : labelValueFaults(corrected);
  if (faults.length > 0) return NONE;
  return corrected === text.trim() ? safely(set(path, corrected)) : by(set(path, corrected));
}

/** Returns the text without blanks around it, and with a hyphen for those within it. */
function hyphenated(text: string): string {
  return text.trim().replaceAll(/\s+/g, "-");
}

/** Returns the repair that writes expressions of one value as labels, which have the same meaning. */
export function expressionRepairs([path, selector]: LocatedSelector): readonly Repair[] {
  const { matchExpressions, matchLabels } = selector;
  const edits: Edit[] = [remove([...path, "matchExpressions"])];
  const values = new Map(matchLabels);
  for (const expression of matchExpressions) {
    const value = onlyValue(expression);
    const { key } = expression;
    if (value === null || (values.get(key) ?? value) !== value) return NONE;
    values.set(key, value);
    edits.push(set([...path, "matchLabels", { key }], value));
  }
  return safely(...edits);
}

/** Returns the only value that the expression allows, or null if it is not the value of a valid label. */
function onlyValue({ key, operator, values: [value = "", ...others] }: LabelRequirementSpec): string | null {
  const isLabel = operator === "In" && others.length === 0 && value !== ""
    && labelKeyFaults(key).length === 0 && labelValueFaults(value).length === 0;
  return isLabel ? value : null;
}
