import { test } from "tap";
import type { Access, Requester } from "../../shared/decisions/context.ts";
import type { JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import { kindObject } from "../shared/decisions/objects.ts";
import { fixture, objectAt, reviewOf } from "./reviews.ts";
import { COMPANY, FakeSource, type WebhookUnderTest, webhookUnderTest } from "./webhook-under-test.ts";

const PATH = "/validate/resources";
const bucket: JsonObject = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "b", namespace: "team-a" } };
const typo: JsonObject = { ...bucket, metadata: { name: "b", namespace: "team-a", annotations: { "services.k8s.aws/deletion-policy": "Delete" } } };
/** Of an account that its selector is not of, so that its deletion is refused. */
const foreign: JsonObject = { ...bucket, status: { ackResourceMetadata: { arn: "arn:aws:s3:::b", ownerAccountID: "444455556666" } } };
const deletion = (request: JsonObject = {}): JsonObject => reviewOf(foreign, { operation: "DELETE", object: null, oldObject: foreign, ...request });
const by = (username: string): JsonObject => ({ userInfo: { username, groups: [] } });

async function answered(webhook: WebhookUnderTest, review: JsonObject): Promise<JsonObject> {
  return objectAt((await webhook.post(PATH, review)).json, "response");
}

test("creates, updates and deletions are judged, each in its own terms", async (t) => {
  const webhook = webhookUnderTest();
  t.match(await answered(webhook, reviewOf(bucket)), { allowed: true, warnings: undefined });
  t.match(await answered(webhook, reviewOf(typo)), { allowed: false, status: { details: { causes: [{ message: /^ACK-11 / }] } } });
  t.match(await answered(webhook, reviewOf(typo, { operation: "UPDATE", oldObject: bucket })), { allowed: false });
  const standing = { ...typo, spec: { name: "b" } };
  t.match(await answered(webhook, reviewOf(standing, { operation: "UPDATE", oldObject: typo })), { allowed: true, warnings: [/^ACK-11 /] }, "it stood there before");
  t.match(await answered(webhook, deletion()), { allowed: false, status: { details: { causes: [{ message: /^ACK-32 / }] } } });
  t.match(webhook.lines.at(-1), { path: PATH, answer: "denied", codes: ["ACK-32"] });
});

test("what must go through is not judged", async (t) => {
  const webhook = webhookUnderTest();
  const pendingDeletions = { ...typo, metadata: { ...objectAt(typo, "metadata"), deletionTimestamp: "2026-03-01T12:00:00Z" } };
  const cases: readonly (readonly [reason: string, review: JsonObject])[] = [
    ["being deleted", reviewOf(typo, { operation: "UPDATE", oldObject: pendingDeletions })],
    ["subresource", reviewOf(typo, { operation: "UPDATE", oldObject: bucket, subResource: "status" })],
    ["bookkeeping only", reviewOf({ ...typo, metadata: { ...objectAt(typo, "metadata"), finalizers: ["x"] } }, { operation: "UPDATE", oldObject: typo })],
    ["not ours", reviewOf({ ...typo, apiVersion: "services.k8s.aws/v1alpha1", kind: "FieldExport" })],
    ["not ours", reviewOf(typo, { namespace: "" })],
    ["no object", reviewOf(typo, { object: null })],
    ["no object", deletion({ oldObject: null })],
  ];
  for (const [reason, review] of cases) {
    t.strictSame(await answered(webhook, review), { uid: "u-1", allowed: true }, reason);
    t.equal(webhook.lines.at(-1)?.["reason"], reason);
  }
});

