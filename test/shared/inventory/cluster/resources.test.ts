import { test } from "tap";
import {
  becomes, BUCKETS, definition, DEFINITIONS, fakeCluster, NAMESPACES, resource, SELECTORS,
} from "./fake-cluster.ts";

const S3 = "s3.services.k8s.aws";
const SQS = "sqs.services.k8s.aws";
const QUEUES = `/apis/${SQS}/v1alpha1/queues`;
const BUCKET = definition(S3, "Bucket");
const QUEUE = definition(SQS, "Queue");

test("it is loaded when the objects of every ACK kind installed have been listed", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET, QUEUE, definition("example.com", "Other"), definition("services.k8s.aws", "FieldExport")]);
  cluster.objects.set(BUCKETS, [resource("b", { status: { ackResourceMetadata: { ownerAccountID: "111122223333", region: "eu-west-1" } } })]);
  cluster.held.set(BUCKETS, []);
  const started = source.start();
  await cluster.until(() => [SELECTORS, NAMESPACES, DEFINITIONS, QUEUES].every((path) => cluster.watches.has(path)));
  await cluster.until(() => cluster.held.get(BUCKETS)?.length === 1);
  t.match(source.status, { loaded: false, lastSyncMs: null, fault: null });
  t.same([...source.inventory.unlisted("resources")], [`Bucket.${S3}`]);
  cluster.release(BUCKETS);
  await started;
  t.match(source.status, { loaded: true, fault: null });
  t.same([...source.inventory.unlisted("resources")], []);
  t.match([...source.inventory.resources.all()], [{ group: S3, version: "v1alpha1", kind: "Bucket", namespace: "team-a", name: "b", status: { ownerAccountID: "111122223333", region: "eu-west-1" } }]);
  t.same(cluster.lists.filter((list) => !/iamroleselectors|namespaces|customresource/.test(list)).toSorted(), [`${BUCKETS}?limit=500`, `${QUEUES}?limit=500`]);
});

test("a kind that appears is unlisted until its objects are known, and does not make the source unready", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET]);
  await source.start();
  cluster.objects.set(QUEUES, [resource("q")]);
  cluster.held.set(QUEUES, []);
  await cluster.emit(DEFINITIONS, "ADDED", QUEUE);
  await cluster.until(() => cluster.held.get(QUEUES)?.length === 1);
  t.match(source.status, { loaded: true, fault: null });
  t.same([...source.inventory.unlisted("resources")], [`Queue.${SQS}`]);
  t.equal(source.inventory.knows("resources"), true, "what is known of other kinds still counts");
  cluster.release(QUEUES);
  await becomes(source, () => source.inventory.resources.size === 1);
  t.same([...source.inventory.unlisted("resources")], []);
  await cluster.emit(QUEUES, "DELETED", resource("q"));
  await becomes(source, () => source.inventory.resources.size === 0);
  t.same(source.inventory.groups, new Set([S3, SQS]));
});

test("a kind that is not served yet is not asked for", async (t) => {
  const { cluster, source } = await fakeCluster(t, [
    definition(S3, "Bucket", { established: false }), definition(S3, "Unserved", { served: false }), definition(S3, "Wide", { scope: "Cluster" }),
  ]);
  await source.start();
  t.same(cluster.lists.length, 3);
  await cluster.emit(DEFINITIONS, "MODIFIED", BUCKET);
  await cluster.until(() => cluster.watches.has(BUCKETS));
  t.same(cluster.lists.slice(3), [`${BUCKETS}?limit=500`]);
});

