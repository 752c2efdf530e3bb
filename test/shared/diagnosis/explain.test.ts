import { test } from "tap";
import { queryOf } from "../../../shared/core/ack-resource.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { explain, explainNearest, type SelectorExplanation } from "../../../shared/diagnosis/explain.ts";
import { selectingSelectors } from "../../../shared/ack/selection.ts";
import { bucketObject, inventoryWith, kindObject, namespaceObject, ROLE, selectorObject } from "../objects.ts";
import { testRows } from "../rows.ts";

function explained(
  objects: readonly JsonObject[], bucket: JsonObject = bucketObject(), runtime: "ack" | "extended" = "ack",
): SelectorExplanation[] {
  const inventory = inventoryWith(objects, { runtime, origin: "file" });
  const query = queryOf(bucket, "default");
  const explanations = explain(inventory, query);
  const selecting = selectingSelectors(inventory, query).map(({ name }) => name).toSorted();
  const names = explanations.filter(({ selects }) => selects).map(({ selector }) => selector);
  if (names.join() !== selecting.join()) throw new Error("explain and resolve differ");
  return explanations;
}

type Input = readonly [spec: JsonObject, object?: JsonObject | undefined, runtime?: "extended"];
/** Returns each part of the explanation of the only selector. The other object is a Bucket, or is stored. */
function parts([spec, object, runtime]: Input): string[] {
  const isBucket = object?.["kind"] === "Bucket";
  const stored = object === undefined || isBucket ? [] : [object];
  const [only] = explained(
    [...stored, selectorObject("a", { arn: ROLE, ...spec })], isBucket ? object : undefined, runtime,
  );
  return (only?.parts ?? []).map(({ path, wants, carries, holds }) => (
    `${holds ? "yes" : "no"} ${path}: ${wants} | ${carries}`
  ));
}

test("explains every selector in one sentence, sorted by name", (t) => {
  const at = "spec.namespaceSelector.names";
  const inNamespace = (name: string): JsonObject => (
    selectorObject(name, { arn: ROLE, namespaceSelector: { names: [`team-${name}`] } })
  );
  t.same(explained([
    inNamespace("b"), inNamespace("a"), selectorObject("c", { arn: ROLE }), selectorObject("bad", { arn: "x" }),
  ]), [
    {
      selector: "a", roleARN: ROLE, selects: true, malformed: false,
      parts: [{ path: at, wants: "namespace team-a", carries: "namespace team-a", holds: true }],
      message: "The selector selects the resource: every condition matches.",
    },
    {
      selector: "b", roleARN: ROLE, selects: false, malformed: false,
      parts: [{ path: at, wants: "namespace team-b", carries: "namespace team-a", holds: false }],
      message: `The selector does not select the resource: ${at}: selector requires namespace team-b, `
        + "resource has namespace team-a.",
    },
    {
      selector: "bad", roleARN: null, selects: false, malformed: true, parts: [],
      message: "The selector is malformed, so controllers ignore it: "
        + 'IRS-02 spec.arn: "x" is not an ARN: it does not start with arn:.',
    },
    {
      selector: "c", roleARN: ROLE, selects: true, malformed: false, parts: [],
      message: "The selector has no conditions, so it selects every resource.",
    },
  ]);
  t.end();
});

const named = (...names: readonly string[]): JsonObject => ({ namespaceSelector: { names } });
const ofNamespace = (matchLabels: JsonObject): JsonObject => (
  { namespaceSelector: { labelSelector: { matchLabels } } }
);
const AT = "spec.namespaceSelector.labelSelector.matchLabels";
const NAME = "kubernetes.io/metadata.name";
const gold = ofNamespace({ tier: "gold" });
const silver = bucketObject({ labels: { tier: "silver" } });
const ofResource = { resourceLabelSelector: { matchLabels: { tier: "gold" } } };
const matchExpressions = [
  { key: "tier", operator: "In", values: ["gold", "silver"] }, { key: "tier", operator: "NotIn", values: ["silver"] },
  { key: "tier", operator: "Exists" }, { key: "x", operator: "DoesNotExist" },
];
const EX = "spec.resourceLabelSelector.matchExpressions";

