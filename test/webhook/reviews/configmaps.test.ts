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

test("allows the namespace controller to delete a CARM map in use", async (t) => {
  const oldObject = objectAt(fixture("carm-map-delete"), "request", "oldObject");
  const deletionBy = (username: string): object => (
    reviewOf(oldObject, { operation: "DELETE", object: null, oldObject, userInfo: { username, groups: [] } })
  );
  const byController = await webhook.post(PATH, deletionBy("system:serviceaccount:kube-system:namespace-controller"));
  const inUse = /^CM-08 data\[\d+\]: the key loses its role, but is used by 1 namespace: payments; 1 resource: /;
  t.match(objectAt(byController.json, "response"), { allowed: true, warnings: [inUse] });
  for (const username of ["jane", "system:serviceaccount:kube-system:generic-garbage-collector"]) {
    t.equal(objectAt((await webhook.post(PATH, deletionBy(username))).json, "response")["allowed"], false, username);
  }
});

test("skips a review that has no object, and an update of the finalizers of a map being deleted", async (t) => {
  const map = objectAt(fixture("carm-map-create-faults"), "request", "object");
  const deleting = { ...map, metadata: { ...objectAt(map, "metadata"), deletionTimestamp: "2026-01-01T00:00:00Z" } };
  const reviews = [
    reviewOf(map, { operation: "DELETE", object: null }),
    reviewOf({ ...map, metadata: { ...objectAt(map, "metadata"), finalizers: [] } }, {
      operation: "UPDATE", oldObject: deleting,
    }),
  ];
  for (const review of reviews) {
    t.same(objectAt((await webhook.post(PATH, review)).json, "response"), { uid: "u-1", allowed: true });
  }
  const changed = reviewOf(map, { operation: "UPDATE", oldObject: { ...deleting, data: {} } });
  t.equal(objectAt((await webhook.post(PATH, changed)).json, "response")["allowed"], false, "the data changes");
});

test("returns ERR_NOT_READY before the inventory is loaded", async (t) => {
  const source = new FakeSource(OBJECTS);
  source.unload();
  const { status, json } = await webhookUnderTest(source, { mode: "carm" }).post(PATH, fixtureText("carm-map-create"));
  t.equal(status, 500);
  t.equal(objectAt(json)["message"], "ERR_NOT_READY: The inventory is not loaded yet. Retry in a moment.");
});
