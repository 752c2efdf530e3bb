import { test } from "tap";
import { Inventory } from "../../../../shared/inventory/inventory.ts";
import type { JsonObject } from "../../../../shared/formats/json.ts";
import type { Labels } from "../../../../shared/formats/label-selector.ts";
import { drain, type Paced } from "../../../../shared/formats/paced.ts";
import {
  accountOfResource, accountOfSelection, resourceName, type SelectorTransition, type Transition,
  transitionsOfNamespace, transitionsOfSelector,
} from "../../../../shared/resolution/change-set.ts";
import { type Selection, selectionOf } from "../../../../shared/resolution/selection.ts";
import { decodeSelector } from "../../../../shared/model/selector.ts";
import type { EffectiveSelector } from "../../../../shared/model/effective-selector.ts";
import { bucketObject, namespaceObject, put, ROLE, selectorObject } from "../objects.ts";

function inventoryOf(...objects: readonly JsonObject[]): Inventory {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  inventory.apply(objects.map(put));
  return inventory;
}

function selector(name: string, parts: object, arn = ROLE): EffectiveSelector {
  const decoded = decodeSelector(selectorObject(name, { arn, ...parts }), {
    origin: "cluster",
    runtime: "ack",
  }).effective;
  if (decoded === null) throw new Error("malformed");
  return decoded;
}

const inNamespaces = (...names: readonly string[]): object => ({ namespaceSelector: { names } });
const A = selectorObject("a", { arn: ROLE, ...inNamespaces("team-a") });
const bucket = (name: string, namespace = "team-a"): JsonObject => bucketObject({ name, namespace });

type Scan = (visit: (transition: Transition) => boolean) => Paced<boolean>;

/** Returns the number of pauses, and each visited resource with its selectors before and after the change. */
function run(scan: Scan): { readonly visited: unknown[]; readonly pauses: number } {
  const visited: unknown[] = [];
  const names = ({ selectors }: Selection): string[] => selectors.map(({ name }) => name);
  const pauses = [...scan(({ resource, before, after }) => (
    visited.push([resourceName(resource), names(before), names(after)]) > 0
  ))].length;
  return { visited, pauses };
}

function ofSelector(inventory: Inventory, change: SelectorTransition): unknown[] {
  return run((visit) => transitionsOfSelector(inventory, change, visit)).visited;
}

function ofNamespace(inventory: Inventory, name: string, labels: Labels): unknown[] {
  return run((visit) => transitionsOfNamespace(inventory, name, { labels, annotations: new Map() }, visit)).visited;
}

test("visits the resources that a changed selector selects before or after its change", (t) => {
  const inventory = inventoryOf(A, bucket("b1"), bucket("b2", "team-b"), bucket("b3", "team-c"));
  t.same(ofSelector(inventory, { name: "n", before: null, after: selector("n", inNamespaces("team-b")) }), [
    ["Bucket team-b/b2", [], ["n"]],
  ]);
  t.same(
    ofSelector(inventory, {
      name: "a",
      before: selector("a", inNamespaces("team-a")),
      after: selector("a", inNamespaces("team-b")),
    }),
    [
      ["Bucket team-a/b1", ["a"], []],
      ["Bucket team-b/b2", [], ["a"]],
    ],
  );
  t.same(ofSelector(inventory, { name: "a", before: selector("a", inNamespaces("team-a")), after: null }), [
    ["Bucket team-a/b1", ["a"], []],
  ]);
  t.same(
    ofSelector(inventory, { name: "n", before: null, after: selector("n", {}) }).length,
    3,
    "a selector without restrictions selects every resource",
  );
  t.same(ofSelector(inventory, { name: "n", before: null, after: null }), [], "a malformed selector selects nothing");
  t.end();
});

test("visits a resource once if the selector selects the resource both before and after the change", (t) => {
  const inventory = inventoryOf(A, bucket("b1"));
  const step = {
    name: "a",
    before: selector("a", inNamespaces("team-a")),
    after: selector("a", { resourceTypeSelector: [{ kind: "Bucket" }] }),
  };
  t.same(ofSelector(inventory, step), [["Bucket team-a/b1", ["a"], ["a"]]]);
  t.end();
});

test("ignores the stored version of the changed selector, but reads all other selectors", (t) => {
  const inventory = inventoryOf(A, selectorObject("b", { arn: ROLE, ...inNamespaces("team-a") }), bucket("b1"));
  t.same(ofSelector(inventory, { name: "a", before: null, after: selector("a", inNamespaces("team-a")) }), [
    ["Bucket team-a/b1", ["b"], ["b", "a"]],
  ]);
  t.end();
});

test("treats a selector that is being deleted as deleted", (t) => {
  const inventory = inventoryOf(A, selectorObject("b", { arn: ROLE, ...inNamespaces("team-a") }), bucket("b1"));
  const step = { name: "a", before: selector("a", inNamespaces("team-a")), after: null };
  t.same(ofSelector(inventory, step), [["Bucket team-a/b1", ["b", "a"], ["b"]]]);
  const pending = { deletions: new Set(["b"]), writes: new Map() };
  t.same(ofSelector(inventory, { ...step, pending }), [["Bucket team-a/b1", ["a"], []]]);
  t.end();
});

