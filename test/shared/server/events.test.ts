import { type Test, test } from "tap";
import { field, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { LIMITS } from "../../../shared/core/limits.ts";
import type { EventText } from "../../../shared/server/event-series.ts";
import { EventRecorder } from "../../../shared/server/events.ts";
import { FakeKubernetes } from "../../certs/rotation/fake-kubernetes.ts";
import { FakeClock } from "../fake-clock.ts";
import type { EventSubject } from "../../../shared/formats/object-meta.ts";

const EVENTS = "/apis/events.k8s.io/v1/namespaces";
const CONFLICT: EventText = { type: "Warning", reason: "SelectorConflict", action: "Resolve", note: "two select it" };

function bucket(name: string, uid: string | null = `uid-${name}`): EventSubject {
  return { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", namespace: "team-a", name, uid };
}

const SELECTOR: EventSubject = {
  apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", namespace: "", name: "gold", uid: "u1",
};

interface Fixture {
  readonly api: FakeKubernetes;
  readonly clock: FakeClock;
  readonly recorder: EventRecorder;
  readonly outcomes: string[];
  /** The logged faults. */
  readonly faults: string[];
  /** Advances the clock in steps of 1 s. */
  readonly pass: (seconds: number) => Promise<void>;
  readonly written: () => JsonObject[];
}

function fixture(
  t: Test, api = new FakeKubernetes(), { identity = "replica", mayWrite = (): boolean => true } = {},
): Fixture {
  const clock = new FakeClock();
  const outcomes: string[] = [];
  const faults: string[] = [];
  const recorder = new EventRecorder({
    api, random: () => 0, controller: "ack-role-resolver.io/webhook", identity, mayWrite,
    clock,
    metrics: { events: { inc: ({ outcome }) => void outcomes.push(outcome) } },
    log: { warn: ({ fault }: { fault: string }) => void faults.push(fault) },
  });
  const stopping = new AbortController();
  const running = recorder.run(stopping.signal);
  t.teardown(async () => {
    stopping.abort();
    await running;
  });
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second <= seconds; second += 1) {
      if (second > 0) clock.advance(1_000);
      for (let turn = 0; turn < 20; turn += 1) await new Promise((done) => setImmediate(done));
    }
  };
  const written = (): JsonObject[] => (
    [...api.objects].filter(([path]) => path.startsWith(EVENTS)).map(([, event]) => event)
  );
  return { api, clock, recorder, outcomes, faults, pass, written };
}

test("writes an Event that kubectl describe shows: with the UID, in the namespace of the object", async (t) => {
  const { recorder, pass, written, outcomes } = fixture(t);
  recorder.record(bucket("b1"), CONFLICT);
  recorder.record(SELECTOR, CONFLICT);
  await pass(2);
  const [ofSelector, ofBucket] = written();
  t.match(ofBucket, {
    apiVersion: "events.k8s.io/v1", kind: "Event", type: "Warning", reason: "SelectorConflict", note: "two select it",
    action: "Resolve", reportingController: "ack-role-resolver.io/webhook", reportingInstance: "replica",
    metadata: { namespace: "team-a", name: /^b1\.[0-9a-f]{16}$/ },
    regarding: {
      apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", namespace: "team-a", name: "b1", uid: "uid-b1",
    },
  });
  t.match(ofSelector, { metadata: { namespace: "default" }, regarding: { name: "gold", uid: "u1" } });
  t.equal(field(ofSelector?.["regarding"], "namespace"), undefined);
  t.same(outcomes, ["ok", "ok"]);
});

test("has one series per object and reason, which it updates at most every 30 minutes", async (t) => {
  const { recorder, pass, written, api } = fixture(t);
  for (let minute = 0; minute < 65; minute += 1) {
    recorder.record(bucket("b1"), CONFLICT);
    await pass(60);
  }
  t.equal(written().length, 1);
  t.match(written()[0], { series: { count: 61, lastObservedTime: /^2026-01-01T01:0/ } });
  t.equal(api.requests.filter((request) => request.startsWith("PATCH")).length, 2);
});

test("1,000 broken resources cause at most one write per second", async (t) => {
  const { recorder, pass, api } = fixture(t);
  const report = (): void => {
    for (let i = 0; i < 1_000; i += 1) recorder.record(bucket(`b${i}`), CONFLICT);
  };
  report();
  await pass(60);
  t.ok(api.requests.length <= 61, `${api.requests.length} writes in 60 s`);
  t.ok(api.requests.length >= 59);
  report();
  recorder.record(SELECTOR, CONFLICT);
  await pass(2);
  t.equal(api.requests.filter((request) => request.includes("/default/")).length, 1, "a selector does not wait");
  await pass(1_000);
  t.equal(api.requests.length, 1_001, "each object has one Event");
});

test("starts another Event after 10 minutes if the note has changed", async (t) => {
  const { recorder, pass, written } = fixture(t);
  const other = { ...CONFLICT, note: "three select it" };
  recorder.record(bucket("b1"), CONFLICT);
  await pass(1);
  recorder.record(bucket("b1"), other);
  await pass(1);
  t.equal(written().length, 1);
  await pass(600);
  recorder.record(bucket("b1"), other);
  await pass(1);
  t.same(written().map(({ note }) => note), ["two select it", "three select it"]);
});

