import { test } from "tap";
import { Inventory } from "../../../../shared/inventory/inventory.ts";
import { queryOf } from "../../../../shared/contract/ack-resource.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import { explain, type SelectorExplanation } from "../../../../shared/resolution/explain.ts";
import { selectingSelectors } from "../../../../shared/resolution/selection.ts";
import { bucketObject, kindObject, namespaceObject, put, ROLE, selectorObject } from "../objects.ts";

function explained(
  objects: readonly JsonObject[],
  bucket: JsonObject = bucketObject(),
  runtime: "ack" | "extended" = "ack",
): SelectorExplanation[] {
  const inventory = new Inventory({ runtime, origin: "file" });
  inventory.apply(objects.map(put));
  const query = queryOf(bucket, "default");
  const explanations = explain(inventory, query);
  const selecting = selectingSelectors(inventory, query)
    .map(({ name }) => name)
    .toSorted();
  if (
    explanations
      .filter(({ selects }) => selects)
      .map(({ selector }) => selector)
      .join() !== selecting.join()
  )
    throw new Error("explain and resolve differ");
  return explanations;
}

/** Returns the explanation of the only selector, with each part as a line. */
function parts(
  spec: JsonObject,
  ...rest: [objects?: readonly JsonObject[], bucket?: JsonObject, runtime?: "extended"]
): string[] {
  const [objects = [], bucket, runtime] = rest;
  const [only] = explained([...objects, selectorObject("a", { arn: ROLE, ...spec })], bucket, runtime);
  return (only?.parts ?? []).map(
    ({ path, wants, carries, holds }) => `${holds ? "yes" : "no"} ${path}: ${wants} | ${carries}`,
  );
}

test("explains every selector in one sentence, sorted by name", (t) => {
  const at = "spec.namespaceSelector.names";
  const inNamespace = (name: string): JsonObject => (
    selectorObject(name, { arn: ROLE, namespaceSelector: { names: [`team-${name}`] } })
  );
  const explanations = explained([
    inNamespace("b"), inNamespace("a"), selectorObject("c", { arn: ROLE }), selectorObject("bad", { arn: "x" }),
  ]);
  t.same(explanations, [
    {
      selector: "a", selects: true, malformed: false,
      parts: [{ path: at, wants: "namespace team-a", carries: "namespace team-a", holds: true }],
      message: "The selector selects the resource: every condition matches.",
    },
    {
      selector: "b", selects: false, malformed: false,
      parts: [{ path: at, wants: "namespace team-b", carries: "namespace team-a", holds: false }],
      message: `The selector does not select the resource: ${at}: selector requires namespace team-b, `
        + "resource has namespace team-a.",
    },
    {
      selector: "bad", selects: false, malformed: true, parts: [],
      message: "The selector is malformed, so controllers ignore it: "
        + 'IRS-02 spec.arn: "x" is not an ARN: it does not start with arn:.',
    },
    {
      selector: "c", selects: true, malformed: false, parts: [],
      message: "The selector has no conditions, so it selects every resource.",
    },
  ]);
  t.end();
});

test("explains that one of the namespace names must match, and lists at most ten names", (t) => {
  t.same(parts({ namespaceSelector: { names: ["team-b", "team-a"] } }), [
    "yes spec.namespaceSelector.names: namespace team-b or team-a | namespace team-a",
  ]);
  const names = Array.from({ length: 12 }, (_, i) => `n${i}`);
  t.same(parts({ namespaceSelector: { names } }), [
    "no spec.namespaceSelector.names: namespace n0 or n1 or n2 or n3 or n4 or n5 or n6 or n7 or n8 or n9 or 2 others "
      + "| namespace team-a",
  ]);
  t.end();
});

test("explains each namespace label, and reports an unknown Namespace", (t) => {
  const spec = {
    namespaceSelector: { labelSelector: { matchLabels: { tier: "gold", "kubernetes.io/metadata.name": "team-a" } } },
  };
  const at = "spec.namespaceSelector.labelSelector.matchLabels";
  t.same(parts(spec), [
    `no ${at}[tier]: tier=gold | no label tier (unknown Namespace)`,
    `yes ${at}[kubernetes.io/metadata.name]: kubernetes.io/metadata.name=team-a | kubernetes.io/metadata.name=team-a`,
  ]);
  t.match(parts(spec, [namespaceObject("team-a")])[0], /no label tier$/);
  t.match(parts(spec, [namespaceObject("team-a", { tier: "silver" })])[0], /^no .*tier=gold \| tier=silver$/);
  t.match(parts(spec, [namespaceObject("team-a", { tier: "gold" })])[0], /^yes .*tier=gold \| tier=gold$/);
  t.end();
});

test("explains type entries that omit fields, and compares the storage version", (t) => {
  const explainedType = (entry: JsonObject, ...rest: JsonObject[]): string | undefined =>
    parts({ resourceTypeSelector: [entry, ...rest] })[0];
  const type = "Bucket.v1alpha1.s3.services.k8s.aws";
  t.equal(
    explainedType({ group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket" }),
    `yes spec.resourceTypeSelector: ${type} | ${type}`,
  );
  t.equal(explainedType({ kind: "Bucket" }), `yes spec.resourceTypeSelector: Bucket of any group | ${type}`);
  t.equal(explainedType({ version: "v1" }), `no spec.resourceTypeSelector: any kind of version v1 | ${type}`);
  t.equal(
    explainedType({ group: "sqs.services.k8s.aws" }, { group: "s3.services.k8s.aws" }),
    `yes spec.resourceTypeSelector: any kind of sqs.services.k8s.aws or any kind of s3.services.k8s.aws | ${type}`,
  );
  t.equal(
    explainedType({ version: "v1", group: "s3.services.k8s.aws" }),
    `no spec.resourceTypeSelector: any kind of v1.s3.services.k8s.aws | ${type}`,
  );
  const crd = kindObject("Bucket", "s3.services.k8s.aws", [{ name: "v2", served: true, storage: true }]);
  t.match(parts({ resourceTypeSelector: [{ version: "v2" }] }, [crd]), [
    /^yes .* \| Bucket\.v2\.s3\.services\.k8s\.aws$/,
  ]);
  t.end();
});

test("explains resource labels, and explains expressions with --runtime extended", (t) => {
  t.same(
    parts(
      { resourceLabelSelector: { matchLabels: { tier: "gold" } } },
      [],
      bucketObject({ labels: { tier: "silver" } }),
    ),
    ["no spec.resourceLabelSelector.matchLabels[tier]: tier=gold | tier=silver"],
  );
  const matchExpressions = [
    { key: "tier", operator: "In", values: ["gold", "silver"] },
    { key: "tier", operator: "NotIn", values: ["gold"] },
    { key: "tier", operator: "Exists" },
    { key: "x", operator: "DoesNotExist" },
  ];
  const at = "spec.resourceLabelSelector.matchExpressions";
  t.same(
    parts({ resourceLabelSelector: { matchExpressions } }, [], bucketObject({ labels: { tier: "gold" } }), "extended"),
    [
      `yes ${at}[0]: tier in (gold, silver) | tier=gold`,
      `no ${at}[1]: tier notin (gold) | tier=gold`,
      `yes ${at}[2]: tier | tier=gold`,
      `yes ${at}[3]: !x | no label x`,
    ],
  );
  t.end();
});

test("escapes control characters in labels", (t) => {
  t.match(
    parts(
      { resourceLabelSelector: { matchLabels: { tier: "gold" } } },
      [],
      bucketObject({ labels: { tier: "\u001b[2J" } }),
    ),
    [/ \| tier=\\u001b\[2J$/],
  );
  t.end();
});
