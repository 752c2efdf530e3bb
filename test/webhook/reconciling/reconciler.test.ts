import { test } from "tap";
import { type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import {
  clusterObject, controllerIdentity, INFRASTRUCTURE, roleIdentity,
} from "../../shared/capa-objects.ts";
import { bucketObject, kindObject, ROLE } from "../../shared/objects.ts";
import { FakeClock } from "../../shared/fake-clock.ts";
import { FakeKubernetes } from "../../certs/rotation/fake-kubernetes.ts";
import {
  annotationOf, BUCKETS, createBuckets, LEASE, OTHER_ROLE, pass, selectorTo, settle, startReplica,
  untilFirstWrite,
} from "./reconciler-fixture.ts";

const PATCH = `PATCH ${BUCKETS}`;
const OUTCOME = "ack-role-resolver.io/outcome";

test("annotates resources that were admitted without the webhook, and follows a changed selector", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  createBuckets(api, ["a", "b"], { annotations: { "ack-role-resolver.io/conflicting-selectors": "x", other: "kept" } });
  const replica = startReplica(t, api, clock);
  await pass(clock, 2_000, api, [replica]);
  t.same(["a", "b"].map((name) => annotationOf(api, name, "role-arn")), [ROLE, ROLE]);
  t.equal(annotationOf(api, "a", "conflicting-selectors"), null, "an annotation that does not hold is removed");
  t.match(api.object(`${BUCKETS}/a`), { metadata: { annotations: { other: "kept" } } });
  t.equal(await replica.metric("refreshes_total", { outcome: "ok" }), 2);

  replica.source.put(selectorTo(OTHER_ROLE, "2"));
  await pass(clock, 3_000, api, [replica]);
  t.same(["a", "b"].map((name) => annotationOf(api, name, "role-arn")), [OTHER_ROLE, OTHER_ROLE]);
  t.equal(annotationOf(api, "a", "selector-resource-version"), "2");
  await pass(clock, 61_000, api, [replica]);
  t.equal(await replica.metric("stale_resources"), 0);
  t.equal(replica.patches.length, 4, "current annotations are not written again");
  t.match(replica.lines.join(""), /stale annotations found[^]*all annotations are current/);
});

test("annotates clusters with the rate and the queue of resources, and follows a changed identity", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  const path = `/apis/${INFRASTRUCTURE}/v1beta2/namespaces/team-a/awsclusters/c`;
  api.put(path, clusterObject("c", "role/r", "team-a"));
  createBuckets(api, ["a", "b"]);
  const replica = startReplica(t, api, clock);
  const versions = [{ name: "v1beta2", served: true, storage: true }];
  const identity = (resourceVersion: string, list: readonly string[]): JsonObject => (
    { ...roleIdentity("r", "controller", { list }), metadata: { name: "r", resourceVersion } }
  );
  const outcome = (): string | null => stringAt(api.object(path), "metadata", "annotations", OUTCOME);
  replica.source.put(
    kindObject("AWSCluster", INFRASTRUCTURE, versions), controllerIdentity(), identity("1", ["team-a"]),
  );
  await pass(clock, 4_000, api, [replica]);
  t.same(replica.patches.map((patch) => patch.path), [`${BUCKETS}/a`, `${BUCKETS}/b`, path]);
  t.equal(outcome(), "selected");
  t.equal(stringAt(api.object(path), "spec", "region"), "eu-west-1", "the spec stays the same");

  replica.source.put(identity("2", ["team-a"]));
  await pass(clock, 15_000, api, [replica]);
  t.equal(replica.patches.length, 3, "another resource version of the identity changes nothing");
  replica.source.put(identity("3", []));
  await pass(clock, 15_000, api, [replica]);
  t.equal(outcome(), "refused");
  t.equal(replica.patches.length, 4);
});

test("writes nothing if only the resource version of the selector changes", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  createBuckets(api, ["a"]);
  const replica = startReplica(t, api, clock);
  await pass(clock, 1_000, api, [replica]);
  replica.source.put(selectorTo(ROLE, "2"));
  await pass(clock, 5_000, api, [replica]);
  t.equal(annotationOf(api, "a", "selector-resource-version"), "1");
  t.equal(replica.patches.length, 1);
});

