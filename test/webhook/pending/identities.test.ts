import { test } from "tap";
import { type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import type { FetchedObject } from "../../../webhook/object-fetch.ts";
import { controllerIdentity, roleIdentity } from "../../shared/capa-objects.ts";
import { objectAt, reviewOf } from "../reviews.ts";
import { FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook-under-test.ts";

const withVersion = (object: JsonObject, resourceVersion: string): JsonObject => (
  { ...object, metadata: { ...objectAt(object, "metadata"), resourceVersion } }
);
const role = (name: string, source: string, version = "1"): JsonObject => (
  withVersion(roleIdentity(name, source, { list: ["ns1"] }), version)
);
const STORED = [controllerIdentity(), role("a", "controller"), role("b", "controller"), role("c", "controller")];

/** Returns a webhook whose inventory never changes, and the identities that the API server stores. */
function withAPI(): { readonly webhook: WebhookUnderTest; readonly stored: Map<string, FetchedObject> } {
  const stored = new Map<string, FetchedObject>();
  for (const object of STORED) stored.set(stringAt(object, "metadata", "name") ?? "", object);
  const fetchRoleIdentity = async (name: string): Promise<FetchedObject> => stored.get(name) ?? "absent";
  const fetchers = { AWSClusterRoleIdentity: fetchRoleIdentity };
  return { webhook: webhookUnderTest(new FakeSource(STORED), {}, undefined, fetchers), stored };
}

/** Reviews an update of the role identity to another source. */
async function review(webhook: WebhookUnderTest, object: JsonObject, fields: JsonObject = {}): Promise<JsonObject> {
  const oldObject = STORED.find((one) => stringAt(one, "metadata", "name") === stringAt(object, "metadata", "name"));
  const operation = oldObject === undefined ? {} : { operation: "UPDATE", oldObject };
  const body = reviewOf(object, { ...operation, ...fields });
  const { json } = await webhook.post("/validate/identities?timeout=60s", body);
  return objectAt(json, "response");
}

const CYCLE = (path: string): object => (
  { allowed: false, status: { message: new RegExp(`^CI-25 .*form a cycle: ${path}`) } }
);

test("denies the second of two updates that together form a cycle", async (t) => {
  const { webhook, stored } = withAPI();
  t.match(await review(webhook, role("a", "role/b")), { allowed: true });
  stored.set("a", role("a", "role/b", "2"));
  t.match(await review(webhook, role("b", "role/a")), CYCLE('"b" -> "a" -> "b"'));
  t.match(await review(webhook, role("b", "role/c")), { allowed: true }, "a chain without a cycle is allowed");
  stored.set("b", role("b", "role/c", "3"));
  t.match(await review(webhook, role("c", "role/a")), CYCLE('"c" -> "a" -> "b" -> "c"'));
});

test("denies a new identity whose source is pending and has 8 roles", async (t) => {
  const { webhook, stored } = withAPI();
  for (let i = 1; i <= 8; i++) {
    const link = role(`r${i}`, i === 1 ? "controller" : `role/r${i - 1}`, String(i));
    t.match(await review(webhook, link), { allowed: true });
    stored.set(`r${i}`, link);
  }
  const ninth = await review(webhook, role("r9", "role/r8"));
  t.match(ninth, { allowed: false, status: { message: /^CI-25 .*more than 8 roles/ } });
});

test("an admitted change that the API server does not store denies a cycle with it for 34 s", async (t) => {
  const { webhook } = withAPI();
  t.match(await review(webhook, role("a", "role/b")), { allowed: true });
  webhook.requestMs = 33_000;
  const retry = /^CI-25 .*Apply it again in 1 s: a is being changed at the same time/;
  t.match(await review(webhook, role("b", "role/a")), { allowed: false, status: { message: retry } });
  webhook.requestMs = 34_000;
  t.match(await review(webhook, role("b", "role/a")), { allowed: true });
});

test("a dry run and a denied change deny no other change", async (t) => {
  const { webhook } = withAPI();
  t.match(await review(webhook, role("a", "role/b"), { dryRun: true }), { allowed: true });
  t.match(await review(webhook, role("b", "role/a")), { allowed: true });
  const other = withAPI().webhook;
  const spec = { ...objectAt(role("a", "role/b"), "spec"), roleARN: "x" };
  t.match(await review(other, { ...role("a", "role/b"), spec }), { allowed: false });
  t.match(await review(other, role("b", "role/a")), { allowed: true });
});

test("without an API server, each admitted change counts", async (t) => {
  const webhook = webhookUnderTest(new FakeSource(STORED));
  t.match(await review(webhook, role("a", "role/b")), { allowed: true });
  t.match(await review(webhook, role("b", "role/a")), CYCLE('"b" -> "a" -> "b"'));
  webhook.source.put(role("a", "controller", "9"));
  t.match(await review(webhook, role("b", "role/a")), { allowed: true }, "the watch has delivered a newer version");
});

test("the deletion of a role identity is reviewed without pending changes", async (t) => {
  const { webhook } = withAPI();
  const old = role("c", "controller");
  t.match(await review(webhook, old, { operation: "DELETE", object: null, oldObject: old }), { allowed: true });
});
