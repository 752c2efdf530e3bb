import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { LIMITS } from "../../../shared/core/limits.ts";
import type { EffectiveSelector } from "../../../shared/core/effective-selector.ts";
import type { ReviewedSelector } from "../../../shared/ack/kinds-at-risk.ts";
import { concernsSelector, pendingSelectors, reviewedSelector } from "../../../shared/ack/pending-selectors.ts";
import { possibleStates } from "../../../shared/core/pending-changes.ts";
import { type Added, inProcess, PendingList, type ReviewedChange } from "../../../webhook/pending/list.ts";
import { type PendingWrite, PendingWrites } from "../../../webhook/pending/writes.ts";
import type { FetchedObject } from "../../../webhook/object-fetch.ts";
import { bucketObject, FIRST, selectorFor } from "../../shared/objects.ts";
import { FakeClock } from "../../sidecar/fake-clock.ts";
import { objectAt } from "../reviews.ts";
import { FakeSource } from "../webhook-under-test.ts";

const TEAM_A = selectorFor("team-a", FIRST, ["team-a"]);
/** TEAM_A before an update. */
const OLD = selectorFor("team-a", FIRST, ["team-old"]);
const OTHER = selectorFor("other", FIRST, ["team-a"]);

function withVersion(object: JsonObject, resourceVersion: string): JsonObject {
  return { ...object, metadata: { ...objectAt(object, "metadata"), resourceVersion } };
}

const RUNTIME = "ack";
const KIND = pendingSelectors(RUNTIME);

class Subject {
  readonly source: FakeSource;
  readonly clock = new FakeClock();
  readonly stored = new Map<string, FetchedObject>();
  readonly list: PendingList;
  readonly pending: PendingWrites<EffectiveSelector>;

  constructor(...objects: readonly JsonObject[]) {
    this.source = new FakeSource(objects);
    this.list = new PendingList({ source: this.source, kinds: [KIND], clock: this.clock });
    const fetchObject = async (name: string): Promise<FetchedObject> => this.stored.get(name) ?? "absent";
    this.pending = new PendingWrites({ store: inProcess(this.list), kind: KIND, clock: this.clock, fetchObject });
  }

  async admit(object: JsonObject, { old = null, isDeletion = false }: Partial<ReviewedChange> = {}): Promise<Added> {
    return await this.pending.add({ object, old, isDeletion }, () => true, () => 1_000);
  }

  concerning(reviewed: ReviewedSelector): readonly PendingWrite<EffectiveSelector>[] {
    return this.pending.all().filter((write) => concernsSelector(reviewed, write, this.source.inventory));
  }

  get names(): readonly string[] {
    return this.pending.all().map(({ name }) => name);
  }
}

const REVIEWED = reviewedSelector({ object: OTHER, old: null, requester: null, origin: "cluster" }, RUNTIME);

function withUID(object: JsonObject, uid: string, resourceVersion: string): JsonObject {
  return { ...object, metadata: { ...objectAt(object, "metadata"), uid, resourceVersion } };
}

test("a creation is pending until the inventory contains the same object", async (t) => {
  const subject = new Subject();
  await subject.admit(withUID(TEAM_A, "uid-1", ""));
  subject.source.put(withUID(TEAM_A, "uid-0", "9"));
  t.same(subject.names, ["team-a"], "the API server can store it when the other one is deleted");
  subject.source.put(withUID(TEAM_A, "uid-1", "10"));
  subject.source.inventory.apply([
    { type: "remove", group: "services.k8s.aws", kind: "IAMRoleSelector", namespace: "", name: "team-a" },
  ]);
  t.same(subject.names, [], "the selector was created and deleted");
  t.equal(subject.source.listeners, 0);
});

test("an update is pending until the inventory contains a newer version, also one that has more digits", async (t) => {
  const subject = new Subject(withVersion(OLD, "7"));
  await subject.admit(TEAM_A, { old: withVersion(OLD, "9") });
  for (const version of ["8", "9"]) {
    subject.source.put(withVersion(TEAM_A, version));
    t.same(subject.names, ["team-a"], version);
  }
  subject.source.put(withVersion(TEAM_A, "10"));
  t.same(subject.names, []);
  t.equal(subject.list.versions.get("IAMRoleSelector"), "10");
});

