import type { FieldPath } from "../../kubernetes/field-path.ts";
import { isOperator, OPERATORS } from "../../kubernetes/label-selector.ts";
import { labelKeyFaults, labelValueFaults } from "../../kubernetes/names.ts";
import { quote } from "../../kubernetes/text.ts";
import type { LabelRequirementSpec, LabelSelectorSpec } from "../../selectors/iamroleselector.ts";
import type { Fault, SelectorCheck, SelectorSubject } from "../check.ts";

type Located = readonly [path: FieldPath, selector: LabelSelectorSpec];

/** Returns the namespace label selector and the resource label selector of an IAMRoleSelector. */
function labelSelectors({ spec }: SelectorSubject): Located[] {
  const ofNamespace = spec.namespaceSelector?.labelSelector ?? null;
  const ofResource = spec.resourceLabelSelector;
  const located: Located[] = [];
  if (ofNamespace !== null) located.push([["spec", "namespaceSelector", "labelSelector"], ofNamespace]);
  if (ofResource !== null) located.push([["spec", "resourceLabelSelector"], ofResource]);
  return located;
}

export const IRS_11: SelectorCheck = {
  id: "IRS-11",
  severity: "deny",
  waivable: false,
  reason: "Controllers drop a selector that has an empty label key. "
    + "A selector that has another malformed label selects nothing, because no object can have such a label.",
  fix: "use the Kubernetes label syntax: [prefix/]name: value",
  example: "spec: {resourceLabelSelector: {matchLabels: {tier: 'very gold'}}}",
  *find(subject): Iterable<Fault> {
    for (const [path, selector] of labelSelectors(subject)) {
      for (const [key, value] of selector.matchLabels)
        yield * labelFaults([...path, "matchLabels", { key }], key, value);
      if (subject.runtime === "ack") continue; // with --runtime ack, IRS-35 denies every expression
      for (const [i, requirement] of selector.matchExpressions.entries()) {
        yield* requirementFaults([...path, "matchExpressions", i], requirement);
      }
    }
  },
};

function* labelFaults(path: FieldPath, key: string, value: string): Iterable<Fault> {
  if (key === "") yield { path, message: "the label key is empty", dropsSelector: true };
  else yield* keyFaults(path, key);
  yield* valueFaults(path, value);
}

function* keyFaults(path: FieldPath, key: string): Iterable<Fault> {
  const faults = labelKeyFaults(key);
  if (faults.length > 0) yield { path, message: `${quote(key)} is not a valid label key: ${faults.join("; ")}` };
}

function* valueFaults(path: FieldPath, value: string): Iterable<Fault> {
  const faults = labelValueFaults(value);
  if (faults.length > 0) yield { path, message: `${quote(value)} is not a valid label value: ${faults.join("; ")}` };
}

/** Source: k8s.io/apimachinery v0.35 pkg/labels/selector.go, NewRequirement. */
function* requirementFaults(path: FieldPath, { key, operator, values }: LabelRequirementSpec): Iterable<Fault> {
  yield* keyFaults([...path, "key"], key);
  if (!isOperator(operator)) {
    const message = `${quote(operator)} is not a valid operator: expected one of ${OPERATORS.join(", ")}`;
    yield { path: [...path, "operator"], message };
  } else if ((operator === "In" || operator === "NotIn") && values.length === 0) {
    yield { path: [...path, "values"], message: `operator ${operator} requires at least one value` };
  } else if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0) {
    yield { path: [...path, "values"], message: `operator ${operator} allows no values` };
  }
  for (const [i, value] of values.entries()) yield* valueFaults([...path, "values", i], value);
}

export const IRS_35: SelectorCheck = {
  id: "IRS-35",
  severity: "deny",
  waivable: false,
  reason: "Shipped ACK controllers do not support matchExpressions. "
    + "Controllers drop the expressions, so the selector selects more than intended.",
  fix: "replace matchExpressions with matchLabels, "
    + "or set --runtime extended if no shipped controller reads this selector",
  example: "spec: {namespaceSelector: {labelSelector: {matchExpressions: [{key: team, operator: Exists}]}}}",
  *find(subject): Iterable<Fault> {
    if (subject.runtime === "extended") return;
    const message = "shipped ACK controllers drop matchExpressions and would select more than intended";
    for (const [path, { matchExpressions }] of labelSelectors(subject)) {
      if (matchExpressions.length > 0) yield { path: [...path, "matchExpressions"], message };
    }
  },
};
