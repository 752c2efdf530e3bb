import { type Test, test } from "tap";
import type { AdmissionRequest } from "../../shared/core/admission.ts";
import { field, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { observedIn } from "../../shared/server/observed-denials.ts";
import { ObservedStore } from "../../webhook/observed-store.ts";
import { decodeReview } from "../../webhook/review.ts";
import { FakeKubernetes } from "../certs/rotation/fake-kubernetes.ts";
import { FIRST, selectorFor } from "../shared/objects.ts";
import { FakeClock } from "../sidecar/fake-clock.ts";
import { reviewOf } from "./reviews.ts";

const CONFIG_MAP = { namespace: "ns", name: "observed" };
const PATH = "/api/v1/namespaces/ns/configmaps/observed";
const DENIED = { code: "IRS-03", message: "not the ARN of a role" };

class Replica {
  readonly clock: FakeClock;
  readonly faults: unknown[] = [];
  readonly store: ObservedStore;

  constructor(api: FakeKubernetes, clock = new FakeClock()) {
    this.clock = clock;
    const log = { warn: (details: unknown) => void this.faults.push(details) };
    this.store = new ObservedStore({ api, clock: this.clock, log, configMap: CONFIG_MAP });
    this.store.start();
  }
}

function requestFor(name: string): AdmissionRequest {
  const json: JsonObject = { ...reviewOf(selectorFor(name, FIRST, [name])) };
  return decodeReview({ json, excess: null, isDiscarded: false });
}

function setUp(t: Test): { readonly api: FakeKubernetes; readonly first: Replica; readonly second: Replica } {
  const api = new FakeKubernetes();
  api.put(PATH, { apiVersion: "v1", kind: "ConfigMap", metadata: CONFIG_MAP });
  const [first, second] = [new Replica(api), new Replica(api)];
  t.teardown(() => Promise.all([first.store.stop(), second.store.stop()]));
  return { api, first, second };
}

const countsIn = (api: FakeKubernetes): unknown => (
  observedIn(api.object(PATH))?.denials.map(({ name, count }) => `${name} ${count}`).toSorted()
);

test("adds up what the replicas observe, and keeps it when they end", async (t) => {
  const { api, first, second } = setUp(t);
  await first.clock.advance(0);
  t.match(field(api.object(PATH), "data"), { since: "2026-08-01T12:00:00.000Z", denials: "" }, "since when it counts");
  first.store.add(requestFor("a"), DENIED);
  first.store.add(requestFor("a"), DENIED);
  second.store.add(requestFor("a"), DENIED);
  second.store.add(requestFor("b"), DENIED);
  await first.clock.advance(10_000);
  await second.clock.advance(10_000);
  t.same(countsIn(api), ["a 3", "b 1"]);
  second.store.add(requestFor("b"), DENIED);
  await second.store.stop();
  t.same(countsIn(api), ["a 3", "b 2"]);
  const third = new Replica(api);
  third.store.add(requestFor("c"), DENIED);
  await third.store.stop();
  t.same(countsIn(api), ["a 3", "b 2", "c 1"]);
});

test("keeps the counts until they can be written, and logs a fault once", async (t) => {
  const { api, first } = setUp(t);
  await first.clock.advance(0);
  api.remove(PATH);
  first.store.add(requestFor("a"), DENIED);
  await first.clock.advance(30_000);
  t.match(first.faults, [{ fault: /404/, fix: /manifests rbac/ }]);
  first.store.add(requestFor("a"), DENIED);
  api.put(PATH, { apiVersion: "v1", kind: "ConfigMap", metadata: CONFIG_MAP });
  await first.clock.advance(10_000);
  t.same(countsIn(api), ["a 2"]);
  t.equal(first.faults.length, 1);
});

test("repeats a write that conflicts with that of another replica", async (t) => {
  const { api, first, second } = setUp(t);
  await Promise.all([first.clock.advance(0), second.clock.advance(0)]);
  first.store.add(requestFor("a"), DENIED);
  second.store.add(requestFor("a"), DENIED);
  await Promise.all([first.clock.advance(20_000), second.clock.advance(20_000)]);
  t.same(countsIn(api), ["a 2"]);
  t.same(first.faults, []);
});

test("confirms each hour that it counts, and does not confirm what no replica has counted", async (t) => {
  const { api, first } = setUp(t);
  const periodOf = (): unknown => ["since", "until"].map((key) => stringAt(api.object(PATH), "data", key));
  await first.clock.advance(0);
  await first.clock.advance(3_600_000);
  t.same(periodOf(), ["2026-08-01T12:00:00.000Z", "2026-08-01T13:00:00.000Z"]);
  const later = new Replica(api, new FakeClock(Date.parse("2026-08-01T17:00:00Z")));
  await later.store.stop();
  t.same(periodOf(), ["2026-08-01T17:00:00.000Z", "2026-08-01T17:00:00.000Z"]);
});
