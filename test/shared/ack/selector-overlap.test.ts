import { strict as assert } from "node:assert";
import * as fc from "fast-check";
import { test } from "tap";
import { judgeSelector } from "../../../shared/ack/judge-selector.ts";
import {
  type EffectiveSelector, selectsNamespace, selectsWithinNamespace,
} from "../../../shared/core/effective-selector.ts";
import { canOverlap } from "../../../shared/ack/selector-overlap.ts";
import { GROUPS, labels, resource, spec } from "../arbitraries.ts";
import { ROLE, selectorObject } from "../objects.ts";
import { parameters } from "../property.ts";
import { testRows } from "../rows.ts";

const judged = (parts: object): EffectiveSelector | null =>
  judgeSelector(selectorObject("a", parts), { origin: "file", runtime: "extended" }).effective;

/** Returns `overlap` if a resource can match both selectors. */
function overlaps(selectors: readonly [object, object]): string[] {
  const [one, other] = selectors.map((parts) => judged({ arn: ROLE, ...parts }));
  if (!one || !other) throw new Error("malformed");
  const both = canOverlap(one, other);
  assert.equal(canOverlap(other, one), both, "overlap is symmetric");
  return both ? ["overlap"] : [];
}

const names = (...listed: readonly string[]): object => ({ namespaceSelector: { names: listed } });
const ofNamespace = (labelSelector: object): object => ({ namespaceSelector: { labelSelector } });
const ofResource = (resourceLabelSelector: object): object => ({ resourceLabelSelector });
const expression = (operator: string, values: readonly string[] = [], key = "env"): object => ({
  matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }],
});
const env = (value: string): object => ({ matchLabels: { env: value } });
const types = (...resourceTypeSelector: readonly object[]): object => ({ resourceTypeSelector });
const many = (prefix: string, count: number): object =>
  types(...Array.from({ length: count }, (_, i) => ({ kind: `${prefix}${i}` })));
const NAME = "kubernetes.io/metadata.name";
const [s3, sqs] = GROUPS;

testRows("reports an overlap if names, labels and types can match both selectors", overlaps, [
  ["other names", [names("a", "b"), names("c")]],
  ["a common name", [names("a", "b"), names("b", "c")], "overlap"],
  ["a selector without names matches every namespace", [names("a"), {}], "overlap"],
  ["the name is also a label", [names("a"), ofNamespace({ matchLabels: { [NAME]: "b" } })]],
  ["the same name as a label", [names("a"), ofNamespace({ matchLabels: { [NAME]: "a" } })], "overlap"],
  ["an expression excludes the name", [names("a"), ofNamespace(expression("NotIn", ["a"], NAME))]],
  ["an expression excludes one name", [names("a", "b"), ofNamespace(expression("NotIn", ["a"], NAME))], "overlap"],
  ["every namespace has the label of its name", [{}, ofNamespace(expression("DoesNotExist", [], NAME))]],
  ["another value of a namespace label", [ofNamespace(env("prod")), ofNamespace(env("dev"))]],
  ["a namespace can have both labels", [ofNamespace(env("prod")), ofNamespace({ matchLabels: { team: "a" } })],
    "overlap"],
  ["labels of a namespace and of a resource", [ofNamespace(env("prod")), ofResource(env("dev"))], "overlap"],
  ["another value of a resource label", [ofResource(env("prod")), ofResource(env("dev"))]],
  ["In with the value", [ofResource(env("prod")), ofResource(expression("In", ["dev", "prod"]))], "overlap"],
  ["In without the value", [ofResource(env("prod")), ofResource(expression("In", ["dev", "test"]))]],
  ["NotIn with the value", [ofResource(env("prod")), ofResource(expression("NotIn", ["prod"]))]],
  ["NotIn without the value", [ofResource(env("prod")), ofResource(expression("NotIn", ["dev"]))], "overlap"],
  ["Exists", [ofResource(env("prod")), ofResource(expression("Exists"))], "overlap"],
  ["DoesNotExist", [ofResource(env("prod")), ofResource(expression("DoesNotExist"))]],
  ["Exists and DoesNotExist", [ofResource(expression("Exists")), ofResource(expression("DoesNotExist"))]],
  ["NotIn and DoesNotExist", [ofResource(expression("NotIn", ["a"])), ofResource(expression("DoesNotExist"))],
    "overlap"],
  ["another value always exists", [ofResource(expression("NotIn", ["a"])), ofResource(expression("Exists"))],
    "overlap"],
  ["other groups", [types({ group: s3 }), types({ group: sqs })]],
  ["a group and a kind", [types({ group: s3 }), types({ kind: "Bucket" })], "overlap"],
  ["one common entry", [types({ group: s3, kind: "Bucket" }, { group: sqs }), types({ group: sqs, version: "v1" })],
    "overlap"],
  ["other versions", [types({ group: s3, version: "v1" }), types({ group: s3, version: "v1alpha1" })]],
  ["no types", [types({ group: s3 }), {}], "overlap"],
  ["10,000 pairs of type entries", [many("A", 100), many("B", 100)]],
  ["more than 10,000 pairs", [many("A", 101), many("B", 100)], "overlap"],
]);

test("reports an overlap if both selectors select the same resource", (t) => {
  let overlapping = 0;
  let separate = 0;
  fc.assert(fc.property(spec, spec, labels, resource, (a, b, ownLabels, { namespace, labels: set, ...type }) => {
    const [one, other] = [judged(a), judged(b)];
    fc.pre(one !== null && other !== null);
    const allLabels = new Map([...Object.entries(ownLabels), [NAME, namespace]]);
    const selects = (each: EffectiveSelector): boolean =>
      selectsNamespace(each, namespace, allLabels)
      && selectsWithinNamespace(each, type, new Map(Object.entries(set)));
    if (!canOverlap(one, other)) separate++;
    if (!selects(one) || !selects(other)) return;
    overlapping++;
    assert.ok(canOverlap(one, other));
  }), parameters(t, 4000));
  t.ok(overlapping > 50 && separate > 50, `${overlapping} overlap, ${separate} do not`);
  t.end();
});
