import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { fixture, objectAt, patchOf, reviewOf } from "../reviews.ts";
import { COMPANY, FakeSource, untilWaiting, webhookUnderTest } from "../webhook-under-test.ts";

const PATH = "/mutate/resources";
const BRAND_NEW: JsonObject = {
  apiVersion: "v1", kind: "Namespace", metadata: { name: "brand-new", labels: { env: "prod" } },
};
const UNKNOWN = ["ERR_NAMESPACE_UNKNOWN not annotated: the labels of namespace brand-new are not known yet"];
const BUCKET: JsonObject = {
  apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "b", namespace: "team-a" },
};
const OUTCOME = "/metadata/annotations/ack-role-resolver.io~1outcome";

function bucketWith(metadata: JsonObject): JsonObject {
  return { ...BUCKET, metadata: { name: "b", namespace: "team-a", ...metadata } };
}

test("waits up to 100 ms for an unknown namespace, and resolves when the namespace is loaded", async (t) => {
  const webhook = webhookUnderTest();
  const response = webhook.post(PATH, fixture("bucket-create-unknown-namespace"));
  await untilWaiting(webhook.source);
  t.same(webhook.clock.scheduled, [100]);
  webhook.source.notify();
  t.equal(webhook.source.listeners, 1, "another change does not end the wait");
  webhook.source.put(BRAND_NEW);
  const { json } = await response;
  t.match(patchOf(json)?.[0], { path: OUTCOME, value: "default" });
  const keys = "ack-role-resolver.io/role-arn, ack-role-resolver.io/conflicting-selectors";
  t.match(json, { response: { warnings: [`ACK-02 ${keys}: submitted values are overwritten;`] } });
  t.equal(webhook.source.listeners, 0);
  t.equal(webhook.clock.pending, 0, "the timer is canceled");
});

test("returns a warning and removes forged annotations if the namespace stays unknown", async (t) => {
  const webhook = webhookUnderTest();
  const response = webhook.post(PATH, fixture("bucket-create-unknown-namespace"));
  await untilWaiting(webhook.source);
  webhook.clock.fireAll();
  const { json } = await response;
  t.match(json, { response: { allowed: true, warnings: UNKNOWN } });
  t.same(patchOf(json), [
    { op: "remove", path: "/metadata/annotations/ack-role-resolver.io~1role-arn" },
    { op: "remove", path: "/metadata/annotations/ack-role-resolver.io~1conflicting-selectors" },
  ]);
  t.equal(webhook.source.listeners, 0);
  const count = `ack_role_resolver_webhook_notices_total{code="ERR_NAMESPACE_UNKNOWN"} 1`;
  t.match(await webhook.registry.metrics(), count);
  t.match(webhook.lines[0], { codes: ["ERR_NAMESPACE_UNKNOWN"], outcome: "patched" });
});

test("does not wait for an unknown namespace if no selector depends on namespace labels", async (t) => {
  const webhook = webhookUnderTest(new FakeSource(COMPANY.slice(0, 3)));
  const { json } = await webhook.post(PATH, fixture("bucket-create-unknown-namespace"));
  t.match(patchOf(json)?.[0], { path: OUTCOME, value: "default" });
  t.same(webhook.clock.scheduled, []);
});

test("stops waiting for an unknown namespace 100 ms before the deadline of the request", async (t) => {
  const webhook = webhookUnderTest();
  const { json } = await webhook.post(`${PATH}?timeout=90ms`, fixture("bucket-create-unknown-namespace"));
  t.match(json, { response: { allowed: true, warnings: UNKNOWN } });
  t.same(webhook.clock.scheduled, [], "no time is left to wait");
  webhook.requestMs = 20;
  const short = webhook.post(`${PATH}?timeout=150ms`, fixture("bucket-create-unknown-namespace"));
  await untilWaiting(webhook.source);
  webhook.clock.fireAll();
  await short;
  t.same(webhook.clock.scheduled, [30], "150 ms minus the margin of 100 ms and 20 ms for the body");
});

