import { test } from "tap";
import { Inventory } from "../../../../shared/decisions/inventory/inventory.ts";
import { resourceKey } from "../../../../shared/decisions/inventory/resources.ts";
import type { JsonObject } from "../../../../shared/decisions/kubernetes/json.ts";
import { drain } from "../../../../shared/decisions/paced.ts";
import {
  type ResourceScope, type ResourceState, scanResources,
} from "../../../../shared/decisions/resolution/stale-resources.ts";
import { bucketObject, namespaceObject, put, removal, ROLE, selectorObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const SELECTOR = selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] } });
const OUTCOME = "ack-role-resolver.io/outcome";

function scopeOf(objects: readonly JsonObject[]): ResourceScope {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  inventory.apply(objects.map(put));
  return { inventory, settings: SETTINGS_BY_DEFAULT, exemptNamespaces: new Set(["kube-system"]) };
}

function scan(scope: ResourceScope): ResourceState[] {
  const states: ResourceState[] = [];
  drain(scanResources(scope, (state) => states.push(state) > 0));
  return states;
}

/** Returns the bucket with the annotations of its current resolution. */
function annotated(name: string): JsonObject {
  const [state] = scan(scopeOf([namespaceObject("team-a"), SELECTOR, bucketObject({ name })]));
  return bucketObject({ name, annotations: Object.fromEntries(state?.stale ?? []) });
}

test("finds resources that are not annotated or have the annotations of another resolution", (t) => {
  const scope = scopeOf([namespaceObject("team-a"), SELECTOR, bucketObject({ name: "bare" }), annotated("current")]);
  const stale = (): unknown[] => (
    scan(scope).filter((state) => state.stale.size > 0).map((state) => [state.resource.name, state.stale.get(OUTCOME)])
  );
  t.same(stale(), [["bare", "selected"]]);
  scope.inventory.apply([removal("services.k8s.aws", "IAMRoleSelector", "team-a")]);
  t.same(stale(), [["bare", "default"], ["current", "default"]]);
  t.end();
});

test("skips resources that are deleted, exempt, in a terminating namespace, or in an unknown namespace", (t) => {
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const going = { ...namespaceObject("going"), status: { phase: "Terminating" } };
  const scope = scopeOf([
    going, namespaceObject("team-a"), namespaceObject("kube-system"),
    bucketObject({ name: "deleted", deletionTimestamp }),
    ...["kube-system", "going", "unknown"].map((namespace) => bucketObject({ namespace })), bucketObject({ name: "b" }),
  ]);
  t.same(scan(scope).map(({ resource: { namespace, name } }) => [namespace, name]), [["team-a", "b"]]);
  t.end();
});

test("pauses regularly, visits each of 5,000 resources once, and stops when the visitor returns false", (t) => {
  const resources = Array.from({ length: 5_000 }, (_, i) => bucketObject({ name: `b${i}` }));
  const scope = scopeOf([namespaceObject("team-a"), SELECTOR, ...resources]);
  const keys = new Set<string>();
  let pauses = 0;
  for (const _ of scanResources(scope, ({ resource }) => keys.add(resourceKey(resource)).size > 0)) pauses += 1;
  t.same([keys.size, pauses], [5_000, 1_000]);
  let visited = 0;
  t.equal(drain(scanResources(scope, () => ++visited < 7)), false);
  t.equal(visited, 7);
  t.end();
});

test("the key of a resource finds the resource in the inventory", (t) => {
  const { inventory } = scopeOf([bucketObject({ name: "b", uid: "u1", resourceVersion: "7" })]);
  const [resource] = inventory.resources.all();
  t.match(resource, { uid: "u1", resourceVersion: "7" });
  if (resource !== undefined) t.equal(inventory.resources.withKey(resourceKey(resource)), resource);
  t.equal(inventory.resources.withKey("s3.services.k8s.aws/Bucket/team-a/other"), null);
  const before = inventory.selectors.revision;
  inventory.apply([put(SELECTOR)]);
  t.not(inventory.selectors.revision, before);
  t.end();
});
