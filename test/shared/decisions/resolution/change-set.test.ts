import { test } from "tap";
import { Inventory } from "../../../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/decisions/kubernetes/json.ts";
import {
  accountBy, accountOf, resourceName, type Transition, transitionsOfNamespace, transitionsOfSelector,
} from "../../../../shared/decisions/resolution/change-set.ts";
import { decodeSelector } from "../../../../shared/decisions/selectors/decode.ts";
import type { EffectiveSelector } from "../../../../shared/decisions/selectors/effective.ts";
import { bucketObject, namespaceObject, put, ROLE, selectorObject } from "../objects.ts";

function held(...objects: readonly JsonObject[]): Inventory {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  inventory.apply(objects.map(put));
  return inventory;
}

function selector(name: string, parts: object, arn = ROLE): EffectiveSelector {
  const decoded = decodeSelector(selectorObject(name, { arn, ...parts }), { origin: "cluster", runtime: "ack" }).effective;
  if (decoded === null) throw new Error("malformed");
  return decoded;
}

const inNamespaces = (...names: readonly string[]): object => ({ namespaceSelector: { names } });
const A = selectorObject("a", { arn: ROLE, ...inNamespaces("team-a") });
const bucket = (name: string, namespace = "team-a"): JsonObject => bucketObject({ name, namespace });

function told(transitions: Iterable<Transition | null>): unknown[] {
  return [...transitions].filter((one) => one !== null).map(({ resource, before, after }) => [resourceName(resource), before.map(({ name }) => name), after.map(({ name }) => name)]);
}

test("a new, a changed and a removed selector tell of what they select before or after, and of nothing else", (t) => {
  const inventory = held(A, bucket("b1"), bucket("b2", "team-b"), bucket("b3", "team-c"));
  t.same(told(transitionsOfSelector(inventory, { name: "n", before: null, after: selector("n", inNamespaces("team-b")) })), [["Bucket team-b/b2", [], ["n"]]]);
  t.same(told(transitionsOfSelector(inventory, { name: "a", before: selector("a", inNamespaces("team-a")), after: selector("a", inNamespaces("team-b")) })), [
    ["Bucket team-a/b1", ["a"], []], ["Bucket team-b/b2", [], ["a"]],
  ]);
  t.same(told(transitionsOfSelector(inventory, { name: "a", before: selector("a", inNamespaces("team-a")), after: null })), [["Bucket team-a/b1", ["a"], []]]);
  t.same(told(transitionsOfSelector(inventory, { name: "n", before: null, after: selector("n", {}) })).length, 3, "one without any restriction tells of everything");
  t.same(told(transitionsOfSelector(inventory, { name: "n", before: null, after: null })), [], "one that takes no part, of nothing");
  t.end();
});

test("a resource that is selected before and after is told of once", (t) => {
  const inventory = held(A, bucket("b1"));
  const step = { name: "a", before: selector("a", inNamespaces("team-a")), after: selector("a", { resourceTypeSelector: [{ kind: "Bucket" }] }) };
  t.same(told(transitionsOfSelector(inventory, step)), [["Bucket team-a/b1", ["a"], ["a"]]]);
  t.end();
});

test("other selectors stay, the inventory's own of that name does not", (t) => {
  const inventory = held(A, selectorObject("b", { arn: ROLE, ...inNamespaces("team-a") }), bucket("b1"));
  t.same(told(transitionsOfSelector(inventory, { name: "a", before: null, after: selector("a", inNamespaces("team-a")) })), [["Bucket team-a/b1", ["b"], ["b", "a"]]]);
  t.end();
});

test("a selector that is on its way out counts as gone", (t) => {
  const inventory = held(A, selectorObject("b", { arn: ROLE, ...inNamespaces("team-a") }), bucket("b1"));
  const step = { name: "a", before: selector("a", inNamespaces("team-a")), after: null };
  t.same(told(transitionsOfSelector(inventory, step)), [["Bucket team-a/b1", ["b", "a"], ["b"]]]);
  t.same(told(transitionsOfSelector(inventory, { ...step, pendingDeletions: new Set(["b"]) })), [["Bucket team-a/b1", ["a"], []]]);
  t.end();
});

