import { test } from "tap";
import { type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { FIRST, replacesMetadata, selectorFor } from "../../shared/decisions/checks/account-fixtures.ts";
import { bucketObject, kindObject, namespaceObject, withWaiver } from "../../shared/decisions/objects.ts";
import { objectAt, reviewOf } from "../reviews.ts";
import { FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook-under-test.ts";

const PATH = "/validate/iamroleselectors";
const TEAM_A = selectorFor("team-a", FIRST, ["team-a"]);
const GARBAGE_COLLECTOR = { username: "system:serviceaccount:kube-system:generic-garbage-collector", groups: [] };
const ALLOWED = { uid: "u-1", allowed: true };

function withObjects(...objects: readonly JsonObject[]): WebhookUnderTest {
  return webhookUnderTest(new FakeSource(objects));
}

function notLoaded(): WebhookUnderTest {
  const source = new FakeSource();
  source.unload();
  return webhookUnderTest(source);
}

function deletion(object: JsonObject, request: JsonObject = {}): JsonObject {
  return reviewOf(object, { operation: "DELETE", object: null, oldObject: object, ...request });
}

interface Answer {
  readonly status: number;
  readonly response: JsonObject;
  readonly text: string;
}

async function post(webhook: WebhookUnderTest, review: JsonObject): Promise<Answer> {
  const { status, json, text } = await webhook.post(`${PATH}?timeout=3s`, review);
  return { status, response: objectAt(json, "response"), text };
}

test("denies the deletion of a selector in use and allows the deletion of an unused selector", async (t) => {
  const webhook = withObjects(TEAM_A, bucketObject());
  const { response } = await post(webhook, deletion(TEAM_A));
  const message = /^IRS-30 1 resource would fall back to the controller's own role/;
  const details = { name: "team-a", kind: "IAMRoleSelector", causes: [{ field: "metadata.name", message }] };
  t.match(response, { allowed: false, status: { code: 422, details } });
  t.match(webhook.lines.at(-1), {
    operation: "DELETE", answer: "denied", codes: ["IRS-30"], object: { name: "team-a" },
  });
  t.strictSame((await post(withObjects(TEAM_A), deletion(TEAM_A))).response, ALLOWED);
});

test("reads the name of a selector from the stored object if the request has no name", async (t) => {
  const webhook = withObjects(TEAM_A, bucketObject());
  const review = deletion(TEAM_A);
  const { name: _none, ...request } = objectAt(review, "request");
  const { response } = await post(webhook, { ...review, request });
  t.equal(stringAt(response, "status", "details", "name"), "team-a");
  t.match(webhook.lines.at(-1), { object: { name: "team-a" } });
});

test("denies the deletion of a selector in use by the garbage collector", async (t) => {
  const webhook = withObjects(TEAM_A, bucketObject());
  const { response } = await post(webhook, deletion(TEAM_A, { userInfo: GARBAGE_COLLECTOR }));
  t.match(response, { allowed: false, status: { message: /^IRS-30 metadata\.name: 1 resource would fall/ } });
  t.match(webhook.lines.at(-1), { user: GARBAGE_COLLECTOR.username, answer: "denied", codes: ["IRS-30"] });
  const namesake = { username: "system:serviceaccount:team-a:generic-garbage-collector", groups: [] };
  t.match((await post(webhook, deletion(TEAM_A, { userInfo: namesake }))).response, { allowed: false });
});

test("skips the deletion of a terminating selector, and updates that change only status or finalizers", async (t) => {
  const webhook = withObjects(TEAM_A, bucketObject());
  const deleting = selectorFor("team-a", FIRST, ["team-a"], { deletionTimestamp: "2026-03-01T12:00:00Z" });
  t.strictSame((await post(webhook, deletion(deleting))).response, ALLOWED);
  t.match(webhook.lines.at(-1), { answer: "skipped", reason: "being deleted" });
  t.strictSame((await post(webhook, deletion(TEAM_A, { subResource: "status" }))).response, ALLOWED);
  const finalized = selectorFor("team-a", FIRST, ["team-a"], { finalizers: ["example.com/hold"] });
  const update = reviewOf(TEAM_A, { operation: "UPDATE", oldObject: finalized });
  t.strictSame((await post(webhook, update)).response, ALLOWED);
});

test("before the inventory is loaded, denies a malformed selector and otherwise returns ERR_NOT_READY", async (t) => {
  const webhook = notLoaded();
  const reviews = [
    deletion(TEAM_A),
    reviewOf(TEAM_A),
    reviewOf(selectorFor("team-a", FIRST, ["b"]), { operation: "UPDATE", oldObject: TEAM_A }),
  ];
  for (const review of reviews) {
    const { status, text } = await post(webhook, review);
    t.equal(status, 500);
    const message = "ERR_NOT_READY: The inventory is not loaded yet. Retry in a moment.";
    t.equal(stringAt(JSON.parse(text), "message"), message);
  }
  const malformed = await post(webhook, reviewOf({ ...TEAM_A, spec: { arn: "x" } }));
  const causes = [{ message: /^IRS-02 / }, { message: /^IRS-15 / }];
  t.match(malformed.response, { allowed: false, status: { details: { causes } } });
  const unchanged = await post(webhook, reviewOf(TEAM_A, { operation: "UPDATE", oldObject: TEAM_A }));
  t.strictSame(unchanged.response, ALLOWED, "an update without a change is allowed");
});

test("denies a change with ERR_REQUEST_DEADLINE if its review takes longer than the timeout", async (t) => {
  const webhook = withObjects(TEAM_A, bucketObject());
  webhook.requestMs = 2_899;
  t.match((await post(webhook, deletion(TEAM_A))).response, { allowed: false });
  webhook.requestMs = 2_900;
  const { response } = await post(webhook, deletion(TEAM_A));
  const message = /^ERR_REQUEST_DEADLINE: The change affects too many objects to check/;
  t.match(response, { allowed: false, status: { status: "Failure", message, reason: "Timeout", code: 504 } });
  t.match(webhook.lines.at(-1), { answer: "denied", outcome: "error", codes: ["ERR_REQUEST_DEADLINE"] });
});

test("validates the deletion of the IAMRoleSelector CRD, and skips reviews of other CRDs", async (t) => {
  const webhook = withObjects(TEAM_A, bucketObject());
  const definition = kindObject("IAMRoleSelector", "services.k8s.aws", []);
  const causes = [{ field: "spec.names.kind", message: /^IRS-34 1 IAMRoleSelector would be deleted/ }];
  const details = { kind: "CustomResourceDefinition", causes };
  t.match((await post(webhook, deletion(definition))).response, { allowed: false, status: { details } });
  const others = [
    deletion(kindObject("Bucket", "s3.services.k8s.aws", [])),
    deletion({ ...definition, kind: "Other" }),
  ];
  for (const review of others) {
    t.strictSame((await post(webhook, review)).response, ALLOWED);
    t.match(webhook.lines.at(-1), { answer: "skipped", reason: "not managed" });
  }
  t.equal((await post(notLoaded(), deletion(definition))).status, 500);
});

test("denies a waiver on the IAMRoleSelector CRD by a user who is not a waiver user", async (t) => {
  const definition = kindObject("IAMRoleSelector", "services.k8s.aws", []);
  const waived = withWaiver(definition, "IRS-34");
  const admin = { userInfo: { username: "admin", groups: ["system:masters"] } };
  for (const webhook of [withObjects(TEAM_A, bucketObject()), notLoaded()]) {
    for (const review of [reviewOf(waived), reviewOf(waived, { operation: "UPDATE", oldObject: definition })]) {
      const { response } = await post(webhook, review);
      t.match(response, { allowed: false, status: { message: /^WAIVER-01 .* may not waive "IRS-34"/ } });
    }
    const unchanged = reviewOf(waived, { operation: "UPDATE", oldObject: waived });
    t.match((await post(webhook, unchanged)).response, { allowed: true });
    t.match((await post(webhook, reviewOf(waived, admin))).response, { allowed: true });
  }
  const webhook = withObjects(TEAM_A, bucketObject());
  t.match((await post(webhook, deletion(waived))).response, { allowed: false });
  t.match((await post(webhook, deletion(waived, admin))).response, { allowed: true });
});

test("allows a selector to be replaced by another selector in two steps", async (t) => {
  const source = new FakeSource([TEAM_A, bucketObject()]);
  const webhook = webhookUnderTest(source);
  const replacement = selectorFor("team-a-new", FIRST, ["team-a"], replacesMetadata("team-a"));
  const plain = await post(webhook, reviewOf(selectorFor("team-a-new", FIRST, ["team-a"])));
  t.match(plain.response, { allowed: false });
  t.match((await post(webhook, reviewOf(replacement))).response, { allowed: true, warnings: [/^IRS-17 /] });
  t.match((await post(webhook, deletion(TEAM_A))).response, { allowed: false }, "the replacement is not stored yet");
  source.put(replacement);
  t.strictSame((await post(webhook, deletion(TEAM_A))).response, ALLOWED);
});

test("validates a selector even if only its session annotations changed", async (t) => {
  const annotated = (annotations: JsonObject): JsonObject => selectorFor("team-a", FIRST, ["team-a"], { annotations });
  const update = (annotations: JsonObject): JsonObject => (
    reviewOf(annotated(annotations), { operation: "UPDATE", oldObject: TEAM_A })
  );
  const webhook = withObjects(TEAM_A, namespaceObject("team-a"), bucketObject());
  const denied = await post(webhook, update({ "ack-role-resolver.io/external-id": "planted id" }));
  const field = "metadata.annotations[ack-role-resolver.io/external-id]";
  const causes = [{ field, message: /^IRS-42 the external ID contains characters other than letters, digits and / }];
  t.match(denied.response, { allowed: false, status: { details: { causes } } });
  t.notMatch(denied.text, "planted");
  t.strictSame((await post(webhook, update({ "ack-role-resolver.io/external-id": "id-1" }))).response, ALLOWED);
  const warned = await post(webhook, update({
    "ack-role-resolver.io/externalid": "id-1", "ack-role-resolver.io/duration-seconds": "7200",
  }));
  t.match(warned.response, {
    allowed: true,
    warnings: [
      /^IRS-46 ack-role-resolver\.io\/duration-seconds: 7200 s/, /^IRS-46 fix: use at most 3600/,
      /^IRS-47 ack-role-resolver\.io\/externalid: /, /^IRS-47 fix: use ack-role-resolver\.io\/external-id /,
    ],
  });
});

test("denies two selectors of one role that set different external IDs, and does not print the IDs", async (t) => {
  const shared = (name: string, externalID: string): JsonObject => {
    const annotations = { "ack-role-resolver.io/external-id": externalID };
    const { metadata } = selectorFor(name, FIRST, [name], { annotations });
    const spec = { arn: `arn:aws:iam::${FIRST}:role/shared`, namespaceSelector: { names: [name] } };
    return { ...TEAM_A, metadata, spec };
  };
  const webhook = withObjects(shared("a", "planted"));
  const { response, text } = await post(webhook, reviewOf(shared("b", "planted-too")));
  const message = /^IRS-40 the selector has the same role as a, but a different external-id\./;
  const causes = [{ field: "metadata.annotations[ack-role-resolver.io/external-id]", message }];
  t.match(response, { allowed: false, status: { details: { causes } } });
  t.notMatch(text, "planted");
  t.notMatch(webhook.lines, /planted/);
  t.match((await post(webhook, reviewOf(shared("b", "planted")))).response, { allowed: true });
});