test("a kind that is removed takes its objects along", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET, QUEUE]);
  cluster.objects.set(BUCKETS, [resource("a"), resource("b")]);
  cluster.objects.set(QUEUES, [resource("a")]);
  await source.start();
  await cluster.until(() => cluster.watches.has(BUCKETS));
  await cluster.emit(DEFINITIONS, "DELETED", BUCKET);
  await becomes(source, () => source.inventory.resources.size === 1);
  t.match([...source.inventory.resources.all()], [{ kind: "Queue" }]);
  await cluster.watches.get(BUCKETS)?.closed;
  t.match(source.status, { loaded: true, fault: null });

  await cluster.emit(DEFINITIONS, "ADDED", BUCKET);
  await becomes(source, () => source.inventory.resources.size === 3);
  t.equal(cluster.lists.filter((list) => list.startsWith(BUCKETS)).length, 2, "it is listed anew");
});

test("a kind that is removed before it was listed leaves nothing to wait for", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET]);
  cluster.held.set(BUCKETS, []);
  const started = source.start();
  await cluster.until(() => cluster.held.get(BUCKETS)?.length === 1);
  await cluster.emit(DEFINITIONS, "DELETED", BUCKET);
  await started;
  t.same([...source.inventory.unlisted("resources")], []);
});

test("objects are read in the version that is stored", async (t) => {
  const { cluster, source } = await fakeCluster(t, [definition(S3, "Bucket", { versions: ["v1alpha1", "v1"] })]);
  const next = BUCKETS.replace("v1alpha1", "v1");
  cluster.objects.set(BUCKETS, [resource("a"), resource("b")]);
  cluster.objects.set(next, [resource("b")]);
  await source.start();
  t.same([...source.inventory.resources.all()].map(({ version }) => version), ["v1alpha1", "v1alpha1"]);
  cluster.held.set(next, []);
  await cluster.emit(DEFINITIONS, "MODIFIED", definition(S3, "Bucket", { versions: ["v1", "v1alpha1"] }));
  await cluster.until(() => cluster.held.get(next)?.length === 1);
  t.same([...source.inventory.unlisted("resources")], [`Bucket.${S3}`]);
  cluster.release(next);
  await becomes(source, () => source.inventory.resources.size === 1);
  t.match([...source.inventory.resources.all()], [{ version: "v1", name: "b" }]);
  await cluster.watches.get(BUCKETS)?.closed;
  const asked = cluster.lists.length;
  await cluster.emit(DEFINITIONS, "MODIFIED", definition(S3, "Bucket", { versions: ["v1"] }));
  await becomes(source, () => source.inventory.kindVersions(S3, "Bucket")?.served.length === 1);
  t.equal(cluster.lists.length, asked, "another change of the definition lists nothing again");
});

test("one kind that may not be listed keeps the source from being loaded, and is named", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET, QUEUE]);
  cluster.refusals.set(BUCKETS, { status: 403 });
  const started = source.start();
  await becomes(source, () => source.status.fault !== null);
  await cluster.until(() => cluster.watches.has(QUEUES));
  t.same(source.status, {
    loaded: false,
    lastSyncMs: null,
    fault: `not allowed to list buckets.${S3} in the whole cluster; grant the verbs list and watch on it, as "ack-role-resolver manifests rbac" does; the API server said: refused`,
  });
  cluster.refusals.delete(BUCKETS);
  cluster.clock.advance(await cluster.clock.scheduled((ms) => ms < 60_000));
  await started;
  t.match(source.status, { loaded: true, fault: null });
});

test("a kind that is not served is named, with the verb", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET]);
  cluster.refusals.set(BUCKETS, { status: 404 });
  source.start().catch(() => undefined);
  await becomes(source, () => source.status.fault !== null);
  t.equal(source.status.fault, `the API server does not serve buckets.${S3} (404 on list), though its CustomResourceDefinition is there; it is asked again until it does; the API server said: refused`);
});

test("a group that nobody granted rights to is unlisted, and keeps nobody from the others", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET, definition("new.services.k8s.aws", "Thing")]);
  cluster.refusals.set("/apis/new.services.k8s.aws/v1alpha1/things", { status: 403 });
  await source.start();
  await becomes(source, () => source.status.fault !== null);
  t.match(source.status, { loaded: true, lastSyncMs: cluster.clock.now(), fault: /not allowed to list things\.new\.services\.k8s\.aws .*"ack-role-resolver manifests rbac --extra-groups new\.services\.k8s\.aws" does/ });
  t.same([...source.inventory.unlisted("resources")], ["Thing.new.services.k8s.aws"]);
});

