import { test } from "tap";
import { type JsonObject, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { FIRST, replacing, selecting } from "../shared/decisions/checks/company.ts";
import { bucketObject, kindObject, namespaceObject } from "../shared/decisions/objects.ts";
import { objectAt, reviewOf } from "./reviews.ts";
import { FakeSource, type WebhookUnderTest, webhookUnderTest } from "./webhook-under-test.ts";

const PATH = "/validate/iamroleselectors";
const TEAM_A = selecting("team-a", FIRST, ["team-a"]);
const GC = { username: "system:serviceaccount:kube-system:generic-garbage-collector", groups: [] };

function holding(...objects: readonly JsonObject[]): WebhookUnderTest {
  return webhookUnderTest(new FakeSource(objects));
}

function notLoaded(...objects: readonly JsonObject[]): WebhookUnderTest {
  const source = new FakeSource(objects);
  source.status = { loaded: false, lastSyncMs: null, fault: null };
  return webhookUnderTest(source);
}

function deletion(object: JsonObject, request: JsonObject = {}): JsonObject {
  return reviewOf(object, { operation: "DELETE", object: null, oldObject: object, ...request });
}

async function answer(webhook: WebhookUnderTest, review: JsonObject): Promise<{ readonly status: number; readonly response: JsonObject; readonly text: string }> {
  const { status, json, text } = await webhook.post(`${PATH}?timeout=3s`, review);
  return { status, response: objectAt(json, "response"), text };
}

test("the deletion of a selector in use is refused by what the stored one selects, that of one not in use is not", async (t) => {
  const webhook = holding(TEAM_A, bucketObject());
  const { response } = await answer(webhook, deletion(TEAM_A));
  t.match(response, { allowed: false, status: { code: 422, details: { name: "team-a", kind: "IAMRoleSelector", causes: [{ field: "metadata.name", message: /^IRS-30 1 resource would fall to the controller's own role/ }] } } });
  t.match(webhook.lines.at(-1), { operation: "DELETE", answer: "denied", codes: ["IRS-30"], object: { name: "team-a" } });
  t.strictSame((await answer(holding(TEAM_A), deletion(TEAM_A))).response, { uid: "u-1", allowed: true });
});

test("an object of a collection, whose review has no name, is told by its own", async (t) => {
  const webhook = holding(TEAM_A, bucketObject());
  const review = deletion(TEAM_A);
  const { name: _none, ...request } = objectAt(review, "request");
  const { response } = await answer(webhook, { ...review, request });
  t.equal(stringAt(response, "status", "details", "name"), "team-a");
  t.match(webhook.lines.at(-1), { object: { name: "team-a" } });
});

test("what the cluster itself cleans up is warned about, and allowed", async (t) => {
  const webhook = holding(TEAM_A, bucketObject());
  const { response } = await answer(webhook, deletion(TEAM_A, { userInfo: GC }));
  t.match(response, { allowed: true, warnings: [/^IRS-30 metadata\.name: 1 resource would fall/] });
  t.match(webhook.lines.at(-1), { user: GC.username, answer: "allowed", codes: ["IRS-30"] });
  const namesake = { username: "system:serviceaccount:team-a:generic-garbage-collector", groups: [] };
  t.match((await answer(webhook, deletion(TEAM_A, { userInfo: namesake }))).response, { allowed: false });
});

test("a second call to delete, and finalizers and status alone, decide nothing", async (t) => {
  const webhook = holding(TEAM_A, bucketObject());
  const pendingDeletions = selecting("team-a", FIRST, ["team-a"], { deletionTimestamp: "2026-03-01T12:00:00Z" });
  t.strictSame((await answer(webhook, deletion(pendingDeletions))).response, { uid: "u-1", allowed: true });
  t.match(webhook.lines.at(-1), { answer: "skipped", reason: "being deleted" });
  t.strictSame((await answer(webhook, deletion(TEAM_A, { subResource: "status" }))).response, { uid: "u-1", allowed: true });
  const held = selecting("team-a", FIRST, ["team-a"], { finalizers: ["example.com/hold"] });
  t.strictSame((await answer(webhook, reviewOf(TEAM_A, { operation: "UPDATE", oldObject: held }))).response, { uid: "u-1", allowed: true });
});

test("by a view that was never loaded nothing is allowed, and what is wrong by itself is refused all the same", async (t) => {
  const message = "ERR_NOT_READY: the inventory has not been loaded yet, so nobody can tell which resources the change concerns; try again in a moment";
  const webhook = notLoaded();
  for (const review of [deletion(TEAM_A), reviewOf(TEAM_A), reviewOf(selecting("team-a", FIRST, ["b"]), { operation: "UPDATE", oldObject: TEAM_A })]) {
    const { status, text } = await answer(webhook, review);
    t.equal(status, 500);
    t.equal(stringAt(JSON.parse(text), "message"), message);
  }
  const malformed = await answer(webhook, reviewOf({ ...TEAM_A, spec: { arn: "x" } }));
  t.match(malformed.response, { allowed: false, status: { details: { causes: [{ message: /^IRS-02 / }, { message: /^IRS-15 / }] } } });
  t.strictSame((await answer(webhook, reviewOf(TEAM_A, { operation: "UPDATE", oldObject: TEAM_A }))).response, { uid: "u-1", allowed: true }, "nothing changes");
});

test("an answer that would come after the API server waits for it is an error, and never a verdict", async (t) => {
  const webhook = holding(TEAM_A, bucketObject());
  webhook.requestMs = 2_899;
  t.match((await answer(webhook, deletion(TEAM_A))).response, { allowed: false });
  webhook.requestMs = 2_900;
  const { status, text } = await answer(webhook, deletion(TEAM_A));
  t.equal(status, 500);
  t.match(stringAt(JSON.parse(text), "message"), /^ERR_REQUEST_DEADLINE: the time for an answer was too short/);
  t.match(webhook.lines.at(-1), { answer: "error", codes: ["ERR_REQUEST_DEADLINE"] });
});

test("of definitions only the deletion of that of selectors is judged here", async (t) => {
  const webhook = holding(TEAM_A, bucketObject());
  const definition = kindObject("IAMRoleSelector", "services.k8s.aws", []);
  t.match((await answer(webhook, deletion(definition))).response, { allowed: false, status: { details: { kind: "CustomResourceDefinition", causes: [{ field: "spec.names.kind", message: /^IRS-34 1 IAMRoleSelector would be deleted/ }] } } });
  for (const review of [reviewOf(definition), deletion(kindObject("Bucket", "s3.services.k8s.aws", [])), deletion({ ...definition, kind: "Other" })]) {
    t.strictSame((await answer(webhook, review)).response, { uid: "u-1", allowed: true });
    t.match(webhook.lines.at(-1), { answer: "skipped", reason: "not ours" });
  }
  t.equal((await answer(notLoaded(), deletion(definition))).status, 500);
});

test("a selector is replaced in two steps, each allowed", async (t) => {
  const source = new FakeSource([TEAM_A, bucketObject()]);
  const webhook = webhookUnderTest(source);
  const replacer = selecting("team-a-new", FIRST, ["team-a"], replacing("team-a"));
  t.match((await answer(webhook, reviewOf(selecting("team-a-new", FIRST, ["team-a"])))).response, { allowed: false });
  t.match((await answer(webhook, reviewOf(replacer))).response, { allowed: true, warnings: [/^IRS-17 /] });
  t.match((await answer(webhook, deletion(TEAM_A))).response, { allowed: false }, "not before the replacer is there");
  source.put(replacer);
  t.match((await answer(webhook, deletion(TEAM_A))).response, { allowed: true, warnings: [/^IRS-32 /, /^IRS-33 /] });
});

test("of two selectors that are deleted in one breath neither relies on the other, though the inventory still holds both", async (t) => {
  const other = selecting("other", FIRST, ["team-a"]);
  const webhook = holding(TEAM_A, other, bucketObject());
  const allowed = async (object: JsonObject, request: JsonObject = {}): Promise<unknown> => (await answer(webhook, deletion(object, request))).response["allowed"];
  t.equal(await allowed(TEAM_A, { dryRun: true }), true);
  t.equal(await allowed(other, { dryRun: true }), true, "a dry run deletes nothing");
  t.equal(await allowed(TEAM_A), true);
  t.equal(await allowed(other), false, "it alone is left");
  t.equal(await allowed(TEAM_A), true, "and what is refused stays");
  t.match((await answer(webhook, reviewOf(TEAM_A))).response, { allowed: false }, "an overlap that is refused brings nothing back");
  t.equal(await allowed(other), false);
  t.match((await answer(webhook, reviewOf(selecting("team-a", FIRST, ["team-a"], replacing("other"))))).response, { allowed: true });
  t.equal(await allowed(other), true, "the one that is written again does");
});

test("two deletions that are judged at once are not both allowed", async (t) => {
  const other = selecting("other", FIRST, ["team-a"]);
  const webhook = holding(TEAM_A, other, bucketObject());
  const answers = await Promise.all([TEAM_A, other].map((object) => answer(webhook, deletion(object))));
  t.same(answers.map(({ response }) => response["allowed"]), [true, false]);
});

test("a change of an annotation alone is judged as what its role's sessions are to be like", async (t) => {
  const annotated = (annotations: JsonObject): JsonObject => selecting("team-a", FIRST, ["team-a"], { annotations });
  const update = (annotations: JsonObject): JsonObject => reviewOf(annotated(annotations), { operation: "UPDATE", oldObject: TEAM_A });
  const webhook = holding(TEAM_A, namespaceObject("team-a"), bucketObject());
  const refused = await answer(webhook, update({ "ack-role-resolver.io/external-id": "planted id" }));
  t.match(refused.response, { allowed: false, status: { details: { causes: [{ field: "metadata.annotations[ack-role-resolver.io/external-id]", message: /^IRS-42 the external ID has other characters/ }] } } });
  t.notMatch(refused.text, "planted");
  t.strictSame((await answer(webhook, update({ "ack-role-resolver.io/external-id": "id-1" }))).response, { uid: "u-1", allowed: true });
  t.match((await answer(webhook, update({ "ack-role-resolver.io/externalid": "id-1", "ack-role-resolver.io/duration-seconds": "7200" }))).response, {
    allowed: true, warnings: [/^IRS-46b metadata\.annotations\[ack-role-resolver\.io\/duration-seconds\]: 7200 s/, /^IRS-47 metadata\.annotations\[ack-role-resolver\.io\/externalid\]/],
  });
});

test("selectors of one role ask for the same sessions, and no external ID is told", async (t) => {
  const shared = (name: string, annotations: JsonObject): JsonObject => {
    const { metadata } = selecting(name, FIRST, [name], { annotations });
    return { ...TEAM_A, metadata, spec: { arn: `arn:aws:iam::${FIRST}:role/shared`, namespaceSelector: { names: [name] } } };
  };
  const webhook = holding(shared("a", { "ack-role-resolver.io/external-id": "planted" }));
  const { response, text } = await answer(webhook, reviewOf(shared("b", { "ack-role-resolver.io/external-id": "planted-too" })));
  const message = /^IRS-40 external-id differs from that of a, which has the same role/;
  t.match(response, { allowed: false, status: { details: { causes: [{ field: "metadata.annotations[ack-role-resolver.io/external-id]", message }] } } });
  t.notMatch(text, "planted");
  t.notMatch(webhook.lines, /planted/);
  t.match((await answer(webhook, reviewOf(shared("b", { "ack-role-resolver.io/external-id": "planted" })))).response, { allowed: true });
});
