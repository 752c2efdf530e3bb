import { NAMESPACES } from "../../../shared/core/namespaces.ts";
import { CARM_MAPS } from "../../../shared/carm/map-store.ts";
import { RESOURCES } from "../../../shared/ack/resources.ts";
import { test } from "tap";
import {
  BUCKETS, definition, DEFINITIONS, fakeCluster, isBackoff, NAMESPACES_PATH, resource, SELECTORS_PATH,
} from "../api/fake-cluster.ts";
import { eventually } from "./eventually.ts";

const S3 = "s3.services.k8s.aws";
const SQS = "sqs.services.k8s.aws";
const QUEUES = `/apis/${SQS}/v1alpha1/queues`;
const BUCKET = definition(S3, "Bucket");
const QUEUE = definition(SQS, "Queue");
const THING = definition("new.services.k8s.aws", "Thing");
const THINGS = "/apis/new.services.k8s.aws/v1alpha1/things";

test("the inventory is loaded when every installed ACK kind is listed", async (t) => {
  const { cluster, source } = await fakeCluster(t, [
    BUCKET, QUEUE, definition("example.com", "Other"), definition("services.k8s.aws", "FieldExport"),
  ]);
  const status = { ownerAccountID: "111122223333", region: "eu-west-1" };
  cluster.objects.set(BUCKETS, [resource("b", { status: { ackResourceMetadata: status } })]);
  cluster.blocked.set(BUCKETS, []);
  const started = source.start();
  const others = [SELECTORS_PATH, NAMESPACES_PATH, DEFINITIONS, QUEUES];
  await cluster.until(() => others.every((path) => cluster.watches.has(path)));
  await cluster.until(() => cluster.blocked.get(BUCKETS)?.length === 1);
  t.match(source.status, { loaded: false, lastSyncMs: null, fault: null });
  t.same([...source.inventory.unlisted(RESOURCES)], [`Bucket.${S3}`]);
  cluster.release(BUCKETS);
  await started;
  t.match(source.status, { loaded: true, fault: null });
  t.same([...source.inventory.unlisted(RESOURCES)], []);
  t.match([...source.inventory.of(RESOURCES).all()], [
    { group: S3, version: "v1alpha1", kind: "Bucket", namespace: "team-a", name: "b", status },
  ]);
  const resourceLists = cluster.lists.filter((list) => !/iamroleselectors|namespaces|customresource/.test(list));
  t.same(resourceLists.toSorted(), [`${BUCKETS}?limit=500`, `${QUEUES}?limit=500`]);
});

test("the inventory stays loaded while an added kind is unlisted", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET]);
  await source.start();
  cluster.objects.set(QUEUES, [resource("q")]);
  cluster.blocked.set(QUEUES, []);
  await cluster.emit(DEFINITIONS, "ADDED", QUEUE);
  await cluster.until(() => cluster.blocked.get(QUEUES)?.length === 1);
  t.match(source.status, { loaded: true, fault: null });
  t.same([...source.inventory.unlisted(RESOURCES)], [`Queue.${SQS}`]);
  t.equal(source.inventory.includes(RESOURCES), true, "the other kinds are still listed");
  cluster.release(QUEUES);
  await eventually(source, () => source.inventory.of(RESOURCES).size === 1);
  t.same([...source.inventory.unlisted(RESOURCES)], []);
  await cluster.emit(QUEUES, "DELETED", resource("q"));
  await eventually(source, () => source.inventory.of(RESOURCES).size === 0);
  t.same(source.inventory.kinds.groups, new Set([S3, SQS]));
});

test("lists a kind only after the API server serves the kind", async (t) => {
  const { cluster, source } = await fakeCluster(t, [
    definition(S3, "Bucket", { established: false }), definition(S3, "Unserved", { served: false }),
    definition(S3, "Wide", { scope: "Cluster" }),
  ]);
  await source.start();
  t.same(cluster.lists.length, 3);
  await cluster.emit(DEFINITIONS, "MODIFIED", BUCKET);
  await cluster.until(() => cluster.watches.has(BUCKETS));
  t.same(cluster.lists.slice(3), [`${BUCKETS}?limit=500`]);
});

