import { test } from "tap";
import { Inventory } from "../../../shared/decisions/inventory/inventory.ts";
import { type JsonObject, stringAt } from "../../../shared/decisions/kubernetes/json.ts";
import { LIMITS } from "../../../shared/decisions/limits.ts";
import type { EffectiveSelector } from "../../../shared/decisions/selectors/effective.ts";
import { decodeSelector } from "../../../shared/decisions/selectors/decode.ts";
import {
  concernsSelector, type ReviewedSelector, reviewedSelector, selectorWrites,
} from "../../../webhook/pending/selectors.ts";
import { type PendingWrite, PendingWrites } from "../../../webhook/pending/writes.ts";
import type { FetchedObject } from "../../../webhook/object-fetch.ts";
import { FIRST, replacesMetadata, selectorFor } from "../../shared/decisions/checks/account-fixtures.ts";
import { bucketObject } from "../../shared/decisions/objects.ts";
import { FakeClock } from "../../sidecar/fake-clock.ts";
import { objectAt, reviewOf } from "../reviews.ts";
import { FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook-under-test.ts";

const TEAM_A = selectorFor("team-a", FIRST, ["team-a"]);
const OTHER = selectorFor("other", FIRST, ["team-a"]);
const RETRY = /try again in 5 s: team-a is being created or changed at the same time/i;

/** Returns a webhook that does not verify its clients, and the selectors that the API server stores. */
function withAPI(...objects: readonly JsonObject[]): { webhook: WebhookUnderTest; stored: Map<string, JsonObject> } {
  const stored = new Map<string, JsonObject>();
  const fetchSelector = async (name: string): Promise<FetchedObject> => stored.get(name) ?? "absent";
  const webhook = webhookUnderTest(new FakeSource(objects), {}, undefined, { fetchSelector });
  for (const object of objects) stored.set(stringAt(object, "metadata", "name") ?? "", object);
  return { webhook, stored };
}

function deletion(object: JsonObject, request: JsonObject = {}): JsonObject {
  return reviewOf(object, { operation: "DELETE", object: null, oldObject: object, ...request });
}

async function review(webhook: WebhookUnderTest, body: JsonObject): Promise<JsonObject> {
  return objectAt((await webhook.post("/validate/iamroleselectors?timeout=3s", body)).json, "response");
}

async function isAllowed(webhook: WebhookUnderTest, body: JsonObject): Promise<unknown> {
  return (await review(webhook, body))["allowed"];
}

function withVersion(object: JsonObject, resourceVersion: string): JsonObject {
  return { ...object, metadata: { ...objectAt(object, "metadata"), resourceVersion } };
}

test("denies the second of two deletions that together leave a resource without a selector", async (t) => {
  const { webhook, stored } = withAPI(TEAM_A, OTHER, bucketObject());
  t.equal(await isAllowed(webhook, deletion(TEAM_A, { dryRun: true })), true);
  t.equal(await isAllowed(webhook, deletion(OTHER, { dryRun: true })), true, "a dry run deletes nothing");
  t.equal(await isAllowed(webhook, deletion(TEAM_A)), true);
  stored.delete("team-a");
  t.equal(await isAllowed(webhook, deletion(OTHER)), false, "the selector is the last one that matches");
  t.equal(await isAllowed(webhook, reviewOf(TEAM_A)), false, "the new selector overlaps with the other selector");
  const replacing = selectorFor("team-a", FIRST, ["team-a"], replacesMetadata("other"));
  t.equal(await isAllowed(webhook, reviewOf(replacing)), true);
  stored.set("team-a", withVersion(replacing, "9"));
  t.equal(await isAllowed(webhook, deletion(OTHER)), true, "the API server has stored the new selector");
});

test("allows one of two overlapping selectors to be deleted if both are deleted at the same time", async (t) => {
  const stored = new Map([["team-a", TEAM_A], ["other", OTHER]]);
  const { promise: isFirstExecuted, resolve: execute } = Promise.withResolvers<void>();
  const fetchSelector = async (name: string): Promise<FetchedObject> => {
    await isFirstExecuted;
    return stored.get(name) ?? "absent";
  };
  const webhook = webhookUnderTest(new FakeSource([TEAM_A, OTHER, bucketObject()]), {}, undefined, { fetchSelector });
  const answers = await Promise.all([...stored].map(async ([name, selector]) => {
    const answer = await review(webhook, deletion(selector));
    // The API server executes the deletion only if the webhook allows it.
    if (answer["allowed"] === true) stored.delete(name);
    execute();
    return answer;
  }));
  t.equal(stored.size, 1);
  const denied = answers.find(({ allowed }) => allowed === false);
  t.match(denied, { status: { message: /^IRS-30 / } });
});

test("ignores an admitted deletion that the API server does not execute", async (t) => {
  const { webhook } = withAPI(TEAM_A, OTHER, bucketObject());
  t.equal(await isAllowed(webhook, deletion(TEAM_A)), true);
  webhook.requestMs = 500;
  t.equal(await isAllowed(webhook, deletion(OTHER)), true);
});

test("treats a terminating selector as deleted when the API server has confirmed the deletion", async (t) => {
  const { webhook, stored } = withAPI(TEAM_A, bucketObject());
  const replacement = reviewOf(OTHER);
  t.equal(await isAllowed(webhook, replacement), false);
  t.equal(await isAllowed(webhook, deletion(TEAM_A)), false);
  const waived = selectorFor("team-a", FIRST, ["team-a"], { annotations: { "ack-role-resolver.io/allow": "IRS-30" } });
  t.equal(await isAllowed(webhook, deletion(waived, { userInfo: { groups: ["system:masters"] } })), true);
  webhook.requestMs = 500;
  t.equal(await isAllowed(webhook, replacement), false, "the API server has not deleted the selector");
  stored.set("team-a", selectorFor("team-a", FIRST, ["team-a"], { deletionTimestamp: "2026-03-01T12:00:00Z" }));
  t.equal(await isAllowed(webhook, replacement), true);
});

test("denies the later of two overlapping selectors before the watch delivers the first", async (t) => {
  const { webhook, stored } = withAPI(bucketObject());
  t.equal(await isAllowed(webhook, reviewOf(TEAM_A)), true);
  stored.set("team-a", withVersion(TEAM_A, "7"));
  const { allowed, status } = await review(webhook, reviewOf(OTHER));
  t.equal(allowed, false);
  t.match(status, { message: RETRY });
  webhook.source.put(withVersion(TEAM_A, "7"));
  t.notMatch((await review(webhook, reviewOf(OTHER)))["status"], { message: RETRY }, "the inventory has the selector");
});

test("after 500 ms, ignores an admitted selector that the API server has not stored", async (t) => {
  const { webhook } = withAPI(bucketObject());
  t.equal(await isAllowed(webhook, reviewOf(TEAM_A)), true);
  webhook.requestMs = 500;
  t.equal(await isAllowed(webhook, reviewOf(OTHER)), true);
});

test("compares an admitted selector with later requests if the inventory consists of manifests", async (t) => {
  const webhook = webhookUnderTest(new FakeSource([bucketObject()]));
  t.equal(await isAllowed(webhook, reviewOf(TEAM_A, { dryRun: true })), true);
  t.equal(await isAllowed(webhook, reviewOf(OTHER, { dryRun: true })), true, "a dry run creates nothing");
  t.equal(await isAllowed(webhook, reviewOf(TEAM_A)), true);
  t.match((await review(webhook, reviewOf(OTHER)))["status"], { message: RETRY });
});

test("denies two selectors of one role that differ in their session settings and are created together", async (t) => {
  const shared = (name: string, id: string): JsonObject => ({
    ...selectorFor(name, FIRST, [name], { annotations: { "ack-role-resolver.io/external-id": id } }),
    spec: { arn: `arn:aws:iam::${FIRST}:role/shared`, namespaceSelector: { names: [name] } },
  });
  const { webhook, stored } = withAPI();
  t.equal(await isAllowed(webhook, reviewOf(shared("team-a", "id-a"))), true);
  stored.set("team-a", withVersion(shared("team-a", "id-a"), "3"));
  const causes = [{ message: /^IRS-40 .*Try again in 5 s: team-a is being created/ }];
  t.match(await review(webhook, reviewOf(shared("b", "id-b"))), { allowed: false, status: { details: { causes } } });
});

const RUNTIME = "ack";

function subject(isVerified: boolean, ...objects: readonly JsonObject[]): {
  readonly pending: PendingWrites<EffectiveSelector>;
  readonly concerning: (reviewed: ReviewedSelector) => readonly PendingWrite<EffectiveSelector>[];
  readonly clock: FakeClock;
  readonly inventory: Inventory;
  readonly stored: Map<string, FetchedObject>;
} {
  const inventory = new Inventory({ runtime: RUNTIME, origin: "cluster" });
  inventory.apply(objects.map((object) => ({ type: "put", object })));
  const clock = new FakeClock();
  const stored = new Map<string, FetchedObject>();
  const fetchObject = async (name: string): Promise<FetchedObject> => stored.get(name) ?? "absent";
  const monotonicMs = (): number => clock.steady();
  const ports = { source: { inventory }, clock, monotonicMs, fetchObject, isVerified };
  const pending = new PendingWrites({ ...ports, kind: selectorWrites(RUNTIME) });
  const concerning = (reviewed: ReviewedSelector): readonly PendingWrite<EffectiveSelector>[] => (
    pending.all().filter((write) => concernsSelector(reviewed, write, inventory))
  );
  return { pending, concerning, clock, inventory, stored };
}

const END_MS = 500;
const REVIEWED = reviewedSelector({ object: OTHER, old: null, requester: null, origin: "cluster" }, RUNTIME);

function admit(pending: PendingWrites<EffectiveSelector>, object: JsonObject, isDeletion = false): void {
  const { effective, name } = decodeSelector(object, { origin: "cluster", runtime: RUNTIME });
  pending.add({ name, isDeletion, value: isDeletion ? null : effective });
}

test("polls the API server until an unverified write is stored", async (t) => {
  const { pending, concerning, clock, stored } = subject(false);
  admit(pending, TEAM_A);
  const writes = concerning(REVIEWED);
  t.equal(writes.length, 1);
  const confirmed = pending.confirm(writes, END_MS);
  await clock.advance(60);
  stored.set("team-a", withVersion(TEAM_A, "5"));
  await clock.advance(20);
  const { certain, possible } = await confirmed;
  t.same([...certain.writes.keys()], ["team-a"]);
  t.equal(possible, certain);
  t.equal(clock.scheduled, 0);
});

test("stops polling when the watch delivers an unverified write", async (t) => {
  const { pending, concerning, clock, inventory } = subject(false);
  admit(pending, TEAM_A);
  const confirmed = pending.confirm(concerning(REVIEWED), END_MS);
  await clock.advance(10);
  inventory.apply([{ type: "put", object: withVersion(TEAM_A, "5") }]);
  await clock.advance(20);
  t.equal((await confirmed).certain.writes.size, 0);
  t.same(concerning(REVIEWED), []);
});

test("does not fetch a verified write, and counts a verified deletion as certain only after a fetch", async (t) => {
  const { pending, concerning, stored } = subject(true, TEAM_A, selectorFor("b", FIRST, ["team-a"]));
  stored.set("team-a", TEAM_A);
  admit(pending, TEAM_A, true);
  admit(pending, selectorFor("c", FIRST, ["team-a"]));
  const first = await pending.confirm(concerning(REVIEWED), END_MS);
  t.same([[...first.certain.deletions], [...first.certain.writes.keys()]], [[], []]);
  t.same([[...first.possible.deletions], [...first.possible.writes.keys()]], [["team-a"], ["c"]]);
  stored.delete("team-a");
  const { certain } = await pending.confirm(concerning(REVIEWED), END_MS);
  t.same([...certain.deletions], ["team-a"]);
});

test("does not count a deletion as certain if the API server does not respond to the fetch", async (t) => {
  const { pending, concerning, clock, stored } = subject(false, TEAM_A);
  stored.set("team-a", "unknown");
  admit(pending, TEAM_A, true);
  const confirmed = pending.confirm(concerning(REVIEWED), END_MS);
  await clock.advance(600);
  t.equal((await confirmed).certain.deletions.size, 0);
});

test("compares a review only with writes of the last 5 s, and with a limited number of writes", async (t) => {
  const { pending, concerning, clock } = subject(false);
  for (let i = 0; i <= LIMITS.pendingWrites.value; i++) admit(pending, selectorFor(`s-${i}`, FIRST, ["team-a"]));
  const writes = concerning(REVIEWED);
  t.equal(writes.length, LIMITS.pendingWrites.value);
  t.equal(writes[0]?.name, "s-1", "the oldest write is removed");
  await clock.advance(4_999);
  t.equal(concerning(REVIEWED).length, LIMITS.pendingWrites.value);
  await clock.advance(1);
  t.equal(concerning(REVIEWED).length, 0);
});

test("a write is pending until the inventory contains a newer version, also one that has more digits", async (t) => {
  const { pending, concerning, inventory } = subject(true, withVersion(TEAM_A, "9"));
  const deliver = (version: string): void => (
    inventory.apply([{ type: "put", object: withVersion(TEAM_A, version) }])
  );
  admit(pending, TEAM_A);
  for (const version of ["9", "8"]) {
    deliver(version);
    t.equal(concerning(REVIEWED).length, 1, version);
  }
  deliver("10");
  t.equal(concerning(REVIEWED).length, 0);
});

test("uses the object that the API server returns for a deletion only if the object is newer", async (t) => {
  const { pending, concerning, stored } = subject(true, withVersion(TEAM_A, "10"));
  admit(pending, TEAM_A, true);
  const writes = concerning(REVIEWED);
  stored.set("team-a", withVersion(TEAM_A, "9"));
  const older = await pending.confirm(writes, END_MS);
  t.same([older.certain.writes.size, [...older.possible.deletions]], [0, ["team-a"]]);
  stored.set("team-a", withVersion(TEAM_A, "11"));
  const { certain, possible } = await pending.confirm(writes, END_MS);
  t.same([...certain.writes.keys()], ["team-a"]);
  t.same([[...possible.writes.keys()], possible.deletions.size], [["team-a"], 0], "the selector exists again");
});

test("a review of an update depends on writes that overlap only with the stored selector", async (t) => {
  const { pending, concerning } = subject(false);
  const spec = { arn: `arn:aws:iam::${FIRST}:role/elsewhere`, namespaceSelector: { names: ["team-b"] } };
  admit(pending, { ...TEAM_A, spec });
  const old = selectorFor("other", FIRST, ["team-b"]);
  const reviewed = reviewedSelector({ object: OTHER, old, requester: null, origin: "cluster" }, RUNTIME);
  t.same(concerning(reviewed).map(({ name }) => name), ["team-a"]);
});

test("ignores writes of selectors that cannot overlap and have another role", async (t) => {
  const { pending, concerning } = subject(false);
  const elsewhere = { arn: `arn:aws:iam::${FIRST}:role/elsewhere`, namespaceSelector: { names: ["team-b"] } };
  admit(pending, { ...TEAM_A, spec: elsewhere });
  t.same(concerning(REVIEWED), []);
  t.same(concerning({ name: "x", before: null, after: null }), []);
});

