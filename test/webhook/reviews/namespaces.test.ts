import { test } from "tap";
import type { JsonObject } from "../../../shared/formats/json.ts";
import type { AccessReviewer } from "../../../webhook/access-review.ts";
import { fixture, fixtureText, golden, objectAt, reviewOf } from "../reviews.ts";
import { COMPANY, FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook-under-test.ts";

const PATH = "/validate/namespaces";
const BUCKET = {
  apiVersion: "s3.services.k8s.aws/v1alpha1",
  kind: "Bucket",
  metadata: { name: "ledger", namespace: "payments", labels: { tier: "shared" } },
  status: { ackResourceMetadata: { ownerAccountID: "444455556666", region: "eu-west-1", arn: "arn:aws:s3:::ledger" } },
};
const DEV = {
  apiVersion: "services.k8s.aws/v1alpha1",
  kind: "IAMRoleSelector",
  metadata: { name: "dev" },
  spec: {
    arn: "arn:aws:iam::111122223333:role/dev",
    namespaceSelector: { labelSelector: { matchLabels: { env: "dev" } } },
  },
};
const PAYMENTS = { apiVersion: "v1", kind: "Namespace", metadata: { name: "payments", labels: { env: "prod" } } };
const FIXTURES = [
  "namespace-create", "namespace-create-faults", "namespace-update-old-faults", "namespace-update-moved",
  "namespace-update-being-deleted", "namespace-delete", "config-map-create",
];

function payments(): FakeSource {
  return new FakeSource([...COMPANY, PAYMENTS, DEV, BUCKET]);
}

async function post(webhook: WebhookUnderTest, review: unknown): Promise<JsonObject> {
  return objectAt((await webhook.post(PATH, review)).json, "response");
}

const webhook = webhookUnderTest(payments());

for (const name of FIXTURES) {
  test(`${PATH} returns the golden response for ${name}`, async (t) => {
    const { status, type, text } = await webhook.post(`${PATH}?timeout=10s`, fixtureText(name));
    t.equal(text, golden(`validate-namespaces.${name}`, text));
    t.same([status, type], [200, "application/json"]);
  });
}

test("returns warnings but no denial for faults of system namespaces", async (t) => {
  const faulty = objectAt(fixture("namespace-create-faults"), "request", "object");
  for (const name of ["kube-system", "kube-public", "kube-node-lease", "team-z"]) {
    const response = await post(webhook, reviewOf({ ...faulty, metadata: { ...objectAt(faulty, "metadata"), name } }));
    t.equal(response["allowed"], name !== "team-z", name);
    t.ok(Array.isArray(response["warnings"]), name);
  }
});

test("with NS-02 on, denies a requester whose access to a selector is denied or unknown", async (t) => {
  const on = { checkSeverities: new Map([["NS-02", "deny"] as const]) };
  const unknown = await post(webhookUnderTest(payments(), on), fixtureText("namespace-create"));
  t.match(objectAt(unknown, "status"), {
    message: /^NS-02 metadata\.labels: the webhook could not verify that the requester may use IAMRoleSelector shared/,
  });
  const aliceMayUseShared: AccessReviewer = async ({ username }, { name: selector, namespace }) => (
    username === "alice@example.com" && selector === "shared" && namespace === "payments" ? "allowed" : "denied"
  );
  const reviewing = webhookUnderTest(payments(), on, aliceMayUseShared);
  t.equal((await post(reviewing, fixtureText("namespace-create")))["allowed"], true, "access is allowed");
  const moved = await post(reviewing, fixtureText("namespace-update-moved"));
  t.match(objectAt(moved, "status"), {
    message: /NS-02 metadata\.labels: the requester may not use IAMRoleSelector dev, /,
  });
  const carm = webhookUnderTest(payments(), { ...on, mode: "carm" });
  t.equal((await post(carm, fixtureText("namespace-create")))["allowed"], true, "mode carm has no selectors");
  const deleted = await post(webhookUnderTest(payments(), on), fixtureText("namespace-delete"));
  t.equal(deleted["allowed"], true, "a deletion causes no new selector to match");
});
