export type Labels = ReadonlyMap<string, string>;

export const OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist"] as const;
export type Operator = (typeof OPERATORS)[number];

export function isOperator(text: string): text is Operator {
  return (OPERATORS as readonly string[]).includes(text);
}

export interface LabelRequirement {
  readonly key: string;
  readonly operator: Operator;
  readonly values: readonly string[];
}

/** A label selector that was read without fault. Every part is ANDed; with no part it holds for any labels. */
export interface LabelSelector {
  readonly matchLabels: readonly (readonly [key: string, value: string])[];
  readonly matchExpressions: readonly LabelRequirement[];
}

/** Whether `labels` satisfy `selector`, exactly as Kubernetes decides (k8s.io/apimachinery pkg/labels/selector.go, Requirement.Matches). */
export function labelsSatisfy(labels: Labels, selector: LabelSelector): boolean {
  for (const [key, value] of selector.matchLabels) if (labels.get(key) !== value) return false;
  for (const requirement of selector.matchExpressions) if (!holds(labels, requirement)) return false;
  return true;
}

function holds(labels: Labels, { key, operator, values }: LabelRequirement): boolean {
  return HOLDS[operator](labels.get(key), values);
}

/** By operator; `value` is undefined where the key is not carried. */
const HOLDS: Readonly<Record<Operator, (value: string | undefined, values: readonly string[]) => boolean>> = {
  In: (value, values) => value !== undefined && values.includes(value),
  NotIn: (value, values) => value === undefined || !values.includes(value),
  Exists: (value) => value !== undefined,
  DoesNotExist: (value) => value === undefined,
};

export function isEmptySelector(selector: LabelSelector): boolean {
  return selector.matchLabels.length === 0 && selector.matchExpressions.length === 0;
}

const KEY = "[A-Za-z0-9][-A-Za-z0-9_./]*";
const VALUE = "[-A-Za-z0-9_.]*";
const REQUIREMENT = `\\s*(?:!\\s*${KEY}|${KEY}(?:\\s*(?:==?|!=)\\s*${VALUE}|\\s+(?:in|notin)\\s*\\(\\s*${VALUE}(?:\\s*,\\s*${VALUE})*\\s*\\))?)\\s*`;

/** What matches a label selector as text: `team=a,tier in (gold,silver),!old`. */
export const LABEL_SELECTOR_TEXT = `^${REQUIREMENT}(?:,${REQUIREMENT})*$`;

/** Reads a label selector that matches `LABEL_SELECTOR_TEXT`, as k8s.io/apimachinery pkg/labels/selector.go, Parse, does; Gt and Lt aside. */
export function parseLabelSelector(text: string): LabelSelector {
  // A comma inside parentheses parts values, not requirements.
  return { matchLabels: [], matchExpressions: text.split(/,(?![^(]*\))/).map((part) => requirementOf(part.trim())) };
}

function requirementOf(text: string): LabelRequirement {
  if (text.startsWith("!")) return { key: text.slice(1).trim(), operator: "DoesNotExist", values: [] };
  const [key = "", ...rest] = text.split(/\s*(==|!=|=)\s*|\s+(in|notin)\s*\(\s*|\s*\)$/).filter((part) => part !== undefined);
  const [operator = "", values = ""] = rest;
  if (operator === "") return { key, operator: "Exists", values: [] };
  return { key, operator: operator === "!=" || operator === "notin" ? "NotIn" : "In", values: values.split(/\s*,\s*/) };
}