testRows("explains each condition of a selector, and what the resource has", parts, [
  ["one of the names", [named("team-b", "team-a")],
    "yes spec.namespaceSelector.names: namespace team-b or team-a | namespace team-a"],
  ["at most ten names", [named(...Array.from({ length: 12 }, (_, i) => `n${i}`))],
    "no spec.namespaceSelector.names: namespace n0 or n1 or n2 or n3 or n4 or n5 or n6 or n7 or n8 or n9 or 2 others "
      + "| namespace team-a"],
  ["labels of an unknown Namespace", [ofNamespace({ tier: "gold", [NAME]: "team-a" })],
    `no ${AT}[tier]: tier=gold | no label tier (unknown Namespace)`,
    `yes ${AT}[${NAME}]: ${NAME}=team-a | ${NAME}=team-a`],
  ["no label", [gold, namespaceObject("team-a")], `no ${AT}[tier]: tier=gold | no label tier`],
  ["another label", [gold, namespaceObject("team-a", { tier: "silver" })], `no ${AT}[tier]: tier=gold | tier=silver`],
  ["the label", [gold, namespaceObject("team-a", { tier: "gold" })], `yes ${AT}[tier]: tier=gold | tier=gold`],
  ["a resource label", [ofResource, silver],
    "no spec.resourceLabelSelector.matchLabels[tier]: tier=gold | tier=silver"],
  ["a control character", [ofResource, bucketObject({ labels: { tier: "\u001b[2J" } })], / \| tier=\\u001b\[2J$/],
  ["expressions", [{ resourceLabelSelector: { matchExpressions } }, silver, "extended"],
    `yes ${EX}[0]: tier in (gold, silver) | tier=silver`, `no ${EX}[1]: tier notin (silver) | tier=silver`,
    `yes ${EX}[2]: tier | tier=silver`, `yes ${EX}[3]: !x | no label x`],
]);

const group = "s3.services.k8s.aws";
const stored = kindObject("Bucket", group, [{ name: "v2", served: true, storage: true }]);
const type = (holds: "yes" | "no", wants: string, version = "v1alpha1"): string =>
  `${holds} spec.resourceTypeSelector: ${wants} | Bucket.${version}.${group}`;
testRows("explains type entries that omit fields, and compares the storage version",
  ([entries, object]: [JsonObject[], JsonObject?]) => parts([{ resourceTypeSelector: entries }, object]), [
    ["every field", [[{ group, version: "v1alpha1", kind: "Bucket" }]], type("yes", `Bucket.v1alpha1.${group}`)],
    ["a kind", [[{ kind: "Bucket" }]], type("yes", "Bucket of any group")],
    ["a version", [[{ version: "v1" }]], type("no", "any kind of version v1")],
    ["two groups", [[{ group: "sqs.services.k8s.aws" }, { group }]],
      type("yes", `any kind of sqs.services.k8s.aws or any kind of ${group}`)],
    ["a group and a version", [[{ version: "v1", group }]], type("no", `any kind of v1.${group}`)],
    ["the storage version", [[{ version: "v2" }], stored], type("yes", "any kind of version v2", "v2")],
  ]);

test("the nearest selectors fail by the fewest criteria, then by the fewest conditions", (t) => {
  const there = { namespaceSelector: { names: ["team-b"] } };
  const ofType = { resourceTypeSelector: [{ group }] };
  const isGold = { resourceLabelSelector: { matchLabels: { tier: "gold" } } };
  const ranked = [
    ["selects", ofType],
    ["malformed", { arn: "x" }],
    ["one-of-three", { ...there, ...ofType, resourceLabelSelector: { matchLabels: { tier: "silver" } } }],
    ["one-of-two", { ...there, ...ofType }],
    ["one-condition", there],
    ["two-conditions", { resourceLabelSelector: { matchLabels: { tier: "gold", size: "xl" } } }],
    ["malformed-elsewhere", { arn: "x", ...there }],
    ["two-criteria", { ...there, ...isGold }],
  ] as const;
  const nearestOf = (specs: readonly (typeof ranked)[number][]): object => {
    const objects = specs.map(([name, spec]) => selectorObject(name, { arn: ROLE, ...spec })).toReversed();
    const inventory = inventoryWith(objects, { runtime: "ack", origin: "file" });
    const { nearest, omitted } = explainNearest(inventory, queryOf(silver, "default"));
    return [...nearest.map(({ selector }) => selector), omitted];
  };
  t.same(nearestOf(ranked), ["selects", "malformed", "one-of-three", "one-of-two", 4]);
  t.same(nearestOf(ranked.slice(4)), ["one-condition", "two-conditions", "malformed-elsewhere", 1]);
  t.same(nearestOf(ranked.slice(6)), ["malformed-elsewhere", "two-criteria", 0]);
  t.end();
});

test("the selector that the annotation use-selector names is explained, however far it is", (t) => {
  const objects = ["a", "b", "c", "d"].map((name) => selectorObject(name, { arn: ROLE, ...named("team-b") }));
  const chosen = selectorObject("e", { arn: ROLE, ...named("team-b"), ...ofResource });
  const inventory = inventoryWith([...objects, chosen], { runtime: "extended", origin: "file" });
  const bucket = bucketObject({ annotations: { "ack-role-resolver.io/use-selector": "e" } });
  const { nearest, omitted } = explainNearest(inventory, queryOf(bucket, "default"));
  t.same([...nearest.map(({ selector }) => selector), omitted], ["e", "a", "b", "c", 1]);
  t.end();
});
