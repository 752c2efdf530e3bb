// Ways to have a resource managed with another role, or deleted with one, than whoever writes it may choose.
import { test } from "tap";
import type { JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import { objectAt, reviewOf } from "../webhook/reviews.ts";
import { COMPANY, FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook/webhook-under-test.ts";

const SELECTOR = { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector" };
const tier = (name: string, arn: string): JsonObject => ({
  ...SELECTOR, metadata: { name }, spec: { arn, namespaceSelector: { names: ["sandbox"] }, resourceLabelSelector: { matchLabels: { [name]: "yes" } } },
});
const EXISTS = { status: { ackResourceMetadata: { arn: "arn:aws:s3:::b", ownerAccountID: "111122223333" } } };

function bucket(labels: JsonObject, metadata: JsonObject = {}, rest: JsonObject = EXISTS): JsonObject {
  return { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "b", namespace: "sandbox", labels, ...metadata }, ...rest };
}

const low = bucket({ low: "yes" });
const high = bucket({ high: "yes" });

/** In sandbox `low` and `high` each select what is labelled so, both in the account of the resource. */
function webhook(): WebhookUnderTest {
  return webhookUnderTest(new FakeSource([...COMPANY, tier("low", "arn:aws:iam::111122223333:role/low"), tier("high", "arn:aws:iam::111122223333:role/high")]));
}

async function codes(object: JsonObject, oldObject: JsonObject | null, request: JsonObject = {}, under = webhook()): Promise<unknown> {
  const operation = oldObject === null ? "CREATE" : "UPDATE";
  const response = objectAt((await under.post("/validate/resources", reviewOf(object, { operation, oldObject, ...request }))).json, "response");
  return response["allowed"] === true ? "allowed" : String(objectAt(response, "status")["message"]).split("\n").map((line) => line.split(" ")[0]).join(",");
}

test("labels move it to another role", async (t) => {
  t.equal(await codes(high, low), "ACK-06");
  t.equal(await codes(bucket({ low: "yes", app: "x" }), low), "allowed", "another label does not");
});

test("labels move it by way of a conflict", async (t) => {
  const both = bucket({ low: "yes", high: "yes" });
  t.equal(await codes(both, low), "allowed", "in is warned of");
  t.equal(await codes(high, both), "ACK-06", "out is refused");
  t.equal(await codes(low, both), "ACK-06", "to either, since nobody knows which it had");
});

test("labels move it by way of the controller's own role", async (t) => {
  t.equal(await codes(bucket({}), low), "ACK-06,ACK-08");
});

test("labels move it beside a change of finalizers, of the webhook's annotations or of a status", async (t) => {
  t.equal(await codes({ ...high, metadata: { ...objectAt(high, "metadata"), finalizers: ["x"] } }, low), "ACK-06");
  t.equal(await codes(bucket({ high: "yes" }, { annotations: { "ack-role-resolver.io/selector": "high" } }), low), "ACK-06");
  t.equal(await codes(bucket({ high: "yes" }, {}, { status: {} }), low), "ACK-06", "a status that is claimed to be empty");
});

test("its author waives the check himself", async (t) => {
  t.equal(await codes(bucket({ high: "yes" }, { annotations: { "ack-role-resolver.io/allow": "ACK-06" } }), low), "ACK-06");
  const admin = { userInfo: { username: "root", groups: ["system:masters"] } };
  t.equal(await codes(bucket({ high: "yes" }, { annotations: { "ack-role-resolver.io/allow": "ACK-06" } }), low, admin), "ACK-06", "it is nobody's to waive");
});

test("the object claims to be on its way out", async (t) => {
  t.equal(await codes(bucket({ high: "yes" }, { deletionTimestamp: "2026-03-01T12:00:00Z" }), low), "ACK-06");
});

test("the object names another namespace than the request, where no selector reads its label", async (t) => {
  t.equal(await codes(bucket({ high: "yes" }, { namespace: "elsewhere" }), low, { namespace: "sandbox" }), "ACK-06");
});

test("the requester calls himself like a controller", async (t) => {
  for (const username of ["ack-system/ack-s3-controller", "system:serviceaccount:team-a:ack-s3-controller", "system:serviceaccount:ack-system:ack-s3-controller"]) {
    t.equal(await codes(high, low, { userInfo: { username, groups: ["system:serviceaccounts"] } }), "ACK-06", `${username}, whom no setting names`);
  }
});

test("a foreign resource is deleted after its labels, or by one who calls himself a cleaner", async (t) => {
  const unlabelled = bucket({});
  const deletion = { operation: "DELETE", object: null, oldObject: unlabelled };
  t.equal(await codes(unlabelled, null, deletion), "ACK-30");
  const cleaner = { userInfo: { username: "system:serviceaccount:team-a:generic-garbage-collector", groups: [] } };
  t.equal(await codes(unlabelled, null, { ...deletion, ...cleaner }), "ACK-30");
  t.equal(await codes(bucket({}, { annotations: { "ack-role-resolver.io/allow": "ACK-30" } }), null, {
    ...deletion, oldObject: bucket({}, { annotations: { "ack-role-resolver.io/allow": "ACK-30" } }),
  }), "ACK-30", "waived by one who may not");
});