test("continues the series that another replica created", async (t) => {
  const api = new FakeKubernetes();
  const first = fixture(t, api);
  first.recorder.record(bucket("b1"), CONFLICT);
  await first.pass(1);
  const second = fixture(t, api, { identity: "second" });
  second.recorder.record(bucket("b1"), CONFLICT);
  await second.pass(2);
  t.equal(second.written().length, 1);
  t.match(second.written()[0], { reportingInstance: "replica", series: { count: 2 } });
  t.same(second.outcomes, ["ok"]);
});

test("creates an Event again that has expired", async (t) => {
  const { recorder, pass, written, api } = fixture(t);
  recorder.record(bucket("b1"), CONFLICT);
  await pass(1);
  const name = stringAt(written()[0], "metadata", "name") ?? "";
  api.remove(`${EVENTS}/team-a/events/${name}`);
  await pass(1_800);
  recorder.record(bucket("b1"), CONFLICT);
  await pass(2);
  t.equal(written().length, 1);
});

test("counts and logs an Event that cannot be written, retries it, and writes the others", async (t) => {
  const { recorder, pass, written, api, outcomes, faults } = fixture(t);
  api.rejected.set(`POST ${EVENTS}/team-a`, 403);
  recorder.record(bucket("b1"), CONFLICT);
  recorder.record({ ...bucket("b2"), namespace: "team-b" }, CONFLICT);
  await pass(3);
  t.match(faults, [/^POST .*: the API server returned 403 \(Fake\)/]);
  t.same(written().map(({ metadata }) => field(metadata, "namespace")), ["team-b"]);
  api.rejected.clear();
  await pass(31);
  t.equal(written().length, 2);
  t.equal(outcomes.filter((outcome) => outcome === "failed").length, 2, "after 1 s, and after 30 s");
});

test("during an outage, sends few requests", async (t) => {
  const { recorder, pass, api, outcomes } = fixture(t);
  api.rejected.set("POST", 503);
  for (let i = 0; i < 100; i += 1) recorder.record(bucket(`b${i}`), CONFLICT);
  await pass(20);
  t.ok(outcomes.length <= 21);
  api.rejected.clear();
  await pass(200);
  t.equal(outcomes.filter((outcome) => outcome === "ok").length, 100);
});

test("writes nothing while another replica leads, and forgets its series", async (t) => {
  let isLeader = false;
  const { recorder, pass, api } = fixture(t, new FakeKubernetes(), { mayWrite: () => isLeader });
  recorder.record(bucket("b1"), CONFLICT);
  await pass(5);
  t.same(api.requests, []);
  recorder.clear();
  isLeader = true;
  await pass(5);
  t.same(api.requests, []);
});

test("limits the number of series, and accepts new ones when old ones are forgotten", async (t) => {
  const { recorder, pass, outcomes } = fixture(t, new FakeKubernetes(), { mayWrite: () => false });
  const limit = LIMITS.eventSeries.value;
  for (let i = 0; i <= limit; i += 1) recorder.record(bucket(`b${i}`), CONFLICT);
  t.same(outcomes, ["limited"]);
  await pass(1);
  recorder.record(bucket("one-more"), CONFLICT);
  t.equal(outcomes.length, 2);
});

test("forgets a series that was not recorded for 2 hours, but not one that was recorded again", async (t) => {
  const { recorder, pass, outcomes } = fixture(t);
  const limit = LIMITS.eventSeries.value;
  for (let i = 0; i < limit; i += 1) recorder.record(bucket(`b${i}`), CONFLICT);
  await pass(7_100);
  recorder.record(bucket("b0"), CONFLICT);
  await pass(200);
  const before = outcomes.length;
  for (let i = 1; i < limit; i += 1) recorder.record(bucket(`c${i}`), CONFLICT);
  t.equal(outcomes.length, before);
  recorder.record(bucket("one-more"), CONFLICT);
  t.same(outcomes.slice(before), ["limited"]);
});

test("writes an Event about a selector, although there are too many broken resources", async (t) => {
  const { recorder, pass, written } = fixture(t);
  for (let i = 0; i <= LIMITS.eventSeries.value; i += 1) recorder.record(bucket(`b${i}`), CONFLICT);
  recorder.record(SELECTOR, CONFLICT);
  await pass(0);
  t.same(written().map(({ regarding }) => field(regarding, "name")), ["gold"]);
});

test("does not retry an Event of a deleted namespace, and writes it if the namespace exists again", async (t) => {
  const { recorder, pass, written, api, outcomes } = fixture(t);
  api.rejected.set(`POST ${EVENTS}/team-a`, 404);
  recorder.record(bucket("b1"), CONFLICT);
  await pass(3_600);
  t.same(outcomes, ["failed"]);
  api.rejected.clear();
  recorder.record(bucket("b1"), CONFLICT);
  await pass(2);
  t.equal(written().length, 1);
});

test("truncates a long note without splitting a character, and a long name", async (t) => {
  const { recorder, pass, written } = fixture(t);
  recorder.record(bucket(`${"a".repeat(199)}.${"b".repeat(50)}`, null), { ...CONFLICT, note: "é".repeat(1_000) });
  await pass(1);
  const note = stringAt(written()[0], "note") ?? "";
  t.ok(Buffer.byteLength(note) <= 1_024);
  t.match(note, /é\.\.\.$/);
  t.notMatch(note, "\uFFFD");
  t.match(stringAt(written()[0], "metadata", "name"), /^a{199}\.[0-9a-f]{16}$/);
});