test("with --extra-groups that group is waited for like any other", async (t) => {
  const { cluster, source } = await fakeCluster(t, [definition("new.services.k8s.aws", "Thing")], { resources: { extraGroups: ["new.services.k8s.aws"] } });
  cluster.refusals.set("/apis/new.services.k8s.aws/v1alpha1/things", { status: 403 });
  source.start().catch(() => undefined);
  await becomes(source, () => source.status.fault !== null);
  t.equal(source.status.loaded, false);
});

test("1,200 objects are read in three pages", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET]);
  cluster.objects.set(BUCKETS, Array.from({ length: 1_200 }, (_, i) => resource(`b-${i}`)));
  await source.start();
  t.equal(source.inventory.resources.size, 1_200);
  t.same(cluster.lists.filter((list) => list.startsWith(BUCKETS)), ["limit=500", "limit=500&continue=500", "limit=500&continue=1000"].map((query) => `${BUCKETS}?${query}`));
});

test("of many kinds two are listed at a time", async (t) => {
  const kinds = ["A", "B", "C", "D", "E", "F"];
  const paths = kinds.map((kind) => `/apis/${S3}/v1alpha1/${kind.toLowerCase()}s`);
  const { cluster, source } = await fakeCluster(t, kinds.map((kind) => definition(S3, kind)));
  for (const path of paths) cluster.held.set(path, []);
  const started = source.start();
  const waiting = (): string[] => paths.filter((path) => (cluster.held.get(path)?.length ?? 0) > 0);
  await cluster.until(() => waiting().length === 2);
  t.same(waiting(), paths.slice(0, 2));
  const [first = ""] = paths;
  cluster.release(first);
  await cluster.until(() => cluster.watches.has(first) && waiting().length === 2);
  t.same(waiting(), paths.slice(1, 3), "the next has its turn");
  for (const path of paths) cluster.release(path);
  await started;
  t.same([...source.inventory.unlisted("resources")], []);
});

test("a server that makes the storage of a kind is asked again when it says, and that is no fault", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET]);
  cluster.refusals.set(BUCKETS, { status: 429, headers: { "retry-after": "1" } });
  const faults: (string | null)[] = [];
  source.onChange(() => faults.push(source.status.fault));
  const started = source.start();
  for (let i = 1; i <= 3; i++) {
    await cluster.until(() => cluster.lists.filter((list) => list.startsWith(BUCKETS)).length === i);
    const delayMs = await cluster.clock.scheduled((ms) => ms < 60_000);
    t.equal(delayMs, 1000);
    if (i < 3) cluster.clock.advance(delayMs);
  }
  t.match(source.status, { loaded: false, fault: null });
  cluster.clock.advance(1000);
  await becomes(source, () => source.status.fault !== null);
  t.equal(source.status.fault, `the API server answered 429 on list buckets.${S3}; the API server said: refused`, "from the fourth in a row it is one");
  cluster.refusals.clear();
  cluster.clock.advance(await cluster.clock.scheduled((ms) => ms < 60_000));
  await started;
  t.match(source.status, { loaded: true, fault: null });
});

test("without resources nothing is asked but selectors, namespaces and definitions, and none are said to be known", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET], { resources: undefined });
  await source.start();
  await cluster.until(() => cluster.watches.size === 3);
  t.same(cluster.lists.length, 3);
  t.equal(source.inventory.knows("resources"), false);
  t.equal(source.inventory.knows("config maps"), false);
  t.equal(source.inventory.knows("namespaces"), true);
  t.same(source.inventory.kindVersions(S3, "Bucket"), { storage: "v1alpha1", served: ["v1alpha1"] });
});
