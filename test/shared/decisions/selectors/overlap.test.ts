import { strict as assert } from "node:assert";
import * as fc from "fast-check";
import { test } from "tap";
import { decodeSelector } from "../../../../shared/decisions/selectors/decode.ts";
import {
  type EffectiveSelector, selectsNamespace, selectsWithinNamespace,
} from "../../../../shared/decisions/selectors/effective.ts";
import { canOverlap } from "../../../../shared/decisions/selectors/overlap.ts";
import { GROUPS, KINDS, labels, NAMESPACES, resource, spec } from "../arbitraries.ts";
import { ROLE, selectorObject } from "../objects.ts";
import { parameters } from "../property.ts";

function selector(parts: object): EffectiveSelector {
  const decoded = decodeSelector(selectorObject("a", { arn: ROLE, ...parts }), { origin: "file", runtime: "extended" }).effective;
  if (decoded === null) throw new Error("malformed");
  return decoded;
}

function overlaps(a: object, b: object): boolean {
  const [one, other] = [selector(a), selector(b)];
  const both = canOverlap(one, other);
  assert.equal(canOverlap(other, one), both, "it is symmetric");
  return both;
}

const names = (...listed: readonly string[]): object => ({ namespaceSelector: { names: listed } });
const namespaceLabels = (labelSelector: object): object => ({ namespaceSelector: { labelSelector } });
const expression = (key: string, operator: string, ...values: readonly string[]): object => ({ matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }] });
const resourceLabels = (resourceLabelSelector: object): object => ({ resourceLabelSelector });
const types = (...resourceTypeSelector: readonly object[]): object => ({ resourceTypeSelector });

test("names keep selectors apart, unless they share one", (t) => {
  t.equal(overlaps(names("a", "b"), names("c")), false);
  t.equal(overlaps(names("a", "b"), names("b", "c")), true);
  t.equal(overlaps(names("a"), {}), true, "no names are all names");
  t.equal(overlaps(names("a"), namespaceLabels({ matchLabels: { "kubernetes.io/metadata.name": "b" } })), false, "the name is a label too");
  t.equal(overlaps(names("a"), namespaceLabels({ matchLabels: { "kubernetes.io/metadata.name": "a" } })), true);
  t.equal(overlaps(names("a"), namespaceLabels(expression("kubernetes.io/metadata.name", "NotIn", "a"))), false);
  t.equal(overlaps(names("a", "b"), namespaceLabels(expression("kubernetes.io/metadata.name", "NotIn", "a"))), true);
  t.equal(overlaps({}, namespaceLabels(expression("kubernetes.io/metadata.name", "DoesNotExist"))), false, "which every namespace carries");
  t.end();
});

test("a label keeps selectors apart when no value of it suits both", (t) => {
  const env = (value: string): object => ({ matchLabels: { env: value } });
  t.equal(overlaps(namespaceLabels(env("prod")), namespaceLabels(env("dev"))), false);
  t.equal(overlaps(namespaceLabels(env("prod")), namespaceLabels({ matchLabels: { team: "a" } })), true, "of different labels a namespace may carry both");
  t.equal(overlaps(namespaceLabels(env("prod")), resourceLabels(env("dev"))), true, "labels of a namespace and of a resource are different things");
  t.equal(overlaps(resourceLabels(env("prod")), resourceLabels(env("dev"))), false);
  t.equal(overlaps(resourceLabels(env("prod")), resourceLabels(expression("env", "In", "dev", "prod"))), true);
  t.equal(overlaps(resourceLabels(env("prod")), resourceLabels(expression("env", "In", "dev", "test"))), false);
  t.equal(overlaps(resourceLabels(env("prod")), resourceLabels(expression("env", "NotIn", "prod"))), false);
  t.equal(overlaps(resourceLabels(env("prod")), resourceLabels(expression("env", "NotIn", "dev"))), true);
  t.equal(overlaps(resourceLabels(env("prod")), resourceLabels(expression("env", "Exists"))), true);
  t.equal(overlaps(resourceLabels(env("prod")), resourceLabels(expression("env", "DoesNotExist"))), false);
  t.equal(overlaps(resourceLabels(expression("env", "Exists")), resourceLabels(expression("env", "DoesNotExist"))), false);
  t.equal(overlaps(resourceLabels(expression("env", "NotIn", "a")), resourceLabels(expression("env", "DoesNotExist"))), true);
  t.equal(overlaps(resourceLabels(expression("env", "NotIn", "a")), resourceLabels(expression("env", "Exists"))), true, "there is always another value");
  t.end();
});

test("types keep selectors apart when no two entries have a kind in common", (t) => {
  const [s3, sqs] = GROUPS;
  t.equal(overlaps(types({ group: s3 }), types({ group: sqs })), false);
  t.equal(overlaps(types({ group: s3 }), types({ kind: "Bucket" })), true);
  t.equal(overlaps(types({ group: s3, kind: "Bucket" }, { group: sqs }), types({ group: sqs, version: "v1" })), true);
  t.equal(overlaps(types({ group: s3, version: "v1" }), types({ group: s3, version: "v1alpha1" })), false);
  t.equal(overlaps(types({ group: s3 }), {}), true);
  t.end();
});

test("entries too many to compare are taken to meet", (t) => {
  const many = (prefix: string, count: number): object => types(...Array.from({ length: count }, (_, i) => ({ kind: `${prefix}${i}` })));
  t.equal(overlaps(many("A", 100), many("B", 100)), false);
  t.equal(overlaps(many("A", 101), many("B", 100)), true);
  t.end();
});

test("whatever two selectors both select shows that they can overlap", (t) => {
  let met = 0;
  let apart = 0;
  fc.assert(fc.property(spec, spec, labels, resource, (a, b, carried, { namespace, group, version, kind, labels: ofResource }) => {
    const [one, other] = [a, b].map((written) => decodeSelector(selectorObject("a", written), { origin: "file", runtime: "extended" }).effective);
    fc.pre(one !== undefined && one !== null && other !== undefined && other !== null);
    const namespaceCarries = new Map([...Object.entries(carried), ["kubernetes.io/metadata.name", namespace]]);
    const selects = (each: EffectiveSelector): boolean => selectsNamespace(each, namespace, namespaceCarries)
      && selectsWithinNamespace(each, { group, version, kind }, new Map(Object.entries(ofResource)));
    if (!canOverlap(one, other)) apart++;
    if (!selects(one) || !selects(other)) return;
    met++;
    assert.ok(canOverlap(one, other));
  }), parameters(t, 4000));
  t.ok(met > 50 && apart > 50, `both are common enough to mean something: ${met} meet, ${apart} are apart, over ${NAMESPACES.length} namespaces and ${KINDS.length} kinds`);
  t.end();
});