test("does not write resources that are being deleted", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  createBuckets(api, ["going"], { deletionTimestamp: "2026-01-01T00:00:00Z" });
  const replica = startReplica(t, api, clock);
  await pass(clock, 61_000, api, [replica]);
  t.same(replica.patches, []);
  t.equal(await replica.metric("stale_resources"), 0);
});

test("also writes resources in kube-system and in the namespace of the webhook", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  for (const namespace of ["ack-role-resolver", "kube-system"]) {
    api.put(`${BUCKETS.replace("team-a", namespace)}/b`, bucketObject({ name: "b", namespace }));
  }
  const replica = startReplica(t, api, clock);
  await pass(clock, 61_000, api, [replica]);
  t.equal(replica.patches.length, 2);
});

test("does not write a resource that is deleted, or whose annotations are corrected, after the scan", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  createBuckets(api, Array.from({ length: 30 }, (_, i) => `b${i}`));
  const replica = startReplica(t, api, clock);
  await untilFirstWrite(clock, replica);
  t.equal(replica.patches.length, 1);
  for (let i = 1; i < 30; i += 1) {
    api.remove(`${BUCKETS}/b${i}`);
    replica.source.inventory.apply([
      { type: "remove", group: "s3.services.k8s.aws", kind: "Bucket", namespace: "team-a", name: `b${i}` },
    ]);
  }
  await pass(clock, 5_000, api, [replica]);
  t.equal(replica.patches.length, 1);
});

test("reads the resource again after a conflict, and writes other resources meanwhile", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  createBuckets(api, ["a", "b"]);
  const replica = startReplica(t, api, clock);
  api.change(`${BUCKETS}/a`, (bucket) => ({ ...bucket, spec: { name: "changed" } }));
  await untilFirstWrite(clock, replica);
  t.equal(await replica.metric("refreshes_total", { outcome: "conflict" }), 1);
  t.equal(annotationOf(api, "a", "role-arn"), null);
  await pass(clock, 3_000, api, [replica]);
  t.same(["a", "b"].map((name) => annotationOf(api, name, "role-arn")), [ROLE, ROLE]);
  t.match(api.object(`${BUCKETS}/a`), { spec: { name: "changed" } }, "the change of the other client is kept");
});

test("counts a rejected write, retries it later, and writes the other resources", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  createBuckets(api, ["bad", "worse", "good"]);
  api.rejected.set(`${PATCH}/bad`, 403).set(`${PATCH}/worse`, 403);
  const replica = startReplica(t, api, clock);
  await pass(clock, 10_000, api, [replica]);
  t.equal(annotationOf(api, "good", "role-arn"), ROLE);
  t.equal(await replica.metric("failing_refreshes"), 2);
  t.equal(await replica.metric("refreshes_total", { outcome: "fault" }), 4, "both were retried after 1 s");
  const faults = replica.lines.filter((line) => line.includes("annotations could not be updated"));
  t.equal(faults.length, 1, "thousands of equal faults are logged once");
  t.match(faults[0], /403 \(Fake\)/);
  api.rejected.clear();
  await pass(clock, 40_000, api, [replica]);
  t.equal(annotationOf(api, "bad", "role-arn"), ROLE);
  t.equal(await replica.metric("failing_refreshes"), 0);
});

test("during an outage of the API server, sends few writes, and resumes afterwards", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  createBuckets(api, Array.from({ length: 20 }, (_, i) => `b${i}`));
  api.rejected.set(PATCH, 503);
  const replica = startReplica(t, api, clock);
  await pass(clock, 4_000, api, [replica]);
  t.ok(replica.patches.length <= 6, `${replica.patches.length} writes in 4 s`);
  api.rejected.clear();
  await pass(clock, 120_000, api, [replica]);
  t.equal(await replica.metric("refreshes_total", { outcome: "ok" }), 20);
});

test("does not write while its inventory is older than 5 minutes", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  createBuckets(api, ["a"]);
  const replica = startReplica(t, api, clock);
  replica.source.lastSyncMs = clock.steady() - 300_001;
  await pass(clock, 5_000, api, [replica]);
  t.same(replica.patches, []);
  replica.source.lastSyncMs = null;
  await pass(clock, 2_000, api, [replica]);
  t.equal(replica.patches.length, 1);
});

