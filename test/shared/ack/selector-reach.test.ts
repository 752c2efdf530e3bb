import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { clusterObject, controllerIdentity } from "../capa-objects.ts";
import { bucketObject, namespaceObject, ROLE } from "../objects.ts";
import { changeLines, linesOf, needsOf } from "../core/findings.ts";
import { testRows } from "../rows.ts";

const KNOWN = [namespaceObject("team-a", { env: "prod" }), namespaceObject("team-b")];
const missing = (index: number, name: string): string => `warn IRS-10 spec.namespaceSelector.names[${index}]: `
  + `namespace `
  + `"${name}" does not exist. Correct the name, or create the namespace.`;

testRows("IRS-10: warns about each listed namespace that does not exist", (names: unknown) =>
  changeLines("IRS-10", { arn: ROLE, namespaceSelector: { names } }, { known: KNOWN }), [
  ["two do not exist", ["team-a", "team-c", "team-d"], missing(1, "team-c"), missing(2, "team-d")],
  ["all exist", ["team-a", "team-b"]],
  ["IRS-08 and IRS-09 report invalid names", ["Team-*", ""]],
  ["no names", undefined],
]);

testRows("IRS-10: in manifests that may lack namespaces, warns about names that are similar to one", (name: string) =>
  changeLines("IRS-10", { arn: ROLE, namespaceSelector: { names: [name] } }, {
    origin: "file", known: ["payments", "team-a", "app-1"].map((one) => namespaceObject(one)),
  }), [
  ["swapped letters", "paymnets", 'warn IRS-10 spec.namespaceSelector.names[0]: namespace "paymnets" is not in the '
    + 'input; perhaps payments was meant. Write "payments".'],
  ["a plural", "payment", /perhaps payments was meant/],
  ["a missing hyphen", "teama", /perhaps team-a was meant/],
  ...["payments", "team-b", "team", "app-10", "app-2", "pay", "Payments"].map((name) => [name, name] as const),
]);

testRows("IRS-10: in manifests, warns about a label that is similar to that of a namespace", ([key, value]: string[]) =>
  changeLines("IRS-10", { arn: ROLE, namespaceSelector: { labelSelector: { matchLabels: { [`${key}`]: value } } } }, {
    origin: "file", known: [namespaceObject("pay-1", { team: "checkout" }), namespaceObject("b", { team: "money" })],
  }), [
  ["a missing letter", ["team", "chekout"], "warn IRS-10 spec.namespaceSelector.labelSelector.matchLabels[team]: no "
    + 'namespace of the input has the label team: "chekout"; perhaps checkout was meant. Write "checkout".'],
  ["the name label", ["kubernetes.io/metadata.name", "pya-1"], /perhaps pay-1 was meant/],
  ["a label of a namespace", ["team", "money"]],
  ["another value", ["team", "search"]],
  ["a misspelled key", ["taem", "checkout"],
    /the label taem: "checkout"; perhaps team was meant\. Write \[team\]\.$/],
  ["a misspelled key and another value", ["taem", "search"], /perhaps team was meant\. Correct the name, or create/],
  ["another key", ["tier", "chekout"]],
]);

const inNamespace = (namespace: string, isCluster: boolean): JsonObject => (
  isCluster ? clusterObject("c", "controller", namespace) : bucketObject({ namespace })
);
testRows("IRS-10: in manifests, warns about the misspelled namespace of an object", (namespace: string) => (
  [false, true].flatMap((isCluster) => linesOf("IRS-10", inNamespace(namespace, isCluster), {
    origin: "file", known: [namespaceObject("payments"), controllerIdentity()],
  }))
), [
  ["swapped letters", "paymnets", ...Array.from({ length: 2 }, () => 'warn IRS-10 metadata.namespace: namespace '
    + '"paymnets" is not in the input; perhaps payments was meant. Write "payments".')],
  ["a namespace of the input", "payments"],
  ["another namespace", "search"],
]);

test("IRS-10 judges no namespace of an object in a cluster", (t) => {
  t.same(linesOf("IRS-10", inNamespace("paymnets", false), { known: [namespaceObject("payments")] }), []);
  t.end();
});

test("IRS-10 and IRS-22 require every namespace", (t) => {
  const complete = { origin: "file", settings: { isInputComplete: true } } as const;
  for (const id of ["IRS-10", "IRS-22"])
    t.equal(needsOf(id, { arn: ROLE }, { origin: "file", known: KNOWN }), "--complete or --cluster");
  t.equal(needsOf("IRS-10", { arn: ROLE }, complete), "namespaces");
  t.equal(needsOf("IRS-10", { arn: ROLE }, { ...complete, known: KNOWN }), null);
  t.end();
});

const NOTHING = "warn IRS-22 spec: the selector selects no existing namespace and no existing resource. "
  + "Compare it with kubectl get namespaces --show-labels; ignore the warning if a namespace is created later.";
const names = (...list: readonly string[]): JsonObject => ({ namespaceSelector: { names: list } });
const labelled = (labelSelector: JsonObject): JsonObject => ({ namespaceSelector: { labelSelector } });
const exists = labelled({ matchExpressions: [{ key: "env", operator: "Exists" }] });
const isTest = labelled({ matchExpressions: [{ key: "env", operator: "In", values: ["test"] }] });
const BUCKETS = { resourceTypeSelector: [{ kind: "Bucket" }] };

testRows("IRS-22: warns about a selector that selects no namespace and no resource",
  ([rest, known = KNOWN]: [JsonObject, JsonObject[]?]) =>
    changeLines("IRS-22", { arn: ROLE, ...rest }, { known, settings: { runtime: "extended" } }), [
    ["a name", [names("team-c")], NOTHING],
    ["a label", [labelled({ matchLabels: { env: "test" } })], NOTHING],
    ["a namespace without the label",
      [{ namespaceSelector: { names: ["team-b"], labelSelector: { matchLabels: { env: "prod" } } } }], NOTHING],
    ["an expression", [isTest], NOTHING],
    ["an empty cluster", [BUCKETS, []], NOTHING],
    ["pauses during the scan of many namespaces",
      [exists, Array.from({ length: 2_500 }, (_, i) => namespaceObject(`n${i}`))], NOTHING],
    ["one name exists", [names("team-c", "team-b")]],
    ["a namespace has the label", [labelled({ matchLabels: { env: "prod" } })]],
    ["a namespace matches the expression", [exists]],
    ["the selector selects every namespace", [BUCKETS]],
    ["a resource in an unknown namespace", [names("team-c"), [bucketObject({ namespace: "team-c" })]]],
    ["a malformed selector", [{ arn: "not-an-arn", ...names("team-c") }]],
  ]);