test("a deletion is pending until the watch has passed the deleted version", async (t) => {
  const subject = new Subject();
  let position = "8";
  subject.source.positionOf = () => position;
  await subject.admit(withVersion(TEAM_A, "9"), { isDeletion: true });
  await subject.admit(withVersion(OTHER, "8"), { isDeletion: true });
  t.same(subject.names, ["team-a"], "the watch has not delivered the creation yet");
  position = "11";
  t.same(subject.names, []);
});

test("an update of a deleted object is pending for 34 s if the position of the watch is unknown", async (t) => {
  const subject = new Subject();
  await subject.admit(TEAM_A, { old: withVersion(OLD, "9") });
  await subject.admit(withVersion(OTHER, "8"), { isDeletion: true });
  t.same(subject.names, ["team-a"]);
  await subject.clock.advance(LIMITS.pendingMs.value - 1);
  t.same(subject.names, ["team-a"]);
  await subject.clock.advance(1);
  t.same(subject.names, []);
});

test("equal changes of one object count once, and have the newest base", async (t) => {
  const subject = new Subject(withVersion(OLD, "1"));
  for (const version of ["7", "5"]) await subject.admit(TEAM_A, { old: withVersion(OLD, version) });
  t.same(subject.names, ["team-a"]);
  subject.source.put(withVersion(TEAM_A, "6"));
  t.same(subject.names, ["team-a"]);
  subject.source.put(withVersion(TEAM_A, "8"));
  t.same(subject.names, []);
});

test("a creation that is sent again, and so has another UID, counts once", async (t) => {
  const subject = new Subject();
  for (let i = 0; i < 10; i++) t.equal(await subject.admit(withUID(TEAM_A, `uid-${i}`, "")), "added");
  t.same(subject.names, ["team-a"]);
});

test("refuses more than 4 different changes of one object, and more than 256 Ki characters", async (t) => {
  const subject = new Subject();
  for (let i = 0; i < 4; i++) t.equal(await subject.admit(selectorFor("a", FIRST, [`n-${i}`])), "added");
  await subject.clock.advance(4_000);
  t.same(await subject.admit(selectorFor("a", FIRST, ["n-4"])), {
    reason: "4 different changes of a are pending, which is the limit", retryMs: 30_000,
  });
  const names = Array.from({ length: 900 }, (_, i) => `${"n".repeat(58)}${i}`);
  const added: Added[] = [];
  for (let i = 0; i < 5; i++) added.push(await subject.admit(selectorFor(`large-${i}`, FIRST, names)));
  t.same(added.slice(0, 4), ["added", "added", "added", "added"]);
  t.match(added[4], { reason: /^8 changes of other objects are pending/ });
});

test("a selector that is too large to share counts as one that selects every resource", async (t) => {
  const subject = new Subject(bucketObject());
  const names = Array.from({ length: 1_000 }, (_, i) => `${"n".repeat(60)}${String(i).padStart(3, "0")}`);
  const types = ["Bucket", "Queue"].map((kind) => ({ group: "s3.services.k8s.aws", version: "v1alpha1", kind }));
  const large = selectorFor("large", FIRST, names);
  const spec = { ...objectAt(large, "spec"), resourceTypeSelector: types };
  t.equal(await subject.admit({ ...large, spec }), "added");
  const [write] = subject.pending.all();
  t.match(write?.value, { namespaces: null, types: null, roleARN: /role/ });
  t.ok((write?.listed.characters ?? 0) < 1_000);
  t.equal(subject.concerning(REVIEWED).length, 1);
});