test("namespaces are found by the rarest of the labels, and by their name though they are not known", (t) => {
  const inventory = held(namespaceObject("team-a", { env: "prod", team: "a" }), namespaceObject("team-b", { env: "prod" }), bucket("b1"), bucket("b2", "team-b"), bucket("b3", "unknown"));
  const labelled = (matchLabels: object): EffectiveSelector => selector("n", { namespaceSelector: { labelSelector: { matchLabels } } });
  const found = (after: EffectiveSelector): unknown => told(transitionsOfSelector(inventory, { name: "n", before: null, after })).map((one) => (Array.isArray(one) ? one[0] : null));
  t.same(found(labelled({ env: "prod", team: "a" })), ["Bucket team-a/b1"]);
  t.same(found(labelled({ env: "prod" })), ["Bucket team-a/b1", "Bucket team-b/b2"]);
  t.same(found(labelled({ "kubernetes.io/metadata.name": "unknown" })), ["Bucket unknown/b3"]);
  t.same(found(labelled({ env: "dev" })), []);
  t.end();
});

test("new labels of a namespace tell of every resource in it, and of no other", (t) => {
  const inventory = held(
    namespaceObject("team-a", { env: "prod" }), selectorObject("prod", { arn: ROLE, namespaceSelector: { labelSelector: { matchLabels: { env: "prod" } } } }),
    bucket("b1"), bucket("b2", "team-b"),
  );
  t.same(told(transitionsOfNamespace(inventory, "team-a", new Map([["env", "dev"]]))), [["Bucket team-a/b1", ["prod"], []]]);
  t.same(told(transitionsOfNamespace(inventory, "team-b", new Map([["env", "prod"]]))), [["Bucket team-b/b2", [], ["prod"]]]);
  t.same(told(transitionsOfNamespace(inventory, "team-c", new Map())), []);
  t.end();
});

test("a long scan can be put off every hundred resources, also while it finds none", (t) => {
  const inventory = held(...Array.from({ length: 1000 }, (_, i) => bucket(`b${i}`, `ns-${i % 2}`)));
  const pauses = (after: EffectiveSelector): number => [...transitionsOfSelector(inventory, { name: "n", before: null, after })].filter((one) => one === null).length;
  const none = { resourceTypeSelector: [{ kind: "Queue" }] };
  t.equal(pauses(selector("n", none)), 10);
  const removed = transitionsOfSelector(inventory, { name: "n", before: selector("n", none), after: null });
  t.equal([...removed].filter((one) => one === null).length, 10);
  t.equal(pauses(selector("n", inNamespaces(...Array.from({ length: 300 }, (_, i) => `none-${i}`)))), 3);
  t.equal([...transitionsOfNamespace(inventory, "ns-0", new Map())].filter((one) => one === null).length, 5);
  t.end();
});

test("what changes while a scan is put off neither prolongs it nor is told of twice", (t) => {
  const inventory = held(...Array.from({ length: 150 }, (_, i) => bucket(`b${i}`)));
  let seen = 0;
  for (const one of transitionsOfSelector(inventory, { name: "n", before: null, after: selector("n", inNamespaces("team-a")) })) {
    if (one !== null) seen++;
    else inventory.apply(Array.from({ length: 150 }, (_, i) => put(bucket(`b${i}`))));
  }
  t.equal(seen, 150);
  t.end();
});

test("the account of a resource is what ACK recorded, else that of the one selector, else the controller's", (t) => {
  const [one, other] = [selector("a", {}), selector("b", {})];
  t.equal(accountBy([one]), "111122223333");
  t.equal(accountBy([one, other], "777788889999"), null, "nobody's in a conflict");
  t.equal(accountBy([], "777788889999"), "777788889999");
  t.equal(accountBy([]), null);
  const [resource] = held(bucketObject({}, { status: { ackResourceMetadata: { ownerAccountID: "444455556666" } } })).resources.all();
  if (resource === undefined) throw new Error("not held");
  t.equal(accountOf({ resource, before: [one] }), "444455556666");
  t.equal(accountOf({ resource: { ...resource, status: { ownerAccountID: null, region: null } }, before: [one] }), "111122223333");
  t.equal(resourceName({ ...resource, name: null }), "Bucket team-a/");
  t.end();
});
