import { type Test, test } from "tap";
import { field, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { LeaderElection, takenLease } from "../../../shared/api/leader-election.ts";
import { FakeClock } from "../fake-clock.ts";
import { FakeKubernetes } from "../../certs/rotation/fake-kubernetes.ts";

const PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/tls";

interface Replica {
  readonly election: LeaderElection;
  readonly faults: (string | null)[];
  leading: number;
}

function replicaOf(t: Test, api: FakeKubernetes, clock: FakeClock, identity: string): Replica {
  const replica = { faults: [] as (string | null)[], leading: 0 };
  const election = new LeaderElection({
    api, clock,
    random: () => 0, namespace: "ns", name: "tls", identity,
    onLeading: () => (replica.leading += 1), onFault: (fault) => replica.faults.push(fault),
  });
  election.start();
  t.teardown(() => election.stop());
  return Object.assign(replica, { election });
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((done) => setImmediate(done));
}

/** Advances the clock in steps of the retry period. After each step, waits until each running replica pauses again. */
async function pass(clock: FakeClock, ms: number, replicas = 1): Promise<void> {
  const isPausing = (): boolean => clock.delays.length >= replicas && clock.delays.every((delay) => delay === 2_000);
  await until(isPausing);
  for (let passed = 0; passed < ms; passed += 2_000) {
    clock.advance(2_000);
    await until(isPausing);
  }
}

function holder(api: FakeKubernetes): string | null {
  return stringAt(field(api.object(PATH), "spec"), "holderIdentity");
}

test("one replica takes the Lease, renews it, and another one takes it 15 s after the last renewal", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  const first = replicaOf(t, api, clock, "first");
  await until(() => first.election.isLeader);
  t.match(api.object(PATH), {
    apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { namespace: "ns", name: "tls" },
    spec: {
      holderIdentity: "first", leaseDurationSeconds: 15, leaseTransitions: 0,
      acquireTime: "2026-01-01T00:00:00.000000Z", renewTime: "2026-01-01T00:00:00.000000Z",
    },
  });
  const second = replicaOf(t, api, clock, "second");
  await pass(clock, 30_000, 2);
  t.match([first.election.isLeader, second.election.isLeader, holder(api)], [true, false, "first"]);
  t.equal(first.leading, 1, "a renewal is not reported");
  t.match(api.object(PATH), { spec: { renewTime: "2026-01-01T00:00:30.000000Z", leaseTransitions: 0 } });

  api.rejected.set(`PUT ${PATH}`, 500);
  await pass(clock, 10_000, 2);
  t.equal(first.election.isLeader, false, "the leader stops 10 s after its last renewal");
  t.equal(second.election.isLeader, false, "and before another replica can take the Lease");
  t.match(first.faults.at(-1), /^PUT .*\/leases\/tls: the API server returned 500 \(Fake\)$/);
  api.rejected.clear();
  await first.election.stop();
  await pass(clock, 8_000);
  t.equal(holder(api), "second");
  t.match(api.object(PATH), { spec: { leaseTransitions: 1 } });
});

test("a replica releases the Lease when it stops, so that another one takes it immediately", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  const first = replicaOf(t, api, clock, "first");
  await until(() => first.election.isLeader);
  const second = replicaOf(t, api, clock, "second");
  await pass(clock, 2_000, 2);
  await first.election.stop();
  t.equal(holder(api), "");
  await pass(clock, 2_000);
  t.equal(second.election.isLeader, true);
});

test("two replicas that see an expired Lease at the same time do not both take it", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  const spec = { holderIdentity: "dead", leaseDurationSeconds: 15 };
  api.put(PATH, { metadata: { namespace: "ns", name: "tls" }, spec });
  const replicas = ["a", "b", "c"].map((identity) => replicaOf(t, api, clock, identity));
  await pass(clock, 20_000, 3);
  t.equal(replicas.filter(({ election }) => election.isLeader).length, 1);
});

test("reports why the Lease cannot be read, and null afterwards", async (t) => {
  const [api, clock] = [new FakeKubernetes(), new FakeClock()];
  api.rejected.set("GET", 403);
  const { faults, election } = replicaOf(t, api, clock, "first");
  await until(() => faults.length > 0);
  t.match(faults[0], /403 \(Fake\); apply the objects of `ack-role-resolver manifests rbac`$/);
  api.rejected.clear();
  await pass(clock, 2_000);
  t.equal(faults.at(-1), null);
  t.equal(election.isLeader, true);
});

test("takenLease waits for the duration that the holder set, and replaces an invalid Lease", (t) => {
  const held = (spec: JsonObject): JsonObject => ({ spec: { holderIdentity: "other", ...spec } });
  const taken = (lease: JsonObject, unchangedMs: number): boolean => (
    takenLease(lease, { identity: "me", unchangedMs, nowMs: 0 }) !== null
  );
  t.equal(taken(held({ leaseDurationSeconds: 60 }), 59_999), false);
  t.equal(taken(held({ leaseDurationSeconds: 60 }), 60_000), true);
  t.equal(taken(held({}), 14_999), false);
  t.equal(taken({}, 0), true);
  t.equal(taken({ spec: "invalid" }, 0), true);
  t.end();
});