test("a replica writes only while it holds the Lease, and releases the Lease after its last write", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  createBuckets(api, Array.from({ length: 200 }, (_, i) => `b${i}`));
  const first = startReplica(t, api, clock);
  await settle();
  const second = startReplica(t, api, clock, { identity: "second" });
  await pass(clock, 4_000, api, [first, second]);
  t.ok(first.patches.length > 0);
  t.same(second.patches, []);
  t.same(await Promise.all([first, second].map(({ metric }) => metric("reconciling_leader"))), [1, 0]);
  t.equal(await second.metric("stale_resources"), undefined);

  const written = Promise.withResolvers<void>();
  api.held.set(PATCH, written.promise);
  await pass(clock, 400, api, [first, second]);
  const closed = first.reconciler.close();
  await pass(clock, 1_000, api, [first, second]);
  t.match(api.object(LEASE), { spec: { holderIdentity: "first" } }, "a write is in flight");
  api.held.clear();
  written.resolve();
  await closed;
  await pass(clock, 5_000, api, [second]);
  t.match(api.object(LEASE), { spec: { holderIdentity: "second" } });
  t.ok((second.patches[0]?.atMs ?? 0) > (first.patches.at(-1)?.atMs ?? Infinity));
});

test("a leader that cannot renew the Lease stops writing before another replica can take the Lease", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  createBuckets(api, Array.from({ length: 500 }, (_, i) => `b${i}`));
  const first = startReplica(t, api, clock);
  await pass(clock, 2_000, api, [first]);
  api.rejected.set(`PUT ${LEASE}`, 500);
  const second = startReplica(t, api, clock, { identity: "second" });
  await pass(clock, 12_000, api, [first, second]);
  const stoppedMs = first.patches.at(-1)?.atMs ?? 0;
  t.ok(clock.now() - stoppedMs >= 2_000, "10 s after the last renewal");
  t.equal(await first.metric("reconciling_leader"), 0);
  t.match(first.lines.join(""), /Lease of the webhook cannot be read or written/);
  await first.reconciler.close();
  api.rejected.clear();
  await pass(clock, 10_000, api, [second]);
  t.ok((second.patches[0]?.atMs ?? 0) > stoppedMs);
});

test("a replica that was paused while another replica took the Lease writes nothing", async (t) => {
  const [api, clock, otherClock] = [new FakeKubernetes(), new FakeClock(), new FakeClock()];
  createBuckets(api, Array.from({ length: 500 }, (_, i) => `b${i}`));
  const paused = startReplica(t, api, clock);
  await pass(clock, 2_000, api, [paused]);
  const before = paused.patches.length;
  t.ok(before > 0);
  const other = startReplica(t, api, otherClock, { identity: "other" });
  await pass(otherClock, 20_000, api, [other]);
  t.ok(other.patches.length > 0, "the other replica leads while the first one is paused");

  clock.jump(20_000);
  await settle();
  await pass(clock, 5_000, api, [paused]);
  t.equal(paused.patches.length, before);
  t.equal(await paused.metric("reconciling_leader"), 0);
});

test("a write that a paused replica had already sent does not overwrite the write of the next leader", async (t) => {
  const [api, clock, otherClock] = [new FakeKubernetes(), new FakeClock(), new FakeClock()];
  createBuckets(api, ["a"]);
  const delayed = Promise.withResolvers<void>();
  api.held.set(PATCH, delayed.promise);
  const paused = startReplica(t, api, clock);
  await untilFirstWrite(clock, paused);
  t.equal(paused.patches.length, 1);
  api.held.clear();
  const other = startReplica(t, api, otherClock, { identity: "other" });
  other.source.put(selectorTo(OTHER_ROLE, "2"));
  await pass(otherClock, 20_000, api, [other]);
  t.equal(annotationOf(api, "a", "role-arn"), OTHER_ROLE);
  delayed.resolve();
  await settle();
  t.equal(annotationOf(api, "a", "role-arn"), OTHER_ROLE);
  t.equal(await paused.metric("refreshes_total", { outcome: "conflict" }), 1);
});
