import { IDENTITIES } from "../../../shared/capa/identities.ts";
import { SELECTORS } from "../../../shared/ack/selectors.ts";
import { test } from "tap";
import { RESOURCES } from "../../../shared/ack/resources.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { drain } from "../../../shared/formats/paced.ts";
import { annotatedKey } from "../../../shared/core/annotated-objects.ts";
import {
  annotatedWithKey, type ResourceScope, type ResourceState, scanResources,
} from "../../../shared/diagnosis/stale-resources.ts";
import { clusterObject, CONTROL_PLANE, controllerIdentity, INFRASTRUCTURE, roleIdentity } from "../capa-objects.ts";
import {
  bucketObject, inventoryWith, namespaceObject, put, removal, ROLE, selectorObject, SETTINGS_BY_DEFAULT,
} from "../objects.ts";

const SELECTOR = selectorObject("team-a", { arn: ROLE, namespaceSelector: { names: ["team-a"] } });
const OUTCOME = "ack-role-resolver.io/outcome";

function scopeOf(objects: readonly JsonObject[]): ResourceScope {
  const inventory = inventoryWith(objects);
  return { inventory, settings: SETTINGS_BY_DEFAULT };
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

test("skips resources that are deleted, in a terminating namespace, or in an unknown namespace", (t) => {
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const going = { ...namespaceObject("going"), status: { phase: "Terminating" } };
  const scope = scopeOf([
    going, namespaceObject("team-a"), namespaceObject("kube-system"),
    bucketObject({ name: "deleted", deletionTimestamp }),
    ...["going", "unknown"].map((namespace) => bucketObject({ namespace })), bucketObject({ name: "b" }),
    bucketObject({ name: "c", namespace: "kube-system" }),
  ]);
  t.same(scan(scope).map(({ resource: { namespace, name } }) => [namespace, name]), [
    ["team-a", "b"], ["kube-system", "c"],
  ]);
  t.end();
});

test("pauses regularly, visits each of 5,000 resources once, and stops when the visitor returns false", (t) => {
  const resources = Array.from({ length: 5_000 }, (_, i) => bucketObject({ name: `b${i}` }));
  const scope = scopeOf([namespaceObject("team-a"), SELECTOR, ...resources]);
  const keys = new Set<string>();
  let pauses = 0;
  for (const _ of scanResources(scope, ({ resource }) => keys.add(annotatedKey(resource)).size > 0)) pauses += 1;
  t.same([keys.size, pauses], [5_000, 1_000]);
  let visited = 0;
  t.equal(drain(scanResources(scope, () => ++visited < 7)), false);
  t.equal(visited, 7);
  t.end();
});

test("the key of a resource finds the resource in the inventory", (t) => {
  const { inventory } = scopeOf([bucketObject({ name: "b", uid: "u1", resourceVersion: "7" })]);
  const [resource] = inventory.of(RESOURCES).all();
  t.match(resource, { uid: "u1", resourceVersion: "7" });
  if (resource !== undefined) t.equal(inventory.of(RESOURCES).withKey(annotatedKey(resource)), resource);
  t.equal(inventory.of(RESOURCES).withKey("s3.services.k8s.aws/Bucket/team-a/other"), null);
  const before = inventory.of(SELECTORS).revision;
  inventory.apply([put(SELECTOR)]);
  t.not(inventory.of(SELECTORS).revision, before);
  t.end();
});

test("finds clusters whose annotations do not match their identity, after the resources", (t) => {
  const bySelector = roleIdentity("r", "controller", { selector: { matchLabels: { team: "a" } } });
  const controlPlane = {
    apiVersion: `${CONTROL_PLANE}/v1beta1`, kind: "ROSAControlPlane", metadata: { name: "c", namespace: "ns1" },
  };
  const scope = scopeOf([
    namespaceObject("team-a"), namespaceObject("ns1", { team: "a" }), SELECTOR, controllerIdentity(), bySelector,
    clusterObject("c", "role/r"), controlPlane, bucketObject({ name: "b" }),
  ]);
  const stale = (): unknown[] => (
    scan(scope).map(({ resource: { kind, version }, stale: { size }, resolution: { outcome } }) => (
      [kind, version, outcome, size]
    ))
  );
  t.same(stale(), [
    ["Bucket", "v1alpha1", "selected", 5], ["AWSCluster", "v1beta2", "selected", 5],
    ["ROSAControlPlane", "v1beta1", "default", 4],
  ]);
  const ofCluster = (): unknown => stale().find((state) => Array.isArray(state) && state[0] === "AWSCluster");
  const [, state] = scan(scope);
  const annotations = Object.fromEntries(state?.stale ?? []);
  const annotatedCluster = { ...clusterObject("c", "role/r"), metadata: { name: "c", namespace: "ns1", annotations } };
  scope.inventory.apply([put(annotatedCluster)]);
  t.same(ofCluster(), ["AWSCluster", "v1beta2", "selected", 0]);
  const renewed = { ...bySelector, metadata: { name: "r", resourceVersion: "7" } };
  scope.inventory.apply([put(renewed), put(namespaceObject("ns1", { team: "a" }))]);
  t.same(ofCluster(), ["AWSCluster", "v1beta2", "selected", 0], "another resource version changes nothing");
  scope.inventory.apply([put(namespaceObject("ns1"))]);
  t.same(ofCluster(), ["AWSCluster", "v1beta2", "refused", 3], "a label of the namespace");
  scope.inventory.apply([removal(INFRASTRUCTURE, "AWSClusterRoleIdentity", "r")]);
  t.same(ofCluster(), ["AWSCluster", "v1beta2", "refused", 4], "a deleted identity");
  t.end();
});

test("skips clusters that are deleted or in an unknown namespace, or whose identities are not listed", (t) => {
  const deleted = clusterObject("deleted", null, "team-a");
  const scope = scopeOf([
    namespaceObject("team-a"), controllerIdentity(),
    { ...deleted, metadata: { name: "deleted", namespace: "team-a", deletionTimestamp: "2026-01-01T00:00:00Z" } },
    ...["unknown", "team-a"].map((namespace) => clusterObject("c", null, namespace)),
  ]);
  t.same(scan(scope).map(({ resource: { namespace, name } }) => [namespace, name]), [["team-a", "c"]]);
  const item = "AWSClusterRoleIdentity.infrastructure.cluster.x-k8s.io";
  scope.inventory.apply([{ type: "unlisted", store: IDENTITIES, item }]);
  t.same(scan(scope), []);
  t.end();
});

test("stops at a resource or a cluster, and the key of each finds it in the inventory", (t) => {
  const scope = scopeOf([
    namespaceObject("team-a"), controllerIdentity(), bucketObject({ name: "c" }), clusterObject("c", null, "team-a"),
  ]);
  for (const last of [1, 2]) {
    let visited = 0;
    t.equal(drain(scanResources(scope, () => ++visited < last)), false);
    t.equal(visited, last);
  }
  for (const { resource } of scan(scope)) t.equal(annotatedWithKey(annotatedKey(resource), scope.inventory), resource);
  t.equal(annotatedWithKey("unknown", scope.inventory), null);
  t.end();
});
