// Attempts to manage or delete a resource with a role that its author may not use.
import { test } from "tap";
import type { JsonObject } from "../../shared/formats/json.ts";
import { objectAt, reviewOf } from "../webhook/reviews.ts";
import { COMPANY, FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook/webhook-under-test.ts";

const SELECTOR = { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector" };
const EXISTING = { status: { ackResourceMetadata: { arn: "arn:aws:s3:::b", ownerAccountID: "111122223333" } } };

function selector(name: string): JsonObject {
  return {
    ...SELECTOR,
    metadata: { name },
    spec: {
      arn: `arn:aws:iam::111122223333:role/${name}`,
      namespaceSelector: { names: ["sandbox"] },
      resourceLabelSelector: { matchLabels: { [name]: "yes" } },
    },
  };
}

function bucket(labels: JsonObject, metadata: JsonObject = {}, rest: JsonObject = EXISTING): JsonObject {
  return {
    apiVersion: "s3.services.k8s.aws/v1alpha1",
    kind: "Bucket",
    metadata: { name: "b", namespace: "sandbox", labels, ...metadata },
    ...rest,
  };
}

const LOW = bucket({ low: "yes" });
const HIGH = bucket({ high: "yes" });

/**
 * Returns a webhook with the selectors low and high. Both select resources in sandbox by label, and their roles are in
 * the account of the resource.
 */
function webhook(): WebhookUnderTest {
  return webhookUnderTest(new FakeSource([...COMPANY, selector("low"), selector("high")]));
}

/** Returns the codes of a denial, or "allowed". */
async function post(object: JsonObject, oldObject: JsonObject | null, request: JsonObject = {}): Promise<string> {
  const operation = oldObject === null ? "CREATE" : "UPDATE";
  const review = reviewOf(object, { operation, oldObject, ...request });
  const response = objectAt((await webhook().post("/validate/resources", review)).json, "response");
  if (response["allowed"] === true) return "allowed";
  const lines = String(objectAt(response, "status")["message"]).split("\n");
  return lines.map((line) => line.split(" ")[0]).join(",");
}

test("denies a label change that moves the resource to another role", async (t) => {
  t.equal(await post(HIGH, LOW), "ACK-06");
  t.equal(await post(bucket({ low: "yes", app: "x" }), LOW), "allowed", "an unrelated label can change");
});

test("allows a label change that causes a conflict, but denies a label change that ends a conflict", async (t) => {
  const both = bucket({ low: "yes", high: "yes" });
  t.equal(await post(both, LOW), "allowed", "the conflict itself is a warning");
  t.equal(await post(HIGH, both), "ACK-06", "resolving the conflict is denied");
  t.equal(await post(LOW, both), "ACK-06", "the denial applies to each role, because the previous role is unknown");
});

test("denies a label change that moves the resource to the controller's own role", async (t) => {
  t.equal(await post(bucket({}), LOW), "ACK-06,ACK-08");
});

test("denies labels that change the role, even if the update changes finalizers, annotations or status", async (t) => {
  t.equal(await post({ ...HIGH, metadata: { ...objectAt(HIGH, "metadata"), finalizers: ["x"] } }, LOW), "ACK-06");
  const annotations = { "ack-role-resolver.io/selector": "high" };
  t.equal(await post(bucket({ high: "yes" }, { annotations }), LOW), "ACK-06");
  t.equal(
    await post(bucket({ high: "yes" }, {}, { status: {} }), LOW),
    "ACK-06",
    "an empty submitted status has no effect",
  );
});

test("denies a role change by labels despite a waiver, because ACK-06 cannot be waived", async (t) => {
  const waived = bucket({ high: "yes" }, { annotations: { "ack-role-resolver.io/allow": "ACK-06" } });
  t.equal(await post(waived, LOW), "ACK-06,WAIVER-01");
  const admin = { userInfo: { username: "root", groups: ["system:masters"] } };
  t.equal(await post(waived, LOW, admin), "ACK-06");
});

test("denies a role change by labels, even if the update contains a deletionTimestamp", async (t) => {
  t.equal(await post(bucket({ high: "yes" }, { deletionTimestamp: "2026-03-01T12:00:00Z" }), LOW), "ACK-06");
});

test("denies a role change by labels, even if the object and the request name different namespaces", async (t) => {
  const elsewhere = bucket({ high: "yes" }, { namespace: "elsewhere" });
  t.equal(await post(elsewhere, LOW, { namespace: "sandbox" }), "ACK-06");
});

test("denies a role change by labels if the requester's name only resembles that of a controller", async (t) => {
  const usernames = [
    "ack-system/ack-s3-controller", "system:serviceaccount:team-a:ack-s3-controller",
    "system:serviceaccount:ack-system:ack-s3-controller",
  ];
  for (const username of usernames) {
    const userInfo = { username, groups: ["system:serviceaccounts"] };
    t.equal(await post(HIGH, LOW, { userInfo }), "ACK-06", username);
  }
});

test("denies the deletion of a resource whose labels were removed, despite a forged username or waiver", async (t) => {
  const unlabeled = bucket({});
  const deletion = { operation: "DELETE", object: null, oldObject: unlabeled };
  t.equal(await post(unlabeled, null, deletion), "ACK-30");
  const cleaner = { userInfo: { username: "system:serviceaccount:team-a:generic-garbage-collector", groups: [] } };
  t.equal(await post(unlabeled, null, { ...deletion, ...cleaner }), "ACK-30");
  const waived = bucket({}, { annotations: { "ack-role-resolver.io/allow": "ACK-30" } });
  t.equal(
    await post(waived, null, { ...deletion, oldObject: waived }),
    "ACK-30",
    "the requester is not a waiver user",
  );
});
