import { test } from "tap";
import { ROLE } from "../../objects.ts";
import { specLines } from "../findings.ts";

const FIX = "Use the Kubernetes label syntax: [prefix/]name: value.";
const FORM = "letters, digits, '-', '_' and '.', and start and end with a letter or digit";
const ofResource = (matchLabels: object): object => ({ arn: ROLE, resourceLabelSelector: { matchLabels } });
const ofNamespace = (labelSelector: object): object => ({ arn: ROLE, namespaceSelector: { labelSelector } });

test("IRS-11: denies malformed label keys and values in the namespace and resource label selectors", (t) => {
  t.same(specLines("IRS-11", { ...ofResource({ "": "x" }), ...ofNamespace({ matchLabels: { "": "y" } }) }), [
    `IRS-11 spec.namespaceSelector.labelSelector.matchLabels[]: the label key is empty. ${FIX}`,
    `IRS-11 spec.resourceLabelSelector.matchLabels[]: the label key is empty. ${FIX}`,
  ]);
  t.same(specLines("IRS-11", ofResource({ "a/b/c": "very gold" })), [
    `IRS-11 spec.resourceLabelSelector.matchLabels[a/b/c]: "a/b/c" is not a valid label key: a label key must have `
      + `at most one '/', between prefix and name. ${FIX}`,
    `IRS-11 spec.resourceLabelSelector.matchLabels[a/b/c]: "very gold" is not a valid label value: a label value `
      + `must be empty or consist of ${FORM}. ${FIX}`,
  ]);
  t.same(specLines("IRS-11", ofResource(JSON.parse('{"__proto__": "x"}'))), [
    `IRS-11 spec.resourceLabelSelector.matchLabels[__proto__]: "__proto__" is not a valid label key: the name part `
      + `of a label key must consist of ${FORM}. ${FIX}`,
  ]);
  t.same(
    specLines(
      "IRS-11",
      ofResource({
        tier: "",
        "example.com/tier": "a",
        constructor: "b",
        [`${"a".repeat(253)}/${"b".repeat(63)}`]: "c".repeat(63),
      }),
    ),
    [],
  );
  t.end();
});

test("IRS-11 with --runtime extended: denies malformed expressions and reports each of their faults", (t) => {
  const path = "spec.namespaceSelector.labelSelector.matchExpressions";
  const linesOf = (matchExpressions: unknown): string[] =>
    specLines("IRS-11", ofNamespace({ matchExpressions }), { runtime: "extended" });
  t.same(linesOf([{ key: "a", operator: "in", values: ["x"] }]), [
    `IRS-11 ${path}[0].operator: "in" is not a valid operator: expected one of In, NotIn, Exists, DoesNotExist. ${FIX}`,
  ]);
  t.same(linesOf([{ key: "a", operator: "constructor" }]), [
    `IRS-11 ${path}[0].operator: "constructor" is not a valid operator: expected one of In, NotIn, Exists, `
      + `DoesNotExist. ${FIX}`,
  ]);
  t.same(linesOf([{ key: "a", operator: "In" }]), [
    `IRS-11 ${path}[0].values: operator In requires at least one value. ${FIX}`,
  ]);
  t.same(linesOf([{ key: "a", operator: "NotIn", values: [] }]), [
    `IRS-11 ${path}[0].values: operator NotIn requires at least one value. ${FIX}`,
  ]);
  t.same(linesOf([{ key: "a", operator: "Exists", values: ["x"] }]), [
    `IRS-11 ${path}[0].values: operator Exists allows no values. ${FIX}`,
  ]);
  t.same(linesOf([{ key: "a", operator: "DoesNotExist", values: ["x"] }]), [
    `IRS-11 ${path}[0].values: operator DoesNotExist allows no values. ${FIX}`,
  ]);
  t.same(linesOf([{ operator: "Exists" }, { key: "a", operator: "In", values: ["ok", "-"] }]), [
    `IRS-11 ${path}[0].key: "" is not a valid label key: the name part of a label key must not be empty. ${FIX}`,
    `IRS-11 ${path}[1].values[1]: "-" is not a valid label value: a label value must be empty or consist of ${FORM}. `
      + FIX,
  ]);
  t.same(
    linesOf([
      { key: "a", operator: "In", values: ["", "x"] },
      { key: "b/c", operator: "Exists", values: [] },
      { key: "a", operator: "DoesNotExist" },
    ]),
    [],
  );
  t.end();
});

test("IRS-35 with --runtime ack: reports only one fault for each label selector that has expressions", (t) => {
  const message = "shipped ACK controllers drop matchExpressions and would select more than intended";
  const fix = "Use matchLabels instead, or set --runtime extended if no shipped controller reads this selector.";
  const spec = {
    ...ofNamespace({ matchExpressions: [{ key: "", operator: "?" }, {}] }),
    resourceLabelSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] },
  };
  t.same(specLines("IRS-35", spec), [
    `IRS-35 spec.namespaceSelector.labelSelector.matchExpressions: ${message}. ${fix}`,
    `IRS-35 spec.resourceLabelSelector.matchExpressions: ${message}. ${fix}`,
  ]);
  t.same(specLines("IRS-11", spec), []);
  t.same(specLines("IRS-35", spec, { runtime: "extended" }), []);
  for (const matchExpressions of [[], null, undefined])
    t.same(specLines("IRS-35", ofNamespace({ matchLabels: { a: "b" }, matchExpressions })), []);
  t.end();
});
