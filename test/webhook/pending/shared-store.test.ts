import { type Test, test } from "tap";
import { field, type JsonObject, stringAt, stringMap } from "../../../shared/formats/json.ts";
import { createLogger } from "../../../shared/server/logger.ts";
import { type Added, PendingList, type SharedWrite, writeOf } from "../../../webhook/pending/list.ts";
import { pendingSelectors } from "../../../shared/ack/pending-selectors.ts";
import { SharedStore } from "../../../webhook/pending/shared-store.ts";
import { FIRST, selectorFor } from "../../shared/objects.ts";
import { FakeClock } from "../../sidecar/fake-clock.ts";
import { FakeKubernetes } from "../../certs/rotation/fake-kubernetes.ts";
import { objectAt } from "../reviews.ts";
import { FakeSource } from "../webhook-under-test.ts";

const KIND = pendingSelectors("ack");
const CONFIG_MAP = { namespace: "ns", name: "pending" };
const PATH = "/api/v1/namespaces/ns/configmaps/pending";

function selector(name: string, resourceVersion: string): JsonObject {
  const object = selectorFor(name, FIRST, [name]);
  return { ...object, metadata: { ...objectAt(object, "metadata"), uid: `uid-${name}`, resourceVersion } };
}

function creationOf(object: JsonObject): SharedWrite {
  return writeOf(KIND, { object, old: null, isDeletion: false }).write;
}

class Replica {
  readonly source = new FakeSource();
  readonly clock = new FakeClock();
  readonly list: PendingList;
  readonly store: SharedStore;
  position: string | null = null;

  constructor(t: Test, api: FakeKubernetes) {
    const { source, clock } = this;
    source.positionOf = () => this.position;
    this.list = new PendingList({ source, kinds: [KIND], clock });
    const log = createLogger({ name: "webhook", level: "fatal" });
    this.store = new SharedStore({ api, clock, random: () => 0, log, list: this.list, source, configMap: CONFIG_MAP });
    t.teardown(() => this.store.stop());
  }

  /** Adds the creation of a selector, unless the list has received another write since `sequence`. */
  async create(name: string, sequence: number | null = null): Promise<Added> {
    const write = creationOf(selector(name, ""));
    const isCurrent = (): boolean => sequence === null || this.list.since(sequence, KIND.kind)?.length === 0;
    return await this.store.add(write, isCurrent, () => 2_000);
  }

  get names(): readonly string[] {
    return this.list.ofKind(KIND.kind).map(({ name }) => name);
  }
}

/** Returns two replicas, and the API server whose ConfigMap they share. */
function setUp(t: Test): { readonly api: FakeKubernetes; readonly first: Replica; readonly second: Replica } {
  const api = new FakeKubernetes();
  api.put(PATH, { apiVersion: "v1", kind: "ConfigMap", metadata: CONFIG_MAP });
  return { api, first: new Replica(t, api), second: new Replica(t, api) };
}

/** Waits until the list and the watch of the replica have received what the API server has sent. */
async function settle({ clock }: Replica): Promise<void> {
  for (let i = 0; i < 10; i++) await clock.advance(0);
}

function storedNames(api: FakeKubernetes): readonly string[] {
  const data = [...stringMap(field(api.object(PATH), "data"))].filter(([key]) => !key.startsWith("delivered."));
  return data.map(([, text]) => stringAt(JSON.parse(text), "name") ?? "");
}

test("a replica that has not seen the write of another replica compares its change again", async (t) => {
  const { api, first, second } = setUp(t);
  t.equal(await second.create("c"), "added");
  t.equal(await first.create("a"), "added");
  t.equal(await second.create("b", second.list.sequence), "outdated");
  t.same(second.names, ["c", "a"]);
  t.equal(await second.create("b", second.list.sequence), "added");
  t.same(storedNames(api), ["c", "a", "b"]);
  t.equal(api.requests.filter((one) => one.startsWith("GET")).length, 3, "one for the start, one for the conflict");
});

test("stores changes that do not conflict after an update by another replica", async (t) => {
  const { api, first, second } = setUp(t);
  const added = await Promise.all([first, second].flatMap((one, i) => [one.create(`a${i}`), one.create(`b${i}`)]));
  t.same(new Set(added), new Set(["added"]));
  t.same(storedNames(api).toSorted(), ["a0", "a1", "b0", "b1"]);
});

