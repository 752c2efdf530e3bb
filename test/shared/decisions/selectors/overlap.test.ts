import { strict as assert } from "node:assert";
import * as fc from "fast-check";
import { test } from "tap";
import { decodeSelector } from "../../../../shared/model/selector.ts";
import {
  type EffectiveSelector, selectsNamespace, selectsWithinNamespace,
} from "../../../../shared/model/effective-selector.ts";
import { canOverlap } from "../../../../shared/model/selector-overlap.ts";
import { GROUPS, KINDS, labels, NAMESPACES, resource, spec } from "../arbitraries.ts";
import { ROLE, selectorObject } from "../objects.ts";
import { parameters } from "../property.ts";

function selector(parts: object): EffectiveSelector {
  const decoded = decodeSelector(selectorObject("a", { arn: ROLE, ...parts }), {
    origin: "file",
    runtime: "extended",
  }).effective;
  if (decoded === null) throw new Error("malformed");
  return decoded;
}

function overlaps(a: object, b: object): boolean {
  const [one, other] = [selector(a), selector(b)];
  const both = canOverlap(one, other);
  assert.equal(canOverlap(other, one), both, "overlap is symmetric");
  return both;
}

const names = (...listed: readonly string[]): object => ({ namespaceSelector: { names: listed } });
const namespaceLabels = (labelSelector: object): object => ({ namespaceSelector: { labelSelector } });
const expression = (key: string, operator: string, ...values: readonly string[]): object => ({
  matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }],
});
const resourceLabels = (resourceLabelSelector: object): object => ({ resourceLabelSelector });
const types = (...resourceTypeSelector: readonly object[]): object => ({ resourceTypeSelector });

test("reports no overlap if the selectors list different namespaces", (t) => {
  t.equal(overlaps(names("a", "b"), names("c")), false);
  t.equal(overlaps(names("a", "b"), names("b", "c")), true);
  t.equal(overlaps(names("a"), {}), true, "a selector without names matches every namespace");
  t.equal(
    overlaps(names("a"), namespaceLabels({ matchLabels: { "kubernetes.io/metadata.name": "b" } })),
    false,
    "the name is also a label",
  );
  t.equal(overlaps(names("a"), namespaceLabels({ matchLabels: { "kubernetes.io/metadata.name": "a" } })), true);
  t.equal(overlaps(names("a"), namespaceLabels(expression("kubernetes.io/metadata.name", "NotIn", "a"))), false);
  t.equal(overlaps(names("a", "b"), namespaceLabels(expression("kubernetes.io/metadata.name", "NotIn", "a"))), true);
  t.equal(
    overlaps({}, namespaceLabels(expression("kubernetes.io/metadata.name", "DoesNotExist"))),
    false,
    "every namespace has this label",
  );
  t.end();
});

test("reports no overlap if no labels can satisfy the requirements of both selectors", (t) => {
  const env = (value: string): object => ({ matchLabels: { env: value } });
  t.equal(overlaps(namespaceLabels(env("prod")), namespaceLabels(env("dev"))), false);
  t.equal(
    overlaps(namespaceLabels(env("prod")), namespaceLabels({ matchLabels: { team: "a" } })),
    true,
    "a namespace can have both labels",
  );
  t.equal(
    overlaps(namespaceLabels(env("prod")), resourceLabels(env("dev"))),
    true,
    "labels of a namespace and of a resource are independent",
  );
  t.equal(overlaps(resourceLabels(env("prod")), resourceLabels(env("dev"))), false);
  t.equal(overlaps(resourceLabels(env("prod")), resourceLabels(expression("env", "In", "dev", "prod"))), true);
  t.equal(overlaps(resourceLabels(env("prod")), resourceLabels(expression("env", "In", "dev", "test"))), false);
  t.equal(overlaps(resourceLabels(env("prod")), resourceLabels(expression("env", "NotIn", "prod"))), false);
  t.equal(overlaps(resourceLabels(env("prod")), resourceLabels(expression("env", "NotIn", "dev"))), true);
  t.equal(overlaps(resourceLabels(env("prod")), resourceLabels(expression("env", "Exists"))), true);
  t.equal(overlaps(resourceLabels(env("prod")), resourceLabels(expression("env", "DoesNotExist"))), false);
  t.equal(
    overlaps(resourceLabels(expression("env", "Exists")), resourceLabels(expression("env", "DoesNotExist"))),
    false,
  );
  t.equal(
    overlaps(resourceLabels(expression("env", "NotIn", "a")), resourceLabels(expression("env", "DoesNotExist"))),
    true,
  );
  t.equal(
    overlaps(resourceLabels(expression("env", "NotIn", "a")), resourceLabels(expression("env", "Exists"))),
    true,
    "another value always exists",
  );
  t.end();
});

test("reports no overlap if the type entries of the selectors share no kind", (t) => {
  const [s3, sqs] = GROUPS;
  t.equal(overlaps(types({ group: s3 }), types({ group: sqs })), false);
  t.equal(overlaps(types({ group: s3 }), types({ kind: "Bucket" })), true);
  t.equal(overlaps(types({ group: s3, kind: "Bucket" }, { group: sqs }), types({ group: sqs, version: "v1" })), true);
  t.equal(overlaps(types({ group: s3, version: "v1" }), types({ group: s3, version: "v1alpha1" })), false);
  t.equal(overlaps(types({ group: s3 }), {}), true);
  t.end();
});

test("reports an overlap if the selectors have more than 10,000 pairs of type entries", (t) => {
  const many = (prefix: string, count: number): object =>
    types(...Array.from({ length: count }, (_, i) => ({ kind: `${prefix}${i}` })));
  t.equal(overlaps(many("A", 100), many("B", 100)), false);
  t.equal(overlaps(many("A", 101), many("B", 100)), true);
  t.end();
});

test("reports an overlap if both selectors select the same resource", (t) => {
  let overlapping = 0;
  let separate = 0;
  fc.assert(
    fc.property(
      spec,
      spec,
      labels,
      resource,
      (a, b, ofNamespace, { namespace, group, version, kind, labels: ofResource }) => {
        const [one, other] = [a, b].map((selectorSpec) => {
          const object = selectorObject("a", selectorSpec);
          return decodeSelector(object, { origin: "file", runtime: "extended" }).effective;
        });
        fc.pre(one !== undefined && one !== null && other !== undefined && other !== null);
        const nameLabel: [string, string] = ["kubernetes.io/metadata.name", namespace];
        const allNamespaceLabels = new Map([...Object.entries(ofNamespace), nameLabel]);
        const selects = (each: EffectiveSelector): boolean =>
          selectsNamespace(each, namespace, allNamespaceLabels) &&
          selectsWithinNamespace(each, { group, version, kind }, new Map(Object.entries(ofResource)));
        if (!canOverlap(one, other)) separate++;
        if (!selects(one) || !selects(other)) return;
        overlapping++;
        assert.ok(canOverlap(one, other));
      },
    ),
    parameters(t, 4000),
  );
  t.ok(
    overlapping > 50 && separate > 50,
    `both cases occur often enough: ${overlapping} overlap, ${separate} do not, with ${NAMESPACES.length} namespaces `
      + `and ${KINDS.length} kinds`,
  );
  t.end();
});
