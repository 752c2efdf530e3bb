import { test } from "tap";
import type { JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import { fixture, objectAt, patchOf, reviewOf } from "./reviews.ts";
import { COMPANY, FakeSource, webhookUnderTest } from "./webhook-under-test.ts";

const PATH = "/mutate/resources";
const BRAND_NEW: JsonObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: "brand-new", labels: { env: "prod" } } };
const UNKNOWN = ["ERR_NAMESPACE_UNKNOWN the labels of namespace brand-new are not known yet; not annotated"];
const bucket: JsonObject = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "b", namespace: "team-a" } };

/** Resolves once the webhook waits for the inventory. */
async function waiting(source: FakeSource): Promise<void> {
  while (source.listeners === 0) await new Promise((done) => setImmediate(done));
}

test("a namespace that arrives while it is waited for decides", async (t) => {
  const webhook = webhookUnderTest();
  const answer = webhook.post(PATH, fixture("bucket-create-unknown-namespace"));
  await waiting(webhook.source);
  t.same(webhook.clock.scheduled, [100], "at most 100 ms");
  webhook.source.notify();
  t.equal(webhook.source.listeners, 1, "another change does not end the wait");
  webhook.source.put(BRAND_NEW);
  const { json } = await answer;
  t.match(patchOf(json)?.[0], { path: "/metadata/annotations/ack-role-resolver.io~1outcome", value: "default" });
  t.match(json, { response: { warnings: [/^ACK-02 ack-role-resolver\.io\/role-arn, ack-role-resolver\.io\/conflicting-selectors: the webhook alone writes these/] } });
  t.equal(webhook.source.listeners, 0);
  t.equal(webhook.clock.pending, 0, "the timer is called off");
});

test("one that does not arrive is a warning, a count and no annotation, forged ones included", async (t) => {
  const webhook = webhookUnderTest();
  const answer = webhook.post(PATH, fixture("bucket-create-unknown-namespace"));
  await waiting(webhook.source);
  webhook.clock.ring();
  const { json } = await answer;
  t.match(json, { response: { allowed: true, warnings: UNKNOWN } });
  t.same(patchOf(json), [
    { op: "remove", path: "/metadata/annotations/ack-role-resolver.io~1role-arn" },
    { op: "remove", path: "/metadata/annotations/ack-role-resolver.io~1conflicting-selectors" },
  ]);
  t.equal(webhook.source.listeners, 0);
  t.match(await webhook.registry.metrics(), `ack_role_resolver_webhook_notices_total{code="ERR_NAMESPACE_UNKNOWN"} 1`);
  t.match(webhook.lines[0], { codes: ["ERR_NAMESPACE_UNKNOWN"], outcome: "patched" });
});

test("where no selector reads namespace labels, an unknown namespace is decided at once", async (t) => {
  const webhook = webhookUnderTest(new FakeSource(COMPANY.slice(0, 3)));
  const { json } = await webhook.post(PATH, fixture("bucket-create-unknown-namespace"));
  t.match(patchOf(json)?.[0], { path: "/metadata/annotations/ack-role-resolver.io~1outcome", value: "default" });
  t.same(webhook.clock.scheduled, []);
});

test("the wait ends 100 ms before the caller's deadline", async (t) => {
  const webhook = webhookUnderTest();
  const { json } = await webhook.post(`${PATH}?timeout=90ms`, fixture("bucket-create-unknown-namespace"));
  t.match(json, { response: { allowed: true, warnings: UNKNOWN } });
  t.same(webhook.clock.scheduled, [], "there is no time to wait at all");
  webhook.requestMs = 20;
  const short = webhook.post(`${PATH}?timeout=150ms`, fixture("bucket-create-unknown-namespace"));
  await waiting(webhook.source);
  webhook.clock.ring();
  await short;
  t.same(webhook.clock.scheduled, [30], "150 ms, less 100, less 20 that the body took");
});

test("a view that was never loaded is an error, never an answer", async (t) => {
  const webhook = webhookUnderTest(new FakeSource());
  webhook.source.status = { loaded: false, lastSyncMs: null, fault: null };
  const { status, json } = await webhook.post(PATH, fixture("bucket-create-selected"));
  t.equal(status, 500);
  t.same(json, {
    kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure",
    message: "ERR_NOT_READY: the inventory has not been loaded yet, so no role can be told; try again in a moment",
    reason: "InternalError", code: 500,
  });
  t.match((await webhook.post(PATH, fixture("bucket-delete"))).json, { response: { allowed: true } }, "a delete needs no view");
  const selector = await webhook.post("/validate/iamroleselectors", fixture("selector-create-malformed"));
  t.match(selector.json, { response: { allowed: false } }, "nor does a selector's own shape");
});