test("removes the objects of a kind when its CustomResourceDefinition is deleted", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET, QUEUE]);
  cluster.objects.set(BUCKETS, [resource("a"), resource("b")]);
  cluster.objects.set(QUEUES, [resource("a")]);
  await source.start();
  await cluster.until(() => cluster.watches.has(BUCKETS));
  await cluster.emit(DEFINITIONS, "DELETED", BUCKET);
  await eventually(source, () => source.inventory.of(RESOURCES).size === 1);
  t.match([...source.inventory.of(RESOURCES).all()], [{ kind: "Queue" }]);
  await cluster.watches.get(BUCKETS)?.closed;
  t.match(source.status, { loaded: true, fault: null });

  await cluster.emit(DEFINITIONS, "ADDED", BUCKET);
  await eventually(source, () => source.inventory.of(RESOURCES).size === 3);
  t.equal(cluster.lists.filter((list) => list.startsWith(BUCKETS)).length, 2, "the kind is listed again");
});

test("the inventory is loaded when the last unlisted kind is removed", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET]);
  cluster.blocked.set(BUCKETS, []);
  const started = source.start();
  await cluster.until(() => cluster.blocked.get(BUCKETS)?.length === 1);
  await cluster.emit(DEFINITIONS, "DELETED", BUCKET);
  await started;
  t.same([...source.inventory.unlisted(RESOURCES)], []);
});

test("lists objects in the storage version, and lists them again when the storage version changes", async (t) => {
  const { cluster, source } = await fakeCluster(t, [definition(S3, "Bucket", { versions: ["v1alpha1", "v1"] })]);
  const next = BUCKETS.replace("v1alpha1", "v1");
  cluster.objects.set(BUCKETS, [resource("a"), resource("b")]);
  cluster.objects.set(next, [resource("b")]);
  await source.start();
  t.same([...source.inventory.of(RESOURCES).all()].map(({ version }) => version), ["v1alpha1", "v1alpha1"]);
  cluster.blocked.set(next, []);
  await cluster.emit(DEFINITIONS, "MODIFIED", definition(S3, "Bucket", { versions: ["v1", "v1alpha1"] }));
  await cluster.until(() => cluster.blocked.get(next)?.length === 1);
  t.same([...source.inventory.unlisted(RESOURCES)], [`Bucket.${S3}`]);
  cluster.release(next);
  await eventually(source, () => source.inventory.of(RESOURCES).size === 1);
  t.match([...source.inventory.of(RESOURCES).all()], [{ version: "v1", name: "b" }]);
  await cluster.watches.get(BUCKETS)?.closed;
  const listed = cluster.lists.length;
  await cluster.emit(DEFINITIONS, "MODIFIED", definition(S3, "Bucket", { versions: ["v1"] }));
  await eventually(source, () => source.inventory.kinds.versions(S3, "Bucket")?.served.length === 1);
  t.equal(cluster.lists.length, listed, "other changes of the definition do not cause a new list");
});

test("the inventory is not loaded while a kind cannot be listed, and the fault names the kind", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET, QUEUE]);
  cluster.errors.set(BUCKETS, { status: 403 });
  const started = source.start();
  await eventually(source, () => source.status.fault !== null);
  await cluster.until(() => cluster.watches.has(QUEUES));
  t.same(source.status, {
    loaded: false,
    isStalled: false,
    lastSyncMs: null,
    fault: `not allowed to list buckets.${S3} in the whole cluster; grant this user or ServiceAccount `
      + "the verbs list and watch on it: "
      + '"ack-role-resolver manifests rbac" prints such a rule; API server message: simulated',
  });
  cluster.errors.delete(BUCKETS);
  cluster.clock.advance(await cluster.clock.scheduled(isBackoff));
  await started;
  t.match(source.status, { loaded: true, fault: null });
});

test("reports a kind that the API server does not serve", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET]);
  cluster.errors.set(BUCKETS, { status: 404 });
  source.start().catch(() => undefined);
  await eventually(source, () => source.status.fault !== null);
  t.equal(source.status.fault, `the API server does not serve buckets.${S3} (404 on list) although its `
    + "CustomResourceDefinition exists; retrying; API server message: simulated");
});

test("the inventory is loaded even if a kind of an unknown group cannot be listed", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET, THING]);
  cluster.errors.set(THINGS, { status: 403 });
  await source.start();
  await eventually(source, () => source.status.fault !== null);
  t.match(source.status, { loaded: true, lastSyncMs: cluster.clock.steady() });
  t.match(source.status.fault, /not allowed to list things\.new\.services\.k8s\.aws /);
  t.match(source.status.fault, '"ack-role-resolver manifests rbac --extra-groups new.services.k8s.aws"');
  t.same([...source.inventory.unlisted(RESOURCES)], ["Thing.new.services.k8s.aws"]);
});

