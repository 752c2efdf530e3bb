import { test } from "tap";
import { NamespaceStore } from "../../../shared/core/namespaces.ts";
import { RESOURCES } from "../../../shared/ack/resources.ts";
import { runChecks } from "../../../shared/judges.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { clusterObject, controllerIdentity } from "../capa-objects.ts";
import {
  bucketObject, inventoryWith, namespaceObject, ROLE, selectorObject, SETTINGS_BY_DEFAULT,
} from "../objects.ts";
import { changeLines, type Circumstances, linesOf, needsOf } from "../core/findings.ts";
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

test("IRS-10 searches a similar name for the first 20 unknown names of a selector", (t) => {
  const known = [namespaceObject("payments-19"), namespaceObject("payments-20")];
  const change = { arn: ROLE, namespaceSelector: { names: Array.from({ length: 500 }, (_, i) => `paymnets-${i}`) } };
  const inManifests = changeLines("IRS-10", change, { origin: "file", known });
  t.equal(inManifests.length, 1);
  t.match(inManifests[0], /Write "payments-19"\.$/);
  const { value: misspelledBy } = Object.getOwnPropertyDescriptors(NamespaceStore.prototype).misspelledBy;
  const calls = t.capture(NamespaceStore.prototype, "misspelledBy", misspelledBy);
  t.ok(changeLines("IRS-10", change, { known }).some((line) => line.endsWith('Write "payments-19".')));
  t.ok(calls().length <= 100, "20 for each check, not 500");
  t.end();
});

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

const ENVIRONMENTS = [
  namespaceObject("one", { env: "prod", team: "a" }), namespaceObject("two", { env: "dev", owner: "x" }),
  namespaceObject("three", { env: "stage" }),
];
const byLabels = (labelSelector: JsonObject): JsonObject => ({ namespaceSelector: { labelSelector } });
const requiring = (key: string, operator: string, ...values: readonly string[]): JsonObject =>
  ({ matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }] });
const EXTENDED = { runtime: "extended" } as const;
const EXPRESSION = "warn IRS-10 spec.namespaceSelector.labelSelector.matchExpressions[0].";

testRows("IRS-10: in manifests, warns about abbreviated labels and about expressions", (labelSelector: JsonObject) =>
  changeLines("IRS-10", { arn: ROLE, ...byLabels(labelSelector) }, {
    origin: "file", known: ENVIRONMENTS, settings: EXTENDED,
  }), [
  ["production", { matchLabels: { env: "production" } }, "warn IRS-10 "
    + 'spec.namespaceSelector.labelSelector.matchLabels[env]: no namespace of the input has the label env: '
    + '"production"; perhaps prod was meant. Write "prod".'],
  ["development", { matchLabels: { env: "development" } }, /perhaps dev was meant\. Write "dev"\.$/],
  ["staging", { matchLabels: { env: "staging" } }, /perhaps stage was meant\. Write "stage"\.$/],
  ["a key", { matchLabels: { environment: "prod" } }, /perhaps env was meant\. Write \[env\]\.$/],
  ["a key that is required too", { matchLabels: { environment: "prod", env: "prod" } },
    /perhaps env was meant\. Correct the name, or create the namespace\.$/],
  ["a value of an expression", requiring("env", "In", "prod", "staging"), `${EXPRESSION}values[1]: no namespace of `
    + 'the input has the label env: "staging"; perhaps stage was meant. Write "stage".'],
  ["both forms are listed", requiring("env", "In", "prod", "production")],
  ["the key of an expression", requiring("onwer", "In", "x", "y"), `${EXPRESSION}key: no namespace of the input has `
    + 'the label onwer; perhaps owner was meant. Write "owner".'],
  ["the key of an expression, and other values", requiring("onwer", "In", "y"),
    /perhaps owner was meant\. Correct the name, or create the namespace\.$/],
  ["a key that has to exist", requiring("onwer", "Exists"), /perhaps owner was meant\. Write "owner"\.$/],
  ["values and keys that exist", { matchLabels: { team: "a" }, ...requiring("env", "In", "dev") }],
  ["a key that exists", requiring("owner", "Exists")],
  ["a value that is excluded", requiring("env", "NotIn", "production")],
  ["another value", { matchLabels: { env: "qa" } }],
]);

const FRONT = bucketObject({ labels: { tier: "frontend" } });
const tier = (value: string): JsonObject => ({ arn: ROLE, resourceLabelSelector: { matchLabels: { tier: value } } });
const RESOURCE_LABEL = 'warn IRS-10 spec.resourceLabelSelector.matchLabels[tier]: no resource has the label tier: "';

testRows("IRS-10: warns about a label that is similar to that of a resource",
  ([spec, circumstances]: readonly [JsonObject, Circumstances]) => changeLines("IRS-10", spec, circumstances), [
    ["in a cluster", [tier("fronted"), { known: [FRONT] }],
      `${RESOURCE_LABEL}fronted"; perhaps frontend was meant. Write "frontend".`],
    ["in manifests", [tier("front"), { known: [FRONT], origin: "file" }],
      /no resource of the input has the label tier: "front"; perhaps frontend was meant\. Write "frontend"\.$/],
    ["a key, and another value",
      [{ arn: ROLE, resourceLabelSelector: { matchLabels: { teir: "x" } } }, { known: [FRONT] }],
      /no resource has the label teir: "x"; perhaps tier was meant\. Correct the label\.$/],
    ["another value", [tier("backend"), { known: [FRONT] }]],
    ["no resource", [tier("fronted"), {}]],
    ["no label selector", [{ arn: ROLE, namespaceSelector: { names: ["default"] } }, {
      known: [FRONT, namespaceObject("default")],
    }]],
  ]);

test("IRS-10 says nothing about labels of resources before all are listed", (t) => {
  const inventory = inventoryWith([FRONT]);
  const input = { object: selectorObject("a", tier("fronted")), old: null, requester: null, inventory };
  const codes = (): string[] => (
    runChecks({ ...input, origin: "cluster" }, SETTINGS_BY_DEFAULT).findings.map(({ code }) => code)
  );
  inventory.apply([{ type: "unlisted", store: RESOURCES, item: "Bucket" }]);
  t.notOk(codes().includes("IRS-10"));
  inventory.apply([{ type: "listed", store: RESOURCES, item: "Bucket" }]);
  t.ok(codes().includes("IRS-10"));
  t.end();
});

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
    ["an abbreviated value", [labelled({ matchLabels: { env: "production" } })],
      NOTHING.replace("resource.", 'resource: no namespace has the label env: "production"; perhaps prod was meant.')],
    ["a misspelled key", [labelled({ matchLabels: { evn: "prod" } })],
      /no existing resource: no namespace has the label evn: "prod"; perhaps env was meant\. Compare it/],
    ["a misspelled key of an expression", [labelled({ matchExpressions: [{ key: "evn", operator: "Exists" }] })],
      /no existing resource: no namespace has the label evn; perhaps env was meant\. Compare it/],
    ["one name exists", [names("team-c", "team-b")]],
    ["a namespace has the label", [labelled({ matchLabels: { env: "prod" } })]],
    ["a namespace matches the expression", [exists]],
    ["the selector selects every namespace", [BUCKETS]],
    ["a resource in an unknown namespace", [names("team-c"), [bucketObject({ namespace: "team-c" })]]],
    ["a malformed selector", [{ arn: "not-an-arn", ...names("team-c") }]],
  ]);
