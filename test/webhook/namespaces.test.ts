import { test } from "tap";
import type { JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import { fixture, fixtureText, golden, objectAt, reviewOf } from "./reviews.ts";
import { COMPANY, FakeSource, webhookUnderTest } from "./webhook-under-test.ts";

const PATH = "/validate/namespaces";
const BUCKET = {
  apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "ledger", namespace: "payments", labels: { tier: "shared" } },
  status: { ackResourceMetadata: { ownerAccountID: "444455556666", region: "eu-west-1", arn: "arn:aws:s3:::ledger" } },
};
const DEV = {
  apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "dev" },
  spec: { arn: "arn:aws:iam::111122223333:role/dev", namespaceSelector: { labelSelector: { matchLabels: { env: "dev" } } } },
};
const PAYMENTS = { apiVersion: "v1", kind: "Namespace", metadata: { name: "payments", labels: { env: "prod" } } };

function payments(): FakeSource {
  return new FakeSource([...COMPANY, PAYMENTS, DEV, BUCKET]);
}

const webhook = webhookUnderTest(payments());

for (const name of [
  "namespace-create", "namespace-create-faults", "namespace-update-old-faults", "namespace-update-moved", "namespace-update-being-deleted", "namespace-delete", "config-map-create",
]) {
  test(`${PATH} answers ${name} to the byte`, async (t) => {
    const { status, type, text } = await webhook.post(`${PATH}?timeout=10s`, fixtureText(name));
    t.equal(text, golden(`validate-namespaces.${name}`));
    t.same([status, type], [200, "application/json"]);
  });
}

test("the cluster's own namespaces are never refused, only warned of", async (t) => {
  const faulty = objectAt(fixture("namespace-create-faults"), "request", "object");
  for (const name of ["kube-system", "kube-public", "kube-node-lease", "team-z"]) {
    const { json } = await webhook.post(PATH, reviewOf({ ...faulty, metadata: { ...objectAt(faulty, "metadata"), name } }));
    t.equal(objectAt(json, "response")["allowed"], name !== "team-z", name);
    t.ok(Array.isArray(objectAt(json, "response")["warnings"]), name);
  }
});

test("status, finalizers and a namespace on its way out are let through", async (t) => {
  const { request } = fixture("namespace-update-moved");
  const [object, oldObject] = [objectAt(request, "object"), objectAt(request, "oldObject")];
  const answers: readonly JsonObject[] = [
    reviewOf(object, { operation: "UPDATE", oldObject, subResource: "finalize" }),
    reviewOf(object, { operation: "UPDATE", oldObject, subResource: "status" }),
    reviewOf({ ...oldObject, metadata: { ...objectAt(oldObject, "metadata"), finalizers: [] } }, { operation: "UPDATE", oldObject }),
  ];
  for (const review of answers) t.same(objectAt((await webhook.post(PATH, review)).json, "response"), { uid: "u-1", allowed: true });
});

test("a review without an object is nobody's business", async (t) => {
  const { json } = await webhook.post(PATH, reviewOf(PAYMENTS, { operation: "DELETE", object: null }));
  t.same(objectAt(json, "response"), { uid: "u-1", allowed: true });
});

test("it cannot tell before the inventory is loaded", async (t) => {
  const source = payments();
  source.status = { loaded: false, lastSyncMs: null, fault: null };
  const { status, json } = await webhookUnderTest(source).post(PATH, fixtureText("namespace-create"));
  t.equal(status, 500);
  t.equal(objectAt(json)["message"], "ERR_NOT_READY: the inventory has not been loaded yet, so the namespace cannot be judged; try again in a moment");
});

test("who may use the selectors is asked when NS-02 is on, and nobody to ask is a refusal", async (t) => {
  const on = { checkSeverities: new Map([["NS-02", "deny"] as const]) };
  const asked = await webhookUnderTest(payments(), undefined, on).post(PATH, fixtureText("namespace-create"));
  t.match(objectAt(asked.json, "response", "status"), { message: /^NS-02 metadata\.labels: whether the requester may use IAMRoleSelector shared, / });
  const asker = webhookUnderTest(payments(), undefined, on, { access: async ({ username }, selector) => (username === "alice@example.com" && selector === "shared" ? "allowed" : "denied") });
  t.equal(objectAt((await asker.post(PATH, fixtureText("namespace-create"))).json, "response")["allowed"], true, "who may");
  t.match(objectAt((await asker.post(PATH, fixtureText("namespace-update-moved"))).json, "response", "status"), { message: /NS-02 metadata\.labels: the requester may not use IAMRoleSelector dev, / });
  const carm = webhookUnderTest(payments(), undefined, { ...on, mode: "carm" });
  t.equal(objectAt((await carm.post(PATH, fixtureText("namespace-create"))).json, "response")["allowed"], true, "no selector selects in mode carm");
  const deleted = await webhookUnderTest(payments(), undefined, on).post(PATH, fixtureText("namespace-delete"));
  t.equal(objectAt(deleted.json, "response")["allowed"], true);
});