test("the watch adds the writes of other replicas, whose age counts from then on", async (t) => {
  const { first, second } = setUp(t);
  second.store.start();
  await settle(second);
  t.equal(await first.create("a"), "added");
  await settle(second);
  t.same(second.names, ["a"]);
  await second.clock.advance(33_999);
  t.same(second.names, ["a"]);
  await second.clock.advance(1);
  t.same(second.names, []);
});

test("compares a change again if another replica's write was stored and removed meanwhile", async (t) => {
  const { first, second } = setUp(t);
  await second.create("c");
  const { sequence } = second.list;
  await first.create("a");
  first.source.put(selector("a", "70"));
  await first.create("b");
  second.position = "70";
  const add = (since: number): Promise<Added> => {
    const write = creationOf(selector("d", ""));
    // Selector b does not concern selector d.
    const isCurrent = (): boolean => second.list.since(since, KIND.kind)?.every(({ name }) => name === "b") === true;
    return second.store.add(write, isCurrent, () => 2_000);
  };
  t.equal(await add(sequence), "outdated");
  t.equal(await add(second.list.sequence), "added");
});

test("removes a delivered write, and another replica waits until its watch has passed the version", async (t) => {
  const { api, first, second } = setUp(t);
  await first.create("a");
  first.source.put(selector("a", "70"));
  t.equal(await first.create("b"), "added");
  t.same(storedNames(api), ["b"]);
  t.match(api.object(PATH), { data: { "delivered.IAMRoleSelector": "70" } });
  second.position = "69";
  const late = second.create("c");
  await second.clock.advance(2_000);
  t.match(await late, { reason: "the watch of this replica is behind" });
  const waiting = second.create("c");
  await second.clock.advance(50);
  second.position = "70";
  await second.clock.advance(50);
  t.equal(await waiting, "outdated", "the inventory has changed");
  t.equal(await second.create("c"), "added");
  second.position = "1";
  await second.clock.advance(34_000);
  t.equal(await second.create("d"), "added", "the versions restart when etcd is restored");
});

test("refuses a change if the ConfigMap is missing or cannot be updated", async (t) => {
  const { api, first: replica } = setUp(t);
  api.rejected.set("PUT", 403);
  const fix = "; apply the objects of `ack-role-resolver manifests rbac`";
  t.match(await replica.create("a"), { reason: `PUT ${PATH}: the API server returned 403 (Fake)${fix}` });
  api.rejected.clear();
  api.held.set("PUT", new Promise(() => undefined));
  const held = replica.create("a");
  await replica.clock.advance(1_000);
  t.match(await held, { reason: /no response within 1 s/ });
  api.held.clear();
  replica.store.start();
  await settle(replica);
  api.remove(PATH);
  await settle(replica);
  t.match(await replica.create("a"), { reason: `ConfigMap ns/pending does not exist${fix}` });
  t.same(replica.names, []);
  api.put(PATH, { apiVersion: "v1", kind: "ConfigMap", metadata: CONFIG_MAP });
  t.equal(await replica.create("a"), "added");
});

test("refuses changes for 34 s if the ConfigMap has an entry that is not a write", async (t) => {
  const { api, first: replica } = setUp(t);
  api.change(PATH, (configMap) => ({ ...configMap, data: { x: "{}", y: "[", "delivered.IAMRoleSelector": "?" } }));
  const reason = "ConfigMap ns/pending has an entry that is not a pending write";
  t.same(await replica.create("a"), { reason, retryMs: 34_000 });
  await replica.clock.advance(33_000);
  t.same(await replica.create("a"), { reason, retryMs: 1_000 });
  await replica.clock.advance(1_000);
  t.equal(await replica.create("a"), "added");
  t.same(storedNames(api), ["a"]);
});

test("refuses a change while 64 others wait, or if the time of its review is over", async (t) => {
  const { api, first: replica } = setUp(t);
  const { promise, resolve } = Promise.withResolvers<void>();
  api.held.set("GET", promise);
  const waiting = Array.from({ length: 64 }, (_, i) => replica.create(`s${i}`));
  t.match(await replica.create("late"), { reason: "too many changes are reviewed at the same time" });
  resolve();
  t.same(new Set(await Promise.all(waiting)), new Set(["added"]));
  const write = creationOf(selector("late", ""));
  const refused = await replica.store.add(write, () => true, () => 200);
  t.match(refused, { reason: "the time of its review is over" });
});