test("the drift of a resource is that of its stored status, not of one that a request claims", async (t) => {
  const webhook = webhookUnderTest();
  const status = { ackResourceMetadata: { ownerAccountID: "444455556666" } };
  const reason = async (review: JsonObject): Promise<unknown> => {
    const [added] = patchOf((await webhook.post(PATH, review)).json) ?? [];
    return objectAt(added, "value")["ack-role-resolver.io/reason"];
  };
  const plain = "IAMRoleSelector team-a selects it.";
  const drift = `${plain} Drift: it exists in account 444455556666, and the role is in 111122223333.`;
  t.equal(await reason(reviewOf({ ...bucket, status })), plain, "claimed at create");
  t.equal(await reason(reviewOf({ ...bucket, status }, { operation: "UPDATE", oldObject: bucket })), plain, "claimed at update");
  t.equal(await reason(reviewOf(bucket, { operation: "UPDATE", oldObject: { ...bucket, status } })), drift, "left out at update");
});

test("a resolution that somebody else wrote is overwritten, said and counted; a stale one of ours is only overwritten", async (t) => {
  const webhook = webhookUnderTest();
  const stale = { ...bucket, metadata: { name: "b", namespace: "team-a", annotations: { "ack-role-resolver.io/outcome": "default", "ack-role-resolver.io/via": "selector" } } };
  const forged = await webhook.post(PATH, reviewOf(stale));
  t.match(forged.json, { response: { warnings: ["ACK-02 ack-role-resolver.io/outcome: the webhook alone writes these, so what was given is overwritten"] } });
  t.match(patchOf(forged.json)?.[0], { op: "replace", path: "/metadata/annotations/ack-role-resolver.io~1outcome", value: "selected" });
  t.match(await webhook.registry.metrics(), `ack_role_resolver_webhook_notices_total{code="ACK-02"} 1`);
  const repaired = await webhook.post(PATH, reviewOf(stale, { operation: "UPDATE", oldObject: stale }));
  t.equal(objectAt(repaired.json, "response")["warnings"], undefined);
  t.match(patchOf(repaired.json)?.[0], { op: "replace", value: "selected" });
});

test("in mode carm the namespace decides, so an unknown one is waited for", async (t) => {
  const webhook = webhookUnderTest(new FakeSource(COMPANY.slice(0, 3)), undefined, { mode: "carm" });
  const answer = webhook.post(PATH, fixture("bucket-create-unknown-namespace"));
  await waiting(webhook.source);
  webhook.clock.ring();
  t.match((await answer).json, { response: { warnings: UNKNOWN } });
});

test("what is being deleted, a subresource, another group and a cluster-scoped object are left alone", async (t) => {
  const webhook = webhookUnderTest();
  const pendingDeletions = { ...bucket, metadata: { name: "b", namespace: "team-a", deletionTimestamp: "2026-03-01T12:00:00Z" } };
  const cases: readonly (readonly [reason: string, review: JsonObject])[] = [
    ["being deleted", reviewOf(bucket, { operation: "UPDATE", oldObject: pendingDeletions })],
    ["subresource", reviewOf(bucket, { operation: "UPDATE", oldObject: bucket, subResource: "status" })],
    ["not ours", reviewOf({ ...bucket, apiVersion: "services.k8s.aws/v1alpha1", kind: "AdoptedResource" })],
    ["not ours", reviewOf(bucket, { namespace: "" })],
    ["no object", reviewOf(bucket, { object: null })],
    ["no object", reviewOf(bucket, { operation: "DELETE", oldObject: bucket })],
  ];
  const answers = await Promise.all(cases.map(([, review]) => webhook.post(PATH, review)));
  for (const { json } of answers) t.strictSame(json, { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid: "u-1", allowed: true } });
  t.same(webhook.lines.map((line) => line["reason"]), cases.map(([reason]) => reason));
  t.not(patchOf((await webhook.post(PATH, reviewOf(bucket))).json), null, "the same object else is annotated");
});

function annotated(bytes: number): JsonObject {
  return reviewOf({ ...bucket, metadata: { name: "b", namespace: "team-a", annotations: { k: "x".repeat(bytes) } } });
}

test("annotations that would not fit are not added, with a warning", async (t) => {
  const webhook = webhookUnderTest();
  const full = await webhook.post(PATH, annotated(256 * 1024 - 100));
  t.match(full.json, {
    response: { allowed: true, warnings: ["ERR_ANNOTATIONS_TOO_LARGE not annotated: the annotations would pass Kubernetes' limit of 256 KiB"] },
  });
  t.equal(patchOf(full.json), null);
  const fits = await webhook.post(PATH, annotated(256 * 1024 - 1000));
  t.notMatch(fits.json, { response: { warnings: /./ } });
  t.not(patchOf(fits.json), null);
});
