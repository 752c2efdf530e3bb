import { RESOURCES } from "../../../shared/ack/resources.ts";
import { type Test, test } from "tap";
import { stringAt } from "../../../shared/formats/json.ts";
import {
  loadCluster, type LoadedCluster, type LoadOptions, type LoadProgress,
} from "../../../shared/sources/load-cluster.ts";
import {
  BUCKETS, definition, DEFINITIONS, FakeCluster, isBackoff, NAMESPACES_PATH, resource, SELECTORS_PATH,
} from "../api/fake-cluster.ts";

const S3 = "s3.services.k8s.aws";
const TEAM_A = { metadata: { name: "team-a", resourceVersion: "1" }, spec: { finalizers: ["kubernetes"] } };

async function load(
  t: Test, prepare: (cluster: FakeCluster) => void, options: Partial<LoadOptions> = {},
): Promise<{ readonly cluster: FakeCluster; readonly loading: Promise<LoadedCluster> }> {
  const cluster = new FakeCluster();
  await cluster.start();
  t.teardown(() => cluster.server.stop());
  cluster.objects.set(DEFINITIONS, [definition(S3, "Bucket")]);
  cluster.objects.set(NAMESPACES_PATH, [TEAM_A]);
  cluster.objects.set(BUCKETS, Array.from({ length: 600 }, (_, i) => resource(`b-${i}`)));
  prepare(cluster);
  const loading = loadCluster({
    runtime: "ack", api: cluster.server.api, clock: cluster.clock, resources: { extraGroups: [] }, ...options,
  });
  return { cluster, loading };
}

test("lists each kind of a cluster once, and returns the collected objects", async (t) => {
  const reported: LoadProgress[] = [];
  const { cluster, loading } = await load(t, () => {}, {
    collect: (object) => (stringAt(object, "kind") === "Namespace" ? object : null),
    onProgress: (progress) => reported.push(progress),
  });
  const { inventory, objects } = await loading;
  t.equal(inventory.of(RESOURCES).size, 600);
  t.same(objects, [{ apiVersion: "v1", kind: "Namespace", ...TEAM_A }], "collected objects are complete");
  t.same(reported.at(-1), { kinds: 4, listed: 4, objects: 602 });
  t.ok(reported.some(({ listed, objects: read }) => listed < 4 && read > 500), "progress is reported");
  t.same(cluster.clock.delays, [], "no timer is left");
});

test("reports every kind that cannot be listed, and does not retry the lists", async (t) => {
  const { cluster, loading } = await load(t, ({ errors }) => {
    errors.set(BUCKETS, { status: 403 });
    errors.set(SELECTORS_PATH, { status: 404 });
  });
  await t.rejects(loading, {
    code: "ERR_CLUSTER_UNREADABLE",
    message: /^The cluster cannot be read: .* the kind IAMRoleSelector .*; not allowed to list buckets\.s3\./,
  });
  t.same(cluster.clock.delays, []);
});

test("retries a list after a 429 response", async (t) => {
  const { cluster, loading } = await load(t, ({ errors }) => errors.set(BUCKETS, { status: 429 }));
  const delayMs = await cluster.clock.scheduled(isBackoff);
  cluster.errors.clear();
  cluster.clock.advance(delayMs);
  t.equal((await loading).inventory.of(RESOURCES).size, 600);
});

test("marks a kind of an unknown group as unlisted if the user is not allowed to list the kind", async (t) => {
  const { loading } = await load(t, ({ objects, errors }) => {
    objects.set(DEFINITIONS, [definition(S3, "Bucket"), definition("new.services.k8s.aws", "Thing")]);
    errors.set("/apis/new.services.k8s.aws/v1alpha1/things", { status: 403 });
  });
  const { inventory } = await loading;
  t.equal(inventory.of(RESOURCES).size, 600);
  t.same([...inventory.unlisted(RESOURCES)], ["Thing.new.services.k8s.aws"]);
});
