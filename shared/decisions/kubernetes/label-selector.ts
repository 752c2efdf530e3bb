import { labelKeyFaults, labelValueFaults } from "./names.ts";

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
    for (const fault of faults) reject(text, fault);
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
