import { test } from "tap";
import { type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { LIMITS } from "../../../shared/core/limits.ts";
import type { FetchedObject } from "../../../webhook/object-fetch.ts";
import { bucketObject, FIRST, replacesMetadata, selectorFor } from "../../shared/objects.ts";
import { objectAt, reviewOf } from "../reviews.ts";
import { FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook-under-test.ts";

const TEAM_A = selectorFor("team-a", FIRST, ["team-a"]);
const OTHER = selectorFor("other", FIRST, ["team-a"]);
const RETRY = /Apply it again in 34 s: team-a is being changed at the same time/;

/** Returns a webhook that does not verify its clients, and the selectors that the API server stores. */
function withAPI(...objects: readonly JsonObject[]): { webhook: WebhookUnderTest; stored: Map<string, JsonObject> } {
  const stored = new Map<string, JsonObject>();
  const fetchSelector = async (name: string): Promise<FetchedObject> => stored.get(name) ?? "absent";
  const webhook = webhookUnderTest(new FakeSource(objects), {}, undefined, { IAMRoleSelector: fetchSelector });
  for (const object of objects) stored.set(stringAt(object, "metadata", "name") ?? "", object);
  return { webhook, stored };
}

function deletion(object: JsonObject, request: JsonObject = {}): JsonObject {
  return reviewOf(object, { operation: "DELETE", object: null, oldObject: object, ...request });
}

async function review(webhook: WebhookUnderTest, body: JsonObject): Promise<JsonObject> {
  return objectAt((await webhook.post("/validate/iamroleselectors?timeout=60s", body)).json, "response");
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
  const source = new FakeSource([TEAM_A, OTHER, bucketObject()]);
  const webhook = webhookUnderTest(source, {}, undefined, { IAMRoleSelector: fetchSelector });
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

test("denies the second deletion for 34 s if the API server does not execute the first", async (t) => {
  const { webhook } = withAPI(TEAM_A, OTHER, bucketObject());
  t.equal(await isAllowed(webhook, deletion(TEAM_A)), true);
  webhook.requestMs = 33_000;
  const denial = { status: { message: /^IRS-30 .*Apply it again in 1 s: team-a is being changed/ } };
  t.match(await review(webhook, deletion(OTHER)), denial);
  webhook.requestMs = 34_000;
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

test("denies the later of two overlapping selectors until the watch delivers the first", async (t) => {
  const { webhook } = withAPI(bucketObject());
  t.equal(await isAllowed(webhook, reviewOf(TEAM_A)), true);
  t.match(await review(webhook, reviewOf(OTHER)), { allowed: false, status: { message: RETRY } });
  webhook.source.put(withVersion(TEAM_A, "7"));
  const { allowed, status } = await review(webhook, reviewOf(OTHER));
  t.equal(allowed, false);
  t.notMatch(status, { message: RETRY }, "the inventory has the selector");
});

test("admits the same selector again, and another one 34 s after the API server did not store it", async (t) => {
  const { webhook } = withAPI(bucketObject());
  t.equal(await isAllowed(webhook, reviewOf(TEAM_A)), true);
  const fixed = selectorFor("team-a", FIRST, ["team-a", "team-b"]);
  for (const again of [TEAM_A, fixed]) t.equal(await isAllowed(webhook, reviewOf(again)), true);
  webhook.requestMs = 33_999;
  t.equal(await isAllowed(webhook, reviewOf(OTHER)), false);
  webhook.requestMs = 34_000;
  t.equal(await isAllowed(webhook, reviewOf(OTHER)), true);
});

test("compares a selector with each pending version of another selector", async (t) => {
  const { webhook } = withAPI(bucketObject());
  const elsewhere = { ...TEAM_A, spec: { ...objectAt(TEAM_A, "spec"), namespaceSelector: { names: ["team-b"] } } };
  for (const version of [TEAM_A, elsewhere]) t.equal(await isAllowed(webhook, reviewOf(version)), true);
  t.match(await review(webhook, reviewOf(OTHER)), { allowed: false, status: { message: RETRY } });
});

test("always denies a change that cannot be compared, also if the profile admits failed reviews", async (t) => {
  const webhook = webhookUnderTest(new FakeSource([bucketObject()]), { onInternalError: "admit" });
  for (let i = 0; i < LIMITS.pendingWrites.value; i++) {
    await isAllowed(webhook, reviewOf(selectorFor(`s-${i}`, FIRST, [`n-${i}`])));
  }
  t.equal(await isAllowed(webhook, reviewOf(TEAM_A, { dryRun: true })), true, "a dry run is never pending");
  const message = /^ERR_PENDING_WRITES: .*256 changes of other objects are pending.* Apply it again in 34 s\.$/;
  t.match(await review(webhook, reviewOf(TEAM_A)), { allowed: false, status: { code: 504, message } });
  t.match(await review(webhook, reviewOf(selectorFor("s-0", FIRST, ["n-0"]))), { allowed: true }, "a retry");
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
  const { webhook } = withAPI();
  t.equal(await isAllowed(webhook, reviewOf(shared("team-a", "id-a"))), true);
  const causes = [{ message: /^IRS-40 .*Apply it again in 34 s: team-a is being changed/ }];
  t.match(await review(webhook, reviewOf(shared("b", "id-b"))), { allowed: false, status: { details: { causes } } });
});