test("finds a namespace by its labels; if the Namespace object is missing, only by the label with its name", (t) => {
  const inventory = inventoryOf(
    namespaceObject("team-a", { env: "prod", team: "a" }),
    namespaceObject("team-b", { env: "prod" }),
    bucket("b1"),
    bucket("b2", "team-b"),
    bucket("b3", "unknown"),
  );
  const labeled = (matchLabels: object): EffectiveSelector =>
    selector("n", { namespaceSelector: { labelSelector: { matchLabels } } });
  const found = (after: EffectiveSelector): unknown =>
    ofSelector(inventory, { name: "n", before: null, after }).map((one) => (Array.isArray(one) ? one[0] : null));
  t.same(found(labeled({ env: "prod", team: "a" })), ["Bucket team-a/b1"]);
  t.same(found(labeled({ env: "prod" })), ["Bucket team-a/b1", "Bucket team-b/b2"]);
  t.same(found(labeled({ "kubernetes.io/metadata.name": "unknown" })), ["Bucket unknown/b3"]);
  t.same(found(labeled({ env: "dev" })), []);
  t.end();
});

test("visits all resources of a namespace whose labels change, and no resources of other namespaces", (t) => {
  const inventory = inventoryOf(
    namespaceObject("team-a", { env: "prod" }),
    selectorObject("prod", { arn: ROLE, namespaceSelector: { labelSelector: { matchLabels: { env: "prod" } } } }),
    bucket("b1"),
    bucket("b2", "team-b"),
  );
  t.same(ofNamespace(inventory, "team-a", new Map([["env", "dev"]])), [["Bucket team-a/b1", ["prod"], []]]);
  t.same(ofNamespace(inventory, "team-b", new Map([["env", "prod"]])), [["Bucket team-b/b2", [], ["prod"]]]);
  t.same(ofNamespace(inventory, "team-c", new Map()), []);
  t.end();
});

const NOTHING = { labels: new Map(), annotations: new Map() };

test("pauses after every 100 resources, even if the selector selects none of the resources", (t) => {
  const inventory = inventoryOf(...Array.from({ length: 1000 }, (_, i) => bucket(`b${i}`, `ns-${i % 2}`)));
  const pausesOf = (step: Pick<SelectorTransition, "before" | "after">): number => (
    run((visit) => transitionsOfSelector(inventory, { name: "n", ...step }, visit)).pauses
  );
  const pauses = (after: EffectiveSelector): number => pausesOf({ before: null, after });
  const none = { resourceTypeSelector: [{ kind: "Queue" }] };
  t.equal(pauses(selector("n", none)), 10);
  t.equal(pausesOf({ before: selector("n", none), after: null }), 10);
  t.equal(pauses(selector("n", inNamespaces(...Array.from({ length: 300 }, (_, i) => `none-${i}`)))), 3);
  t.end();
});

test("pauses after each resource of a namespace, because thousands of selectors can match its new labels", (t) => {
  const inventory = inventoryOf(bucket("b1"), bucket("b2"), bucket("b3", "team-b"));
  t.equal(run((visit) => transitionsOfNamespace(inventory, "team-a", NOTHING, visit)).pauses, 2);
  t.end();
});

test("ends the scan when a visit returns false", (t) => {
  const inventory = inventoryOf(A, bucket("b1"), bucket("b2"), bucket("c1", "team-c"));
  const change = {
    name: "a", before: selector("a", inNamespaces("team-a")), after: selector("a", inNamespaces("team-c")),
  };
  let visits = 0;
  t.equal(drain(transitionsOfSelector(inventory, change, () => ++visits < 1)), false);
  t.equal(visits, 1, "in the resources that the old selector selects");
  t.equal(drain(transitionsOfSelector(inventory, change, () => ++visits < 4)), false);
  t.equal(visits, 4, "in the resources that the new selector selects");
  t.end();
});

test("does not visit resources that are stored during a scan", (t) => {
  const inventory = inventoryOf(...Array.from({ length: 150 }, (_, i) => bucket(`b${i}`)));
  let seen = 0;
  const step = { name: "n", before: null, after: selector("n", inNamespaces("team-a")) };
  const scan = transitionsOfSelector(inventory, step, () => ++seen > 0);
  let pauses = 0;
  for (const visited of scan) {
    pauses++;
    t.equal(visited, 100);
    inventory.apply(Array.from({ length: 150 }, (_, i) => put(bucket(`b${i}`))));
  }
  t.equal(pauses, 1);
  t.equal(seen, 150);
  t.end();
});

test("uses the recorded account of a resource, else its selector's account, else the controller's account", (t) => {
  const [one, other] = [selector("a", {}), selector("b", {})];
  const refused = selectionOf([one], { name: "b", from: "resource" });
  t.equal(accountOfSelection(selectionOf([one], null)), "111122223333");
  const conflict = selectionOf([one, other], null);
  t.equal(accountOfSelection(conflict, "777788889999"), null, "a resource in a conflict has no account");
  t.equal(accountOfSelection(refused, "777788889999"), null, "a refused resource has no account");
  t.equal(accountOfSelection(selectionOf([], null), "777788889999"), "777788889999");
  t.equal(accountOfSelection(selectionOf([], null)), null);
  const [resource] = inventoryOf(
    bucketObject({}, { status: { ackResourceMetadata: { ownerAccountID: "444455556666" } } }),
  ).resources.all();
  if (resource === undefined) throw new Error("not held");
  const before = selectionOf([one], null);
  t.equal(accountOfResource({ resource, before }), "444455556666");
  t.equal(
    accountOfResource({ resource: { ...resource, status: { ownerAccountID: null, region: null } }, before }),
    "111122223333",
  );
  t.equal(resourceName({ ...resource, name: null }), "Bucket team-a/");
  t.end();
});
