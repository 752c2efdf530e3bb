import { type Test, test } from "tap";
import { stringAt } from "../../../../shared/decisions/kubernetes/json.ts";
import {
  loadCluster, type LoadedCluster, type LoadOptions, type LoadProgress,
} from "../../../../shared/inventory/cluster/load.ts";
import { BUCKETS, definition, DEFINITIONS, FakeCluster, NAMESPACES, resource, SELECTORS } from "./fake-cluster.ts";

const S3 = "s3.services.k8s.aws";

async function load(t: Test, prepare: (cluster: FakeCluster) => void, options: Partial<LoadOptions> = {}): Promise<{ cluster: FakeCluster; loading: Promise<LoadedCluster> }> {
  const cluster = new FakeCluster();
  await cluster.start();
  t.teardown(() => cluster.server.stop());
  cluster.objects.set(DEFINITIONS, [definition(S3, "Bucket")]);
  cluster.objects.set(NAMESPACES, [{ metadata: { name: "team-a", resourceVersion: "1" }, spec: { finalizers: ["kubernetes"] } }]);
  cluster.objects.set(BUCKETS, Array.from({ length: 600 }, (_, i) => resource(`b-${i}`)));
  prepare(cluster);
  const { api } = cluster.server;
  return { cluster, loading: loadCluster({ runtime: "ack", api, clock: cluster.clock, resources: { extraGroups: [] }, ...options }) };
}

test("a cluster is read once, with what was asked of its objects", async (t) => {
  const told: LoadProgress[] = [];
  const { cluster, loading } = await load(t, () => {}, {
    collect: (object) => (stringAt(object, "kind") === "Namespace" ? object : null),
    onProgress: (progress) => told.push(progress),
  });
  const { inventory, objects } = await loading;
  t.equal(inventory.resources.size, 600);
  t.same(objects, [{ apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a", resourceVersion: "1" }, spec: { finalizers: ["kubernetes"] } }], "whole");
  t.same(told.at(-1), { kinds: 4, listed: 4, objects: 602 });
  t.ok(told.some(({ listed, objects: read }) => listed < 4 && read > 500), "it is told how far it is");
  t.same(cluster.clock.delays, [], "nothing is under way any more");
});

test("every kind that cannot be read is named, and nothing is tried for ever", async (t) => {
  const { cluster, loading } = await load(t, ({ refusals }) => {
    refusals.set(BUCKETS, { status: 403 });
    refusals.set(SELECTORS, { status: 404 });
  });
  await t.rejects(loading, {
    code: "ERR_CLUSTER_UNREADABLE",
    message: /^the cluster cannot be read: the cluster has no IAMRoleSelector .*; not allowed to list buckets\.s3\.services\.k8s\.aws /,
  });
  t.same(cluster.clock.delays, []);
});

test("a server that only asks for patience is waited for", async (t) => {
  const { cluster, loading } = await load(t, ({ refusals }) => refusals.set(BUCKETS, { status: 429 }));
  const delayMs = await cluster.clock.scheduled((ms) => ms < 60_000);
  cluster.refusals.clear();
  cluster.clock.advance(delayMs);
  t.equal((await loading).inventory.resources.size, 600);
});

test("a group that nobody knows and that may not be read is unlisted", async (t) => {
  const { loading } = await load(t, ({ objects, refusals }) => {
    objects.set(DEFINITIONS, [definition(S3, "Bucket"), definition("new.services.k8s.aws", "Thing")]);
    refusals.set("/apis/new.services.k8s.aws/v1alpha1/things", { status: 403 });
  });
  const { inventory } = await loading;
  t.equal(inventory.resources.size, 600);
  t.same([...inventory.unlisted("resources")], ["Thing.new.services.k8s.aws"]);
});
