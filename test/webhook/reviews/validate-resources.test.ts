import { test } from "tap";
import type { Access } from "../../../shared/core/context.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { fixture, objectAt, reviewOf } from "../reviews.ts";
import { COMPANY, FakeSource, untilWaiting, type WebhookUnderTest, webhookUnderTest } from "../webhook-under-test.ts";

const PATH = "/validate/resources";
const BUCKET: JsonObject = {
  apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "b", namespace: "team-a" },
};
const TYPO = bucketWith({ annotations: { "services.k8s.aws/deletion-policy": "Delete" } });
/** A bucket that exists in another account than the role of its selector, so that the webhook denies its deletion. */
const FOREIGN: JsonObject = {
  ...BUCKET, status: { ackResourceMetadata: { arn: "arn:aws:s3:::b", ownerAccountID: "444455556666" } },
};
const DENY_ACK_09 = { checkSeverities: new Map([["ACK-09", "deny"] as const]) };

function bucketWith(metadata: JsonObject): JsonObject {
  return { ...BUCKET, metadata: { name: "b", namespace: "team-a", ...metadata } };
}

function deletion(request: JsonObject = {}): JsonObject {
  return reviewOf(FOREIGN, { operation: "DELETE", object: null, oldObject: FOREIGN, ...request });
}

function by(username: string): JsonObject {
  return { userInfo: { username, groups: [] } };
}

async function post(webhook: WebhookUnderTest, review: JsonObject): Promise<JsonObject> {
  return objectAt((await webhook.post(PATH, review)).json, "response");
}

test("skips exempt changes and objects that ACK controllers do not manage", async (t) => {
  const webhook = webhookUnderTest();
  const { metadata } = TYPO;
  const deleting = { ...TYPO, metadata: { ...objectAt(metadata), deletionTimestamp: "2026-03-01T12:00:00Z" } };
  const fieldExport = { ...TYPO, apiVersion: "services.k8s.aws/v1alpha1", kind: "FieldExport" };
  const cases: readonly (readonly [reason: string, review: JsonObject])[] = [
    ["being deleted", reviewOf(TYPO, { operation: "UPDATE", oldObject: deleting })],
    ["subresource", reviewOf({ ...BUCKET, spec: {} }, { operation: "UPDATE", oldObject: BUCKET, subResource: "x" })],
    ["not managed", reviewOf(fieldExport)],
    ["not managed", reviewOf(TYPO, { namespace: "" })],
  ];
  for (const [reason, review] of cases) {
    t.strictSame(await post(webhook, review), { uid: "u-1", allowed: true }, reason);
    t.equal(webhook.lines.at(-1)?.["reason"], reason);
  }
});

test("only warns about the changes of a configured user, and about deletions in a terminating namespace", async (t) => {
  const webhook = webhookUnderTest(new FakeSource(COMPANY), { controllerUsers: ["capability-*"] });
  t.match(await post(webhook, reviewOf(TYPO, by("capability-1"))), { allowed: true, warnings: [/^ACK-11 /] });
  t.match(await post(webhook, reviewOf(TYPO, by("jane"))), { allowed: false });
  const collector = by("system:serviceaccount:kube-system:generic-garbage-collector");
  t.match(await post(webhook, reviewOf(TYPO, collector)), { allowed: false }, "a cleanup controller can only delete");
  const metadata = { name: "team-a", deletionTimestamp: "2026-03-01T12:00:00Z" };
  webhook.source.put({ apiVersion: "v1", kind: "Namespace", metadata });
  t.match(await post(webhook, deletion()), { allowed: true, warnings: [/^ACK-32 /] });
  t.match(webhook.lines.at(-1), { answer: "allowed", codes: ["ACK-32"] });
});

test("if the namespace stays unknown, runs the checks that do not require the namespace", async (t) => {
  const webhook = webhookUnderTest();
  const created = webhook.post(PATH, fixture("bucket-create-unknown-namespace"));
  await untilWaiting(webhook.source);
  t.same(webhook.clock.scheduled, [100], "at most 100 ms");
  webhook.clock.fireAll();
  const { warnings } = objectAt((await created).json, "response");
  t.strictSame(warnings, undefined, "no check of the unknown resolution runs");
  const { metadata } = TYPO;
  const typo = post(webhook, reviewOf({ ...TYPO, metadata: { ...objectAt(metadata), namespace: "brand-new" } }));
  await untilWaiting(webhook.source);
  webhook.clock.fireAll();
  t.match(await typo, { allowed: false }, "a wrong annotation does not depend on the namespace");
});

/** Returns a webhook with ACK-09 on, whose access reviews all return `access`. */
function reviewing(access: Access, reviews: unknown[] = []): WebhookUnderTest {
  return webhookUnderTest(new FakeSource(COMPANY), DENY_ACK_09, async ({ username }, { name, namespace }) => {
    reviews.push([username, name, namespace]);
    return access;
  });
}

test("with ACK-09 on, denies a requester whose access to the selector is denied or unknown", async (t) => {
  const reviews: unknown[] = [];
  t.match(await post(reviewing("allowed", reviews), reviewOf(BUCKET)), { allowed: true });
  t.same(reviews, [["alice@example.com", "team-a", "team-a"]]);
  t.match(await post(reviewing("denied"), reviewOf(BUCKET)), {
    allowed: false,
    status: { message: /^ACK-09 metadata: the requester may not use IAMRoleSelector team-a/ },
  });
  const unknown = {
    allowed: false,
    status: { message: /the webhook could not verify that the requester may use IAMRoleSelector team-a/ },
  };
  t.match(await post(reviewing("unknown"), reviewOf(BUCKET)), unknown);
  const withoutReviewer = webhookUnderTest(new FakeSource(COMPANY), DENY_ACK_09);
  t.match(await post(withoutReviewer, reviewOf(BUCKET)), unknown, "no access reviewer");
});

test("reviews access to the controllers' own role if no selector selects the resource", async (t) => {
  const unselected = reviewOf(bucketWith({ namespace: "sandbox" }));
  const reviews: unknown[] = [];
  t.match(await post(reviewing("allowed", reviews), unselected), { allowed: true, warnings: [/^ACK-05 /] });
  t.same(reviews, [["alice@example.com", "ack-role-resolver:default", "sandbox"]]);
  t.match(await post(reviewing("denied", []), unselected), { allowed: false });
});

test("sends no access review if only the finalizers change or if ACK-09 is off", async (t) => {
  const reviews: unknown[] = [];
  const webhook = reviewing("denied", reviews);
  const finalized = reviewOf(bucketWith({ finalizers: [] }), { operation: "UPDATE", oldObject: BUCKET });
  t.match(await post(webhook, finalized), { allowed: true }, "only the finalizers change");
  t.same(reviews, []);
  t.match(await post(webhookUnderTest(), reviewOf(BUCKET)), { allowed: true }, "ACK-09 is off by default");
});
