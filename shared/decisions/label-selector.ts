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
