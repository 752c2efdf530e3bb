import { test } from "tap";
import { fixture, fixtureText, golden, objectAt, reviewOf } from "../reviews.ts";
import { FakeSource, webhookUnderTest } from "../webhook-under-test.ts";

const PATH = "/validate/configmaps";
const PAYMENTS = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: "payments", annotations: { "services.k8s.aws/owner-account-id": "111122223333" } },
};
const LEDGER = { name: "ledger", namespace: "payments" };
const BUCKET = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: LEDGER };
const OBJECTS = [PAYMENTS, BUCKET];
const FIXTURES = [
  "carm-map-create",
  "carm-map-create-faults",
  "carm-map-update-in-use",
  "carm-map-delete",
  "config-map-create",
];

const webhook = webhookUnderTest(new FakeSource(OBJECTS), { mode: "carm" });

for (const name of FIXTURES) {
  test(`${PATH} returns the golden response for ${name}`, async (t) => {
    const { status, type, text } = await webhook.post(`${PATH}?timeout=10s`, fixtureText(name));
    t.equal(text, golden(`validate-configmaps.${name}`, text));
    t.same([status, type], [200, "application/json"]);
  });
}

test("allows every ConfigMap in mode selectors", async (t) => {
  const inModeSelectors = webhookUnderTest(new FakeSource(OBJECTS));
  for (const name of ["carm-map-create-faults", "carm-map-update-in-use", "carm-map-delete"]) {
    const { json } = await inModeSelectors.post(PATH, fixtureText(name));
    t.match(objectAt(json, "response"), { allowed: true, warnings: Array }, name);
  }
});

test("denies faulty data in an update of a map that is being deleted", async (t) => {
  const map = objectAt(fixture("carm-map-create-faults"), "request", "object");
  const deleting = { ...map, metadata: { ...objectAt(map, "metadata"), deletionTimestamp: "2026-01-01T00:00:00Z" } };
  const changed = reviewOf(map, { operation: "UPDATE", oldObject: { ...deleting, data: {} } });
  t.equal(objectAt((await webhook.post(PATH, changed)).json, "response")["allowed"], false);
});