test("a review that runs while a change is admitted sees the change, also if it is delivered meanwhile", async (t) => {
  const subject = new Subject();
  const { sequence } = subject.pending;
  t.same(subject.pending.since(sequence), []);
  await subject.admit(TEAM_A);
  subject.source.put(withVersion(TEAM_A, "7"));
  t.same(subject.names, []);
  t.same(subject.pending.since(sequence)?.map(({ name }) => name), ["team-a"]);
  for (let i = 0; i < 256; i++) {
    await subject.admit(selectorFor(`s-${i}`, FIRST, ["x"]));
    subject.source.put(selectorFor(`s-${i}`, FIRST, ["x"]));
  }
  t.equal(subject.pending.since(sequence), null, "too many changes");
  t.equal(await subject.pending.add({ object: OTHER, old: null, isDeletion: false }, () => false, () => 1), "outdated");
});

test("a deletion is certain only after a fetch, and then ends the creation of the deleted object", async (t) => {
  const subject = new Subject(TEAM_A, selectorFor("b", FIRST, ["team-a"]));
  subject.stored.set("team-a", TEAM_A);
  await subject.admit(withUID(selectorFor("new", FIRST, ["team-a"]), "uid-1", ""));
  await subject.admit(withUID(selectorFor("new", FIRST, ["team-a"]), "uid-1", "8"), { isDeletion: true });
  await subject.admit(TEAM_A, { isDeletion: true });
  const first = await subject.pending.confirm(subject.concerning(REVIEWED));
  t.same([...first.stored.deletions], []);
  t.same(possibleStates(first.open, first.stored).map(({ deletions }) => [...deletions]), [["team-a"]]);
});

test("a deletion is not certain if the API server does not respond to the fetch", async (t) => {
  const subject = new Subject(TEAM_A);
  subject.stored.set("team-a", "unknown");
  await subject.admit(TEAM_A, { isDeletion: true });
  const { stored, open } = await subject.pending.confirm(subject.concerning(REVIEWED));
  t.same([stored.deletions.size, open.length], [0, 1]);
  t.equal(subject.clock.scheduled, 0);
});

test("fetches at most 16 objects for one review", async (t) => {
  const objects = Array.from({ length: 20 }, (_, i) => selectorFor(`s-${i}`, FIRST, ["team-a"]));
  const subject = new Subject(...objects);
  for (const object of objects) await subject.admit(object, { isDeletion: true });
  const { stored, open } = await subject.pending.confirm(subject.pending.all());
  t.same([stored.deletions.size, open.length], [16, 4]);
});

test("a review of an update depends on writes that overlap only with the stored selector", async (t) => {
  const subject = new Subject();
  const spec = { arn: `arn:aws:iam::${FIRST}:role/elsewhere`, namespaceSelector: { names: ["team-b"] } };
  await subject.admit({ ...TEAM_A, spec });
  const old = selectorFor("other", FIRST, ["team-b"]);
  const reviewed = reviewedSelector({ object: OTHER, old, requester: null, origin: "cluster" }, RUNTIME);
  t.same(subject.concerning(reviewed).map(({ name }) => name), ["team-a"]);
});

test("ignores writes that cannot overlap, unless they set another session for the same role", async (t) => {
  const sameRole = new Subject();
  const { arn } = objectAt(OTHER, "spec");
  const elsewhereWith = (annotations: object): JsonObject => ({
    ...TEAM_A, metadata: { name: "x", annotations }, spec: { arn, namespaceSelector: { names: ["team-b"] } },
  });
  await sameRole.admit(elsewhereWith({}));
  t.same(sameRole.concerning(REVIEWED), []);
  await sameRole.admit(elsewhereWith({ "ack-role-resolver.io/external-id": "other-id" }));
  t.equal(sameRole.concerning(REVIEWED).length, 1);
  const subject = new Subject();
  const elsewhere = { arn: `arn:aws:iam::${FIRST}:role/elsewhere`, namespaceSelector: { names: ["team-b"] } };
  await subject.admit({ ...TEAM_A, spec: elsewhere });
  t.same(subject.concerning(REVIEWED), []);
  t.same(subject.concerning({ name: "x", before: null, after: null }), []);
});
