import { test } from "tap";
import { ROLE } from "../../objects.ts";
import { specLines } from "../findings.ts";

const FIX = "Write labels as Kubernetes takes them: [prefix/]name: value.";
const FORM = "letters, digits, '-', '_' and '.', starting and ending with a letter or digit";
const ofResource = (matchLabels: object): object => ({ arn: ROLE, resourceLabelSelector: { matchLabels } });
const ofNamespace = (labelSelector: object): object => ({ arn: ROLE, namespaceSelector: { labelSelector } });

test("IRS-11: keys and values that Kubernetes refuses are caught in both selectors", (t) => {
  t.same(specLines("IRS-11", { ...ofResource({ "": "x" }), ...ofNamespace({ matchLabels: { "": "y" } }) }), [
    `IRS-11 spec.namespaceSelector.labelSelector.matchLabels[]: the label key is empty. ${FIX}`,
    `IRS-11 spec.resourceLabelSelector.matchLabels[]: the label key is empty. ${FIX}`,
  ]);
  t.same(specLines("IRS-11", ofResource({ "a/b/c": "very gold" })), [
    `IRS-11 spec.resourceLabelSelector.matchLabels[a/b/c]: "a/b/c" is not a label key: a label key has at most one '/', between prefix and name. ${FIX}`,
    `IRS-11 spec.resourceLabelSelector.matchLabels[a/b/c]: "very gold" is not a label value: a label value is empty or consists of ${FORM}. ${FIX}`,
  ]);
  t.same(specLines("IRS-11", ofResource(JSON.parse('{"__proto__": "x"}'))), [
    `IRS-11 spec.resourceLabelSelector.matchLabels[__proto__]: "__proto__" is not a label key: the name part of a label key consists of ${FORM}. ${FIX}`,
  ]);
  t.same(specLines("IRS-11", ofResource({ tier: "", "example.com/tier": "a", constructor: "b", [`${"a".repeat(253)}/${"b".repeat(63)}`]: "c".repeat(63) })), []);
  t.end();
});

test("IRS-11 under extended: an expression that Kubernetes refuses is caught, with each of its faults", (t) => {
  const path = "spec.namespaceSelector.labelSelector.matchExpressions";
  const found = (matchExpressions: unknown): string[] => specLines("IRS-11", ofNamespace({ matchExpressions }), { runtime: "extended" });
  t.same(found([{ key: "a", operator: "in", values: ["x"] }]), [`IRS-11 ${path}[0].operator: "in" is not an operator: expected In, NotIn, Exists, DoesNotExist. ${FIX}`]);
  t.same(found([{ key: "a", operator: "constructor" }]), [`IRS-11 ${path}[0].operator: "constructor" is not an operator: expected In, NotIn, Exists, DoesNotExist. ${FIX}`]);
  t.same(found([{ key: "a", operator: "In" }]), [`IRS-11 ${path}[0].values: In needs at least one value. ${FIX}`]);
  t.same(found([{ key: "a", operator: "NotIn", values: [] }]), [`IRS-11 ${path}[0].values: NotIn needs at least one value. ${FIX}`]);
  t.same(found([{ key: "a", operator: "Exists", values: ["x"] }]), [`IRS-11 ${path}[0].values: Exists takes no values. ${FIX}`]);
  t.same(found([{ key: "a", operator: "DoesNotExist", values: ["x"] }]), [`IRS-11 ${path}[0].values: DoesNotExist takes no values. ${FIX}`]);
  t.same(found([{ operator: "Exists" }, { key: "a", operator: "In", values: ["ok", "-"] }]), [
    `IRS-11 ${path}[0].key: "" is not a label key: the name part of a label key is not empty. ${FIX}`,
    `IRS-11 ${path}[1].values[1]: "-" is not a label value: a label value is empty or consists of ${FORM}. ${FIX}`,
  ]);
  t.same(found([{ key: "a", operator: "In", values: ["", "x"] }, { key: "b/c", operator: "Exists", values: [] }, { key: "a", operator: "DoesNotExist" }]), []);
  t.end();
});

test("IRS-35: under ack expressions are refused as such, once a selector, and not judged further", (t) => {
  const message = "shipped ACK controllers drop matchExpressions and would select more than is written";
  const fix = "Say the same with matchLabels, or run with --runtime extended if no shipped controller reads this selector.";
  const spec = { ...ofNamespace({ matchExpressions: [{ key: "", operator: "?" }, {}] }), resourceLabelSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] } };
  t.same(specLines("IRS-35", spec), [
    `IRS-35 spec.namespaceSelector.labelSelector.matchExpressions: ${message}. ${fix}`,
    `IRS-35 spec.resourceLabelSelector.matchExpressions: ${message}. ${fix}`,
  ]);
  t.same(specLines("IRS-11", spec), []);
  t.same(specLines("IRS-35", spec, { runtime: "extended" }), []);
  for (const matchExpressions of [[], null, undefined]) t.same(specLines("IRS-35", ofNamespace({ matchLabels: { a: "b" }, matchExpressions })), []);
  t.end();
});