test("the inventory is not loaded while a kind of a group in --extra-groups cannot be listed", async (t) => {
  const { cluster, source } = await fakeCluster(t, [THING], { resources: { extraGroups: ["new.services.k8s.aws"] } });
  cluster.errors.set(THINGS, { status: 403 });
  source.start().catch(() => undefined);
  await eventually(source, () => source.status.fault !== null);
  t.equal(source.status.loaded, false);
});

test("lists 1,200 objects in three pages", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET]);
  cluster.objects.set(BUCKETS, Array.from({ length: 1_200 }, (_, i) => resource(`b-${i}`)));
  await source.start();
  t.equal(source.inventory.of(RESOURCES).size, 1_200);
  t.same(cluster.lists.filter((list) => list.startsWith(BUCKETS)), [
    `${BUCKETS}?limit=500`, `${BUCKETS}?limit=500&continue=500`, `${BUCKETS}?limit=500&continue=1000`,
  ]);
});

test("lists at most two resource kinds at a time", async (t) => {
  const kinds = ["A", "B", "C", "D", "E", "F"];
  const paths = kinds.map((kind) => `/apis/${S3}/v1alpha1/${kind.toLowerCase()}s`);
  const { cluster, source } = await fakeCluster(t, kinds.map((kind) => definition(S3, kind)));
  for (const path of paths) cluster.blocked.set(path, []);
  const started = source.start();
  const waiting = (): string[] => paths.filter((path) => (cluster.blocked.get(path)?.length ?? 0) > 0);
  await cluster.until(() => waiting().length === 2);
  t.same(waiting(), paths.slice(0, 2));
  const [first = ""] = paths;
  cluster.release(first);
  await cluster.until(() => cluster.watches.has(first) && waiting().length === 2);
  t.same(waiting(), paths.slice(1, 3), "the source lists the next kind");
  for (const path of paths) cluster.release(path);
  await started;
  t.same([...source.inventory.unlisted(RESOURCES)], []);
});

test("retries a 429 response after its Retry-After, and reports a fault at the fourth 429 response", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET]);
  cluster.errors.set(BUCKETS, { status: 429, headers: { "retry-after": "1" } });
  const faults: (string | null)[] = [];
  source.onChange(() => faults.push(source.status.fault));
  const started = source.start();
  for (let i = 1; i <= 3; i++) {
    await cluster.until(() => cluster.lists.filter((list) => list.startsWith(BUCKETS)).length === i);
    const delayMs = await cluster.clock.scheduled(isBackoff);
    t.equal(delayMs, 1000);
    if (i < 3) cluster.clock.advance(delayMs);
  }
  t.match(source.status, { loaded: false, fault: null });
  cluster.clock.advance(1000);
  await eventually(source, () => source.status.fault !== null);
  t.equal(source.status.fault, `the API server returned 429 on list buckets.${S3}; API server message: simulated`);
  cluster.errors.clear();
  cluster.clock.advance(await cluster.clock.scheduled(isBackoff));
  await started;
  t.match(source.status, { loaded: true, fault: null });
});

test("lists only selectors, namespaces and CRDs if the resources option is not set", async (t) => {
  const { cluster, source } = await fakeCluster(t, [BUCKET], { resources: undefined });
  await source.start();
  await cluster.until(() => cluster.watches.size === 3);
  t.same(cluster.lists.length, 3);
  t.equal(source.inventory.includes(RESOURCES), false);
  t.equal(source.inventory.includes(CARM_MAPS), false);
  t.equal(source.inventory.includes(NAMESPACES), true);
  t.match(source.inventory.kinds.versions(S3, "Bucket"), { storage: "v1alpha1", served: ["v1alpha1"] });
});

test("lists FieldExports only for an observer, and does not require them", async (t) => {
  const path = "/apis/services.k8s.aws/v1alpha1/fieldexports";
  const seen: unknown[] = [];
  const { cluster, source } = await fakeCluster(t, [definition("services.k8s.aws", "FieldExport")], {
    fieldExports: true, onObject: ({ kind }) => seen.push(kind),
  });
  cluster.objects.set(path, [resource("e")]);
  await source.start();
  await cluster.until(() => seen.includes("FieldExport"));
  t.equal(source.inventory.of(RESOURCES).size, 0);
});
