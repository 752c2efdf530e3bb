import { test } from "tap";
import { fixture, fixtureText, golden, objectAt, reviewOf } from "./reviews.ts";
import { FakeSource, webhookUnderTest } from "./webhook-under-test.ts";

const PATH = "/validate/configmaps";
const PAYMENTS = { apiVersion: "v1", kind: "Namespace", metadata: { name: "payments", annotations: { "services.k8s.aws/owner-account-id": "111122223333" } } };
const BUCKET = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "ledger", namespace: "payments" } };
const KNOWN = [PAYMENTS, BUCKET];
const CARM = { mode: "carm" } as const;

const webhook = webhookUnderTest(new FakeSource(KNOWN), undefined, CARM);

for (const name of ["carm-map-create", "carm-map-create-faults", "carm-map-update-in-use", "carm-map-delete", "config-map-create"]) {
  test(`${PATH} answers ${name} to the byte`, async (t) => {
    const { status, type, text } = await webhook.post(`${PATH}?timeout=10s`, fixtureText(name));
    t.equal(text, golden(`validate-configmaps.${name}`));
    t.same([status, type], [200, "application/json"]);
  });
}

test("in mode selectors nothing is refused", async (t) => {
  const bySelectors = webhookUnderTest(new FakeSource(KNOWN));
  for (const name of ["carm-map-create-faults", "carm-map-update-in-use", "carm-map-delete"]) {
    const { json } = await bySelectors.post(PATH, fixtureText(name));
    t.match(objectAt(json, "response"), { allowed: true, warnings: Array }, name);
  }
});

test("what the cluster itself cleans up goes, used or not", async (t) => {
  const oldObject = objectAt(fixture("carm-map-delete"), "request", "oldObject");
  const review = (username: string): object => reviewOf(oldObject, { operation: "DELETE", object: null, oldObject, userInfo: { username, groups: [] } });
  const byController = await webhook.post(PATH, review("system:serviceaccount:kube-system:namespace-controller"));
  t.match(objectAt(byController.json, "response"), { allowed: true, warnings: [/^CM-11 metadata\.name: the map is used by 1 namespace: payments; 1 resource: /] });
  t.equal(objectAt((await webhook.post(PATH, review("jane"))).json, "response")["allowed"], false);
});

test("a review without an object, and what only waits for its finalizers, are nobody's business", async (t) => {
  const map = objectAt(fixture("carm-map-create-faults"), "request", "object");
  const pendingDeletions = { ...map, metadata: { ...objectAt(map, "metadata"), deletionTimestamp: "2026-01-01T00:00:00Z" } };
  for (const review of [reviewOf(map, { operation: "DELETE", object: null }), reviewOf(map, { operation: "UPDATE", oldObject: pendingDeletions })]) {
    t.same(objectAt((await webhook.post(PATH, review)).json, "response"), { uid: "u-1", allowed: true });
  }
});

test("it cannot tell before the inventory is loaded", async (t) => {
  const source = new FakeSource(KNOWN);
  source.status = { loaded: false, lastSyncMs: null, fault: null };
  const { status, json } = await webhookUnderTest(source, undefined, CARM).post(PATH, fixtureText("carm-map-create"));
  t.equal(status, 500);
  t.equal(objectAt(json)["message"], "ERR_NOT_READY: the inventory has not been loaded yet, so the map cannot be judged; try again in a moment");
});
