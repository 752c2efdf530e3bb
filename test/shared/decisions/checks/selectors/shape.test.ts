import { test } from "tap";
import { runChecks } from "../../../../../shared/decisions/checks/run.ts";
import type { JsonObject } from "../../../../../shared/decisions/kubernetes/json.ts";
import { ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../../objects.ts";
import { lines, specLines } from "../findings.ts";

const FIX = "Write the field as the schema has it (kubectl explain iamroleselector.spec).";
const shape = (path: string, message: string): string => `IRS-00 ${path}: ${message}. ${FIX}`;

test("IRS-00: a value of another type is caught with its path, what was expected and what is there", (t) => {
  const rows: readonly (readonly [spec: unknown, path: string, message: string])[] = [
    [[], "spec", "expected an object, not a list"],
    ["x", "spec", 'expected an object, not the string "x"'],
    [{ arn: 5 }, "spec.arn", "expected a string, not the number 5"],
    [{ arn: true }, "spec.arn", "expected a string, not the boolean true"],
    [{ namespaceSelector: { names: "team-a" } }, "spec.namespaceSelector.names", 'expected a list, not the string "team-a"'],
    [{ namespaceSelector: { names: ["a", null] } }, "spec.namespaceSelector.names[1]", "expected a string, not null"],
    [{ resourceTypeSelector: {} }, "spec.resourceTypeSelector", "expected a list, not an object"],
    [{ resourceTypeSelector: [null] }, "spec.resourceTypeSelector[0]", "expected an object, not null"],
    [{ resourceLabelSelector: { matchLabels: { "a/b~c": 1 } } }, "spec.resourceLabelSelector.matchLabels[a/b~c]", "expected a string, not the number 1"],
    [{ namespaceSelector: { labelSelector: { matchExpressions: [{ key: "a", values: [[]] }] } } }, "spec.namespaceSelector.labelSelector.matchExpressions[0].values[0]", "expected a string, not a list"],
  ];
  for (const [spec, path, message] of rows) t.same(specLines("IRS-00", spec), [shape(path, message)]);
  t.same(specLines("IRS-00", { arn: null, namespaceSelector: { names: null, labelSelector: null }, resourceTypeSelector: null, resourceLabelSelector: { matchLabels: null } }), []);
  t.end();
});

test("IRS-00: an unknown field is caught, with the one that was meant where that can be guessed", (t) => {
  t.same(specLines("IRS-00", { arm: ROLE }), [shape("spec.arm", 'unknown field "arm"; perhaps arn was meant')]);
  t.same(specLines("IRS-00", { namespaceSelector: { name: ["a"] } }), [shape("spec.namespaceSelector.name", 'unknown field "name"; perhaps names was meant')]);
  t.same(specLines("IRS-00", { arn: ROLE, "\u001b[31m": 1 }), [
    shape("spec.\\u001b[31m", 'unknown field "\\u001b[31m"; expected one of arn, namespaceSelector, resourceTypeSelector, resourceLabelSelector'),
  ]);
  t.same(specLines("IRS-00", JSON.parse(`{"arn": "${ROLE}", "__proto__": {"arn": 1}, "constructor": 1}`)), [
    shape("spec.__proto__", 'unknown field "__proto__"; expected one of arn, namespaceSelector, resourceTypeSelector, resourceLabelSelector'),
    shape("spec.constructor", 'unknown field "constructor"; expected one of arn, namespaceSelector, resourceTypeSelector, resourceLabelSelector'),
  ]);
  t.same(lines("IRS-00", { ...selectorObject("a", {}), spek: {} }), [shape("spek", 'unknown field "spek"; perhaps spec was meant')]);
  t.same(lines("IRS-00", { ...selectorObject("a", {}), status: { anything: [1] } }), [shape("status.anything", 'unknown field "anything"; no field is expected here')]);
  t.same(lines("IRS-00", { ...selectorObject("a", {}), status: {} }), []);
  t.end();
});

test("IRS-00: metadata is held to what the API server takes", (t) => {
  t.same(lines("IRS-00", selectorObject("a", {}, { labels: { team: 1 }, annotations: { note: true } })), [
    shape("metadata.annotations[note]", "expected a string, not the boolean true"),
    shape("metadata.labels[team]", "expected a string, not the number 1"),
  ]);
  t.same(lines("IRS-00", selectorObject("a", {}, { label: {} })), [shape("metadata.label", 'unknown field "label"; perhaps labels was meant')]);
  t.same(lines("IRS-00", selectorObject("a", {}, { uid: "u", managedFields: [{}], generation: 3, labels: null, annotations: { labels: "x" } })), []);
  t.end();
});

test("IRS-00: a name that is missing or that no object can have is caught", (t) => {
  const form = "a DNS name consists of lower-case letters, digits, '-' and '.', each part starting and ending with a letter or digit";
  const missing = ["IRS-00 metadata.name: the name is missing. Give the selector a name."];
  const { metadata: _dropped, ...nameless } = selectorObject("a", {});
  t.same(lines("IRS-00", nameless), missing);
  t.same(lines("IRS-00", { ...nameless, metadata: { name: null } }), missing);
  t.same(lines("IRS-00", { ...nameless, metadata: { generateName: "a-" } }), []);
  t.same(lines("IRS-00", selectorObject("SkyDevTeamConfig", {})), [`IRS-00 metadata.name: "SkyDevTeamConfig" is not an object's name: ${form}. Rename the selector.`]);
  t.same(lines("IRS-00", selectorObject("a".repeat(254), {})), [
    `IRS-00 metadata.name: "${"a".repeat(200)}"… (254 characters) is not an object's name: a DNS name has at most 253 characters. Rename the selector.`,
  ]);
  for (const name of ["a".repeat(253), "a.b-c.0"]) t.same(lines("IRS-00", selectorObject(name, {})), []);
  t.end();
});

test("below a value of another type nothing else is said, beside it everything is", (t) => {
  const codes = (spec: unknown): string[] => runChecks({ object: selectorObject("a", spec), old: null, requester: null, origin: "file" }, SETTINGS_BY_DEFAULT).findings.map(({ code }) => code);
  t.same(codes("x"), ["IRS-00"]);
  t.same(codes({ arn: 5, namespaceSelector: { names: ["A"] } }), ["IRS-00", "IRS-09"]);
  t.same(codes({ arn: "", namespaceSelector: { names: [1, "a", "a"] } }), ["IRS-00", "IRS-01", "IRS-08"]);
  t.end();
});

test("IRS-00: the selector's own labels and annotations are judged as the API server judges them", (t) => {
  const withMetadata = (metadata: JsonObject): JsonObject => ({ ...selectorObject("a", {}), metadata: { name: "a", ...metadata } });
  const fix = "Write it as Kubernetes takes it: [prefix/]name: value.";
  t.same(lines("IRS-00", withMetadata({ labels: { team: "a b" } })), [
    `IRS-00 metadata.labels[team]: not a label: a label value is empty or consists of letters, digits, '-', '_' and '.', starting and ending with a letter or digit. ${fix}`,
  ]);
  t.same(lines("IRS-00", withMetadata({ annotations: { "a/b/c": "x" } })), [
    `IRS-00 metadata.annotations[a/b/c]: not an annotation's key: a label key has at most one '/', between prefix and name. ${fix}`,
  ]);
  t.same(lines("IRS-00", withMetadata({ labels: { team: null, "example.com/x": "y" }, annotations: { "Example.com/Any": "any text, even this" } })), []);
  t.same(lines("IRS-00", withMetadata({ finalizers: "x", ownerReferences: [1] })), [
    shape("metadata.finalizers", 'expected a list, not the string "x"'), shape("metadata.ownerReferences[0]", "expected an object, not the number 1"),
  ]);
  t.same(lines("IRS-00", withMetadata({ finalizers: ["x"], ownerReferences: null })), []);
  t.end();
});
