import { resourceName } from "../../../shared/core/ack-resource.ts";
import { RESOURCES } from "../../../shared/ack/resources.ts";
import { test } from "tap";
import { judgeSelector } from "../../../shared/ack/judge-selector.ts";
import type { Inventory } from "../../../shared/core/inventory.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { drain, type Paced } from "../../../shared/formats/paced.ts";
import {
  accountOfResource, accountOfSelection, type SelectorTransition, type Transition, transitionsOfNamespace,
  transitionsOfSelector,
} from "../../../shared/ack/change-set.ts";
import { type Selection, selectionOf } from "../../../shared/ack/selection.ts";
import type { EffectiveSelector } from "../../../shared/core/effective-selector.ts";
import { bucketObject, inventoryWith, put, ROLE, selectorObject } from "../objects.ts";

// change-set.property.test.ts compares the transitions with the resolutions before and after each change.
function inventoryOf(...objects: readonly JsonObject[]): Inventory {
  return inventoryWith(objects);
}

function selector(name: string, parts: object): EffectiveSelector {
  const object = selectorObject(name, { arn: ROLE, ...parts });
  const { effective } = judgeSelector(object, { origin: "cluster", runtime: "ack" });
  if (effective === null) throw new Error("malformed");
  return effective;
}

const inNamespaces = (...names: readonly string[]): object => ({ namespaceSelector: { names } });
const A = selectorObject("a", { arn: ROLE, ...inNamespaces("team-a") });
const B = selectorObject("b", { arn: ROLE, ...inNamespaces("team-a") });
const bucket = (name: string, namespace = "team-a"): JsonObject => bucketObject({ name, namespace });

/** Returns the number of pauses, and each visited resource with its selectors before and after the change. */
function run(
  scan: (visit: (transition: Transition) => boolean) => Paced<boolean>,
): { readonly visited: unknown[]; readonly pauses: number } {
  const visited: unknown[] = [];
  const names = ({ selectors }: Selection): string[] => selectors.map(({ name }) => name);
  const pauses = [...scan(({ resource, before, after }) => (
    visited.push([resourceName(resource), names(before), names(after)]) > 0
  ))].length;
  return { visited, pauses };
}

test("treats a selector that is being deleted as deleted", (t) => {
  const inventory = inventoryOf(A, B, bucket("b1"));
  const step = { name: "a", before: selector("a", inNamespaces("team-a")), after: null };
  const visited = (change: SelectorTransition): unknown[] =>
    run((visit) => transitionsOfSelector(inventory, change, visit)).visited;
  t.same(visited(step), [["Bucket team-a/b1", ["b", "a"], ["b"]]]);
  const pending = { deletions: new Set(["b"]), writes: new Map() };
  t.same(visited({ ...step, pending }), [["Bucket team-a/b1", ["a"], []]]);
  t.end();
});

test("pauses after every 100 resources, even if the selector selects none of the resources", (t) => {
  const inventory = inventoryOf(...Array.from({ length: 1000 }, (_, i) => bucket(`b${i}`, `ns-${i % 2}`)));
  const pauses = (before: EffectiveSelector | null, after: EffectiveSelector | null): number =>
    run((visit) => transitionsOfSelector(inventory, { name: "n", before, after }, visit)).pauses;
  const none = selector("n", { resourceTypeSelector: [{ kind: "Queue" }] });
  t.equal(pauses(null, none), 10);
  t.equal(pauses(none, null), 10);
  t.equal(pauses(null, selector("n", inNamespaces(...Array.from({ length: 300 }, (_, i) => `none-${i}`)))), 3);
  t.end();
});

test("pauses after each resource of a namespace, because thousands of selectors can match its new labels", (t) => {
  const inventory = inventoryOf(bucket("b1"), bucket("b2"), bucket("b3", "team-b"));
  const nothing = { labels: new Map(), annotations: new Map() };
  t.equal(run((visit) => transitionsOfNamespace(inventory, "team-a", nothing, visit)).pauses, 2);
  t.end();
});

test("ends the scan when a visit returns false", (t) => {
  const inventory = inventoryOf(A, bucket("b1"), bucket("b2"), bucket("c1", "team-c"));
  const [before, after] = [selector("a", inNamespaces("team-a")), selector("a", inNamespaces("team-c"))];
  let visits = 0;
  t.equal(drain(transitionsOfSelector(inventory, { name: "a", before, after }, () => ++visits < 1)), false);
  t.equal(visits, 1, "in the resources that the old selector selects");
  t.equal(drain(transitionsOfSelector(inventory, { name: "a", before, after }, () => ++visits < 4)), false);
  t.equal(visits, 4, "in the resources that the new selector selects");
  t.end();
});

test("does not visit resources that are stored during a scan", (t) => {
  const all = Array.from({ length: 150 }, (_, i) => bucket(`b${i}`));
  const inventory = inventoryOf(...all);
  let seen = 0;
  const step = { name: "n", before: null, after: selector("n", inNamespaces("team-a")) };
  const pauses: number[] = [];
  for (const visited of transitionsOfSelector(inventory, step, () => ++seen > 0)) {
    pauses.push(visited);
    inventory.apply(all.map(put));
  }
  t.same([pauses, seen], [[100], 150]);
  t.end();
});

test("uses the recorded account of a resource, else its selector's account, else the controller's account", (t) => {
  const [one, other] = [selector("a", {}), selector("b", {})];
  t.equal(accountOfSelection(selectionOf([one], null)), "111122223333");
  t.equal(accountOfSelection(selectionOf([one, other], null), "777788889999"), null, "a conflict");
  t.equal(accountOfSelection(selectionOf([one], { name: "b", from: "resource" }), "777788889999"), null, "refused");
  t.equal(accountOfSelection(selectionOf([], null), "777788889999"), "777788889999");
  t.equal(accountOfSelection(selectionOf([], null)), null);
  const stored = bucketObject({}, { status: { ackResourceMetadata: { ownerAccountID: "444455556666" } } });
  const [resource] = inventoryOf(stored).of(RESOURCES).all();
  if (resource === undefined) throw new Error("not held");
  const before = selectionOf([one], null);
  t.equal(accountOfResource({ resource, before }), "444455556666");
  const unknown = { ...resource, status: { ownerAccountID: null, region: null } };
  t.equal(accountOfResource({ resource: unknown, before }), "111122223333");
  t.equal(resourceName({ ...resource, name: null }), "Bucket team-a/");
  t.end();
});
