import { test } from "tap";
import { FakeKubernetes } from "../../certs/rotation/fake-kubernetes.ts";
import { FakeClock } from "../../shared/fake-clock.ts";
import { bucketObject } from "../../shared/objects.ts";
import { BUCKETS, createBuckets, pass, settle, startReplica, untilFirstWrite } from "./reconciler-fixture.ts";

const PATCH = `PATCH ${BUCKETS}`;

test("writes at most 25 resources per second, without a burst", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  createBuckets(api, Array.from({ length: 100 }, (_, i) => `b${i}`));
  const replica = startReplica(t, api, clock);
  await pass(clock, 6_000, api, [replica]);
  t.equal(replica.patches.length, 100);
  const times = replica.patches.map(({ atMs }) => atMs);
  t.same(times.slice(1).filter((atMs, i) => atMs - (times[i] ?? 0) < 40), [], "writes are at least 40 ms apart");
  t.ok((times.at(-1) ?? 0) - (times[0] ?? 0) <= 4_000, "and use the rate");
});

test("pauses after a write for as long as the write took, if the API server is slow", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  createBuckets(api, Array.from({ length: 10 }, (_, i) => `b${i}`));
  const hold = (): () => void => {
    const written = Promise.withResolvers<void>();
    api.held.set(PATCH, written.promise);
    return written.resolve;
  };
  let release = hold();
  const replica = startReplica(t, api, clock);
  await untilFirstWrite(clock, replica);
  for (let count = 1; count <= 5; count += 1) {
    await pass(clock, 500, api, [replica]);
    t.equal(replica.patches.length, count, "one write is in flight");
    release();
    release = hold();
    await pass(clock, 480, api, [replica]);
    t.equal(replica.patches.length, count, "and none after it for as long");
    await pass(clock, 20, api, [replica]);
  }
  release();
});

test("a mass of stale resources delays neither another namespace nor a later change of the same one", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  createBuckets(api, Array.from({ length: 2_000 }, (_, i) => `b${i}`));
  const replica = startReplica(t, api, clock);
  await untilFirstWrite(clock, replica);
  await pass(clock, 3_000, api, [replica]);
  const elsewhere = `${BUCKETS.replace("team-a", "kube-system")}/other`;
  const written = replica.patches.length;
  api.put(elsewhere, bucketObject({ name: "other", namespace: "kube-system" }));
  createBuckets(api, ["late"]);
  await pass(clock, 10_000, api, [replica]);
  const since = replica.patches.slice(written).map(({ path }) => path);
  t.ok(since.includes(elsewhere), "a resource of another namespace");
  t.ok(since.includes(`${BUCKETS}/late`), "a later resource of the namespace");
  t.ok(since.length > 200, "the mass goes on");
});

test("finds 50,000 stale resources, and writes 25 per second", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  createBuckets(api, Array.from({ length: 50_000 }, (_, i) => `b${i}`));
  const replica = startReplica(t, api, clock);
  let turns = 0;
  while ((await replica.metric("stale_resources")) !== 50_000) {
    clock.advance(100);
    await settle();
    turns += 1;
  }
  t.ok(turns > 0);
  const before = replica.patches.length;
  for (let i = 0; i < 500; i += 1) {
    clock.advance(20);
    await settle();
  }
  t.ok(replica.patches.length - before <= 250, `${replica.patches.length - before} writes in 10 s`);
  t.ok(replica.patches.length - before >= 225);
});
