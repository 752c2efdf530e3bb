import type { FieldPath } from "../../kubernetes/field-path.ts";
import { isOperator, OPERATORS } from "../../kubernetes/label-selector.ts";
import { labelKeyFaults, labelValueFaults } from "../../kubernetes/names.ts";
import { quote } from "../../kubernetes/text.ts";
import type { LabelRequirementSpec, LabelSelectorSpec } from "../../selectors/iamroleselector.ts";
import type { Fault, SelectorCheck, SelectorSubject } from "../check.ts";

type Located = readonly [path: FieldPath, selector: LabelSelectorSpec];

/** Both places where an IAMRoleSelector holds a label selector. */
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
  reason: "Controllers drop a selector with an empty label key; any other malformed label can never be carried, so nothing is selected.",
  fix: "write labels as Kubernetes takes them: [prefix/]name: value",
  example: "spec: {resourceLabelSelector: {matchLabels: {tier: 'very gold'}}}",
  *find(subject): Iterable<Fault> {
    for (const [path, selector] of labelSelectors(subject)) {
      for (const [key, value] of selector.matchLabels) yield* labelFaults([...path, "matchLabels", { key }], key, value);
      if (subject.runtime === "ack") continue; // IRS-35 refuses the expressions as such
      for (const [i, requirement] of selector.matchExpressions.entries()) {
        yield* requirementFaults([...path, "matchExpressions", i], requirement);
      }
    }
  },
};

function* labelFaults(path: FieldPath, key: string, value: string): Iterable<Fault> {
  if (key === "") yield { path, message: "the label key is empty", dropsSelector: true };
  else yield* fault(path, `${quote(key)} is not a label key`, labelKeyFaults(key));
  yield* fault(path, `${quote(value)} is not a label value`, labelValueFaults(value));
}

function* fault(path: FieldPath, what: string, faults: readonly string[]): Iterable<Fault> {
  if (faults.length > 0) yield { path, message: `${what}: ${faults.join("; ")}` };
}

/** Source: k8s.io/apimachinery v0.35 pkg/labels/selector.go, NewRequirement. */
function* requirementFaults(path: FieldPath, { key, operator, values }: LabelRequirementSpec): Iterable<Fault> {
  yield* fault([...path, "key"], `${quote(key)} is not a label key`, labelKeyFaults(key));
  if (!isOperator(operator)) {
    yield { path: [...path, "operator"], message: `${quote(operator)} is not an operator: expected ${OPERATORS.join(", ")}` };
  } else if ((operator === "In" || operator === "NotIn") && values.length === 0) {
    yield { path: [...path, "values"], message: `${operator} needs at least one value` };
  } else if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0) {
    yield { path: [...path, "values"], message: `${operator} takes no values` };
  }
  for (const [i, value] of values.entries()) {
    yield* fault([...path, "values", i], `${quote(value)} is not a label value`, labelValueFaults(value));
  }
}

export const IRS_35: SelectorCheck = {
  id: "IRS-35",
  severity: "deny",
  waivable: false,
  reason: "Shipped controllers do not know matchExpressions: they drop them and select more than was written.",
  fix: "say the same with matchLabels, or run with --runtime extended if no shipped controller reads this selector",
  example: "spec: {namespaceSelector: {labelSelector: {matchExpressions: [{key: team, operator: Exists}]}}}",
  *find(subject): Iterable<Fault> {
    if (subject.runtime === "extended") return;
    for (const [path, { matchExpressions }] of labelSelectors(subject)) {
      if (matchExpressions.length === 0) continue;
      yield { path: [...path, "matchExpressions"], message: "shipped ACK controllers drop matchExpressions and would select more than is written" };
    }
  },
};