test("reports drift by the stored status of a resource and ignores a submitted status", async (t) => {
  const webhook = webhookUnderTest();
  const status = { ackResourceMetadata: { ownerAccountID: "444455556666" } };
  const reasonOf = async (review: JsonObject): Promise<unknown> => {
    const [added] = patchOf((await webhook.post(PATH, review)).json) ?? [];
    return objectAt(added, "value")["ack-role-resolver.io/reason"];
  };
  const plain = "IAMRoleSelector team-a selects the resource.";
  const drift = `${plain} Drift: the status records account 444455556666, but its role is in account 111122223333.`;
  const withStatus = { ...BUCKET, status };
  t.equal(await reasonOf(reviewOf(withStatus)), plain, "a status submitted at create is ignored");
  t.equal(
    await reasonOf(reviewOf(withStatus, { operation: "UPDATE", oldObject: BUCKET })),
    plain,
    "a status submitted at update is ignored",
  );
  t.equal(
    await reasonOf(reviewOf(BUCKET, { operation: "UPDATE", oldObject: withStatus })),
    drift,
    "a stored status is used",
  );
});

test("overwrites forged resolution annotations, and returns a warning if the requester changed them", async (t) => {
  const webhook = webhookUnderTest();
  const wrong = bucketWith({
    annotations: { "ack-role-resolver.io/outcome": "default", "ack-role-resolver.io/via": "selector" },
  });
  const forged = await webhook.post(PATH, reviewOf(wrong));
  const warning =
    "ACK-02 ack-role-resolver.io/outcome: submitted values are overwritten; only the webhook writes these annotations";
  t.match(forged.json, { response: { warnings: [warning] } });
  t.match(patchOf(forged.json)?.[0], { op: "replace", path: OUTCOME, value: "selected" });
  t.match(await webhook.registry.metrics(), `ack_role_resolver_webhook_notices_total{code="ACK-02"} 1`);
  const stale = await webhook.post(PATH, reviewOf(wrong, { operation: "UPDATE", oldObject: wrong }));
  t.equal(objectAt(stale.json, "response")["warnings"], undefined);
  t.match(patchOf(stale.json)?.[0], { op: "replace", value: "selected" });
});

test("in mode carm, waits for an unknown namespace even if no selector exists", async (t) => {
  const webhook = webhookUnderTest(new FakeSource(COMPANY.slice(0, 3)), { mode: "carm" });
  const response = webhook.post(PATH, fixture("bucket-create-unknown-namespace"));
  await untilWaiting(webhook.source);
  webhook.clock.fireAll();
  t.match((await response).json, { response: { warnings: UNKNOWN } });
});

test("skips deletions, subresources, other API groups and cluster-scoped objects", async (t) => {
  const webhook = webhookUnderTest();
  const deleting = bucketWith({ deletionTimestamp: "2026-03-01T12:00:00Z" });
  const adopted = { ...BUCKET, apiVersion: "services.k8s.aws/v1alpha1", kind: "AdoptedResource" };
  const cases: readonly (readonly [reason: string, review: JsonObject])[] = [
    ["being deleted", reviewOf(BUCKET, { operation: "UPDATE", oldObject: deleting })],
    ["subresource", reviewOf(BUCKET, { operation: "UPDATE", oldObject: BUCKET, subResource: "status" })],
    ["not managed", reviewOf(adopted)],
    ["not managed", reviewOf(BUCKET, { namespace: "" })],
    ["no object", reviewOf(BUCKET, { object: null })],
    ["no object", reviewOf(BUCKET, { operation: "DELETE", oldObject: BUCKET })],
  ];
  const responses = await Promise.all(cases.map(([, review]) => webhook.post(PATH, review)));
  const response = { uid: "u-1", allowed: true };
  for (const { json } of responses) {
    t.strictSame(json, { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response });
  }
  t.same(webhook.lines.map((line) => line["reason"]), cases.map(([reason]) => reason));
  t.not(patchOf((await webhook.post(PATH, reviewOf(BUCKET))).json), null, "a plain create is annotated");
});

test("returns a warning and no annotations if the annotations would exceed 256 KiB", async (t) => {
  const webhook = webhookUnderTest();
  const annotated = (bytes: number): JsonObject => reviewOf(bucketWith({ annotations: { k: "x".repeat(bytes) } }));
  const full = await webhook.post(PATH, annotated(256 * 1024 - 100));
  const reason = "not annotated: the annotations would exceed the Kubernetes limit of 256 KiB";
  t.match(full.json, { response: { allowed: true, warnings: [`ERR_ANNOTATIONS_TOO_LARGE ${reason}`] } });
  t.equal(patchOf(full.json), null);
  const fits = await webhook.post(PATH, annotated(256 * 1024 - 1000));
  t.notMatch(fits.json, { response: { warnings: /./ } });
  t.not(patchOf(fits.json), null);
});
