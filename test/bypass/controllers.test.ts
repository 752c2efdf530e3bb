// Attempts to let a controller write what a tenant may not write.
import { test } from "tap";
import type { JsonObject } from "../../shared/formats/json.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { fieldExport } from "../fixtures/ack-field-export-crd.ts";
import { clusterObject, controllerIdentity } from "../shared/capa-objects.ts";
import { objectAt, reviewOf } from "../webhook/reviews.ts";
import { COMPANY, FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook/webhook-under-test.ts";
import { answerTo, update } from "./answer.ts";

const ACK = "system:serviceaccount:ack-system:ack-s3-controller";
const CAPA = "system:serviceaccount:capa-system:capa-controller-manager";
const BUCKET = {
  apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "b", namespace: "sandbox" },
  spec: { name: "b" },
};
const MAP = {
  apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ack-role-account-map", namespace: "ack-system" }, data: {},
};
const TARGET = { kind: "configmap", namespace: "ack-system", name: "ack-role-account-map", key: "evil" };

function webhook(): WebhookUnderTest {
  const source = new FakeSource([...COMPANY, controllerIdentity()]);
  return webhookUnderTest(source, { controllerServiceAccounts: ["ack-system/ack-s3-controller"] });
}

const by = (username: string): JsonObject => ({ userInfo: { username, groups: ["system:masters"] } });

function waiving(object: JsonObject): JsonObject {
  const annotations = { "ack-role-resolver.io/allow": "ACK-30" };
  return { ...object, metadata: { ...objectAt(object, "metadata"), annotations } };
}

test("denies a waiver that an ACK controller or CAPA copies, through each subresource", async (t) => {
  const cluster = clusterObject("c", "controller", "sandbox");
  for (const [object, username] of [[BUCKET, ACK], [cluster, CAPA], [MAP, ACK]] as const) {
    const kind = String(objectAt({ object }, "object")["kind"]);
    t.match(await answerTo(reviewOf(waiving(object), by(username)), webhook()), /WAIVER-01/, `create ${kind}`);
    for (const subResource of ["", "status", "scale"]) {
      const review = update(waiving(object), object, { ...by(username), subResource });
      t.match(await answerTo(review, webhook()), /WAIVER-01/, `${kind}/${subResource}`);
    }
    t.notMatch(await answerTo(update(waiving(object), waiving(object), by(username)), webhook()), "WAIVER-01");
  }
});

test("denies a waiver through the status of a CustomResourceDefinition", async (t) => {
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition",
    metadata: { name: "iamroleselectors.services.k8s.aws" },
    spec: { group: "services.k8s.aws", names: { kind: "IAMRoleSelector" } },
  };
  const jane = { userInfo: { username: "jane", groups: [] } };
  const planted = update(waiving(definition), definition, { ...jane, subResource: "status" });
  t.equal(await answerTo(planted, webhook()), "WAIVER-01");
  const conditions = { ...definition, status: { conditions: [] } };
  t.equal(await answerTo(update(conditions, definition, { ...jane, subResource: "status" }), webhook()), "allowed");
});

test("denies a waiver that a controller copies to an object that exceeds a limit", async (t) => {
  const labels = Object.fromEntries(Array.from({ length: LIMITS.metadataEntries.value + 1 }, (_, i) => [`l${i}`, ""]));
  const huge = { ...BUCKET, metadata: { ...BUCKET.metadata, labels } };
  t.equal(await answerTo(reviewOf(waiving(huge), by(ACK)), webhook()), "WAIVER-01", "the limit only warns");
  t.equal(await answerTo(reviewOf(huge, by(ACK)), webhook()), "allowed ACK-35");
});

test("denies each write of a CARM map by an ACK controller, and each harmful FieldExport by anyone", async (t) => {
  const changed = { ...MAP, data: { evil: "arn:aws:iam::111122223333:role/admin" } };
  t.match(await answerTo(update(changed, MAP, by(ACK)), webhook()), /^CM-15/);
  t.match(await answerTo(reviewOf(changed, by(ACK)), webhook()), /^CM-15/);
  const deletion = { operation: "DELETE", object: null, oldObject: changed, ...by(ACK) };
  t.match(await answerTo(reviewOf(changed, deletion), webhook()), /CM-15/);
  const terminating = { ...MAP, metadata: { ...MAP.metadata, deletionTimestamp: "2026-03-01T12:00:00Z" } };
  t.match(await answerTo(update({ ...terminating, data: changed.data }, terminating, by(ACK)), webhook()), /^CM-15/);
  for (const username of [ACK, CAPA, "jane", "system:serviceaccount:kube-system:generic-garbage-collector"]) {
    const harmful = fieldExport("e", "team-a", TARGET);
    t.equal(await answerTo(reviewOf(harmful, by(username)), webhook()), "FE-01", username);
    const harmless = fieldExport("e", "team-a", { kind: "configmap", name: "mine" });
    t.equal(await answerTo(update(harmful, harmless, by(username)), webhook()), "FE-01", username);
  }
});

test("takes the namespace of a FieldExport from the request, and reads no inventory", async (t) => {
  const elsewhere = fieldExport("e", "", { kind: "configmap", name: "settings" });
  const server = webhook();
  server.source.unload();
  t.equal(await answerTo(reviewOf(elsewhere, { namespace: "ack-system" }), server), "FE-01");
  t.equal(await answerTo(reviewOf(elsewhere, { namespace: "team-a" }), server), "allowed");
});