test("an ACK controller, and the cluster's own cleaning up, are only warned", async (t) => {
  const webhook = webhookUnderTest(new FakeSource(COMPANY), undefined, { controllerServiceAccounts: ["ack-system/ack-s3-controller"] });
  const controller = by("system:serviceaccount:ack-system:ack-s3-controller");
  t.match(await answered(webhook, reviewOf(typo, controller)), { allowed: true, warnings: [/^ACK-11 /] });
  t.match(await answered(webhook, reviewOf(typo, by("system:serviceaccount:ack-system:ack-iam-controller"))), { allowed: false }, "one that is not named is nobody");
  const collector = by("system:serviceaccount:kube-system:generic-garbage-collector");
  t.match(await answered(webhook, deletion(collector)), { allowed: true, warnings: [/^ACK-32 /] });
  t.match(await answered(webhook, reviewOf(typo, collector)), { allowed: false }, "which deletes, and does nothing else");
  webhook.source.put({ apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a", deletionTimestamp: "2026-03-01T12:00:00Z" } });
  t.match(await answered(webhook, deletion()), { allowed: true, warnings: [/^ACK-32 /] }, "whoever deletes in a namespace that goes");
  t.match(webhook.lines.at(-1), { answer: "allowed", codes: ["ACK-32"] });
});

test("the definition of a kind that is in use is not deleted, and that of another is", async (t) => {
  const webhook = webhookUnderTest();
  const removal = (group: string, kind: string): JsonObject => {
    const definition = kindObject(kind, group, []);
    return reviewOf(definition, { operation: "DELETE", object: null, oldObject: definition });
  };
  webhook.source.put(bucket);
  t.match(await answered(webhook, removal("s3.services.k8s.aws", "Bucket")), {
    allowed: false, status: { message: /^ACK-34 spec\.names\.kind: 1 resource would be deleted with it: Bucket team-a\/b in account 111122223333\./ },
  });
  t.match(await answered(webhook, removal("sqs.services.k8s.aws", "Queue")), { allowed: true, warnings: undefined });
  t.strictSame(await answered(webhook, removal("example.com", "Bucket")), { uid: "u-1", allowed: true });
  t.equal(webhook.lines.at(-1)?.["reason"], "not ours");
  t.same(webhook.clock.scheduled, [], "there is no namespace to wait for");
});

test("a dry run is judged as any other, and changes nothing", async (t) => {
  const webhook = webhookUnderTest();
  t.same(await answered(webhook, reviewOf(typo, { dryRun: true })), await answered(webhook, reviewOf(typo)));
});

test("a view that was never loaded is an error, never an answer", async (t) => {
  const webhook = webhookUnderTest(new FakeSource());
  webhook.source.status = { loaded: false, lastSyncMs: null, fault: null };
  for (const review of [reviewOf(bucket), deletion()]) {
    const { status, json } = await webhook.post(PATH, review);
    t.equal(status, 500);
    t.match(json, { kind: "Status", message: "ERR_NOT_READY: the inventory has not been loaded yet, so the resource cannot be judged; try again in a moment" });
  }
  t.strictSame(await answered(webhook, reviewOf(typo, { operation: "UPDATE", oldObject: typo })), { uid: "u-1", allowed: true }, "what goes through in any case does");
});

test("a namespace that stays unknown leaves out what it decides, and nothing else", async (t) => {
  const webhook = webhookUnderTest();
  const answer = webhook.post(PATH, fixture("bucket-create-unknown-namespace"));
  while (webhook.source.listeners === 0) await new Promise((done) => setImmediate(done));
  t.same(webhook.clock.scheduled, [100], "at most 100 ms");
  webhook.clock.ring();
  t.strictSame(objectAt((await answer).json, "response")["warnings"], undefined, "what resolves is not known, so nothing is said of it");
  const refused = answered(webhook, reviewOf({ ...typo, metadata: { ...objectAt(typo, "metadata"), namespace: "brand-new" } }));
  while (webhook.source.listeners === 0) await new Promise((done) => setImmediate(done));
  webhook.clock.ring();
  t.match(await refused, { allowed: false }, "a typo is one in any namespace");
});

/** A webhook that asks for each resource who may use its selector. */
function asking(answer: Access, asked: unknown[] = []): WebhookUnderTest {
  const access = async (requester: Requester, selector: string): Promise<Access> => {
    asked.push([requester.username, selector]);
    return answer;
  };
  return webhookUnderTest(new FakeSource(COMPANY), undefined, { checkSeverities: new Map([["ACK-09", "deny"]]) }, { access });
}

test("who may use a selector is asked where the check is on, and unknown is a refusal", async (t) => {
  const asked: unknown[] = [];
  t.match(await answered(asking("allowed", asked), reviewOf(bucket)), { allowed: true });
  t.same(asked, [["alice@example.com", "team-a"]]);
  t.match(await answered(asking("denied"), reviewOf(bucket)), { allowed: false, status: { message: /^ACK-09 metadata: the requester may not use IAMRoleSelector team-a/ } });
  t.match(await answered(asking("unknown"), reviewOf(bucket)), { allowed: false, status: { message: /could not be found out/ } });
  const nobody = webhookUnderTest(new FakeSource(COMPANY), undefined, { checkSeverities: new Map([["ACK-09", "deny"]]) });
  t.match(await answered(nobody, reviewOf(bucket)), { allowed: false, status: { message: /could not be found out/ } }, "nobody can be asked");
});

test("nobody is asked where nothing is granted", async (t) => {
  const asked: unknown[] = [];
  const webhook = asking("denied", asked);
  const own = { ...bucket, metadata: { name: "b", namespace: "sandbox" } };
  t.match(await answered(webhook, reviewOf(own)), { allowed: true, warnings: [/^ACK-05 /] });
  t.match(await answered(webhook, reviewOf(bucket, { operation: "DELETE", object: null, oldObject: bucket })), { allowed: true });
  t.match(await answered(webhook, reviewOf({ ...bucket, metadata: { name: "b", namespace: "team-a", labels: { tier: "shared" } } })), { warnings: [/^ACK-03 /] });
  t.same(asked, []);
  t.match(await answered(webhookUnderTest(), reviewOf(bucket)), { allowed: true }, "off unless it is set");
});
