import { SELECTORS } from "../../shared/ack/selectors.ts";

// Attempts to pass the checks with a change that the webhook exempts, or with a review that fails.
import { test } from "tap";
import type { DecisionSettings } from "../../shared/core/context.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import type { AccessReviewer } from "../../webhook/access-review.ts";
import { patchOf, reviewOf } from "../webhook/reviews.ts";
import { answerTo, update } from "./answer.ts";
import { COMPANY, FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook/webhook-under-test.ts";

const DELETING = { deletionTimestamp: "2026-03-01T12:00:00Z", finalizers: ["example.com/hold"] };
const ADMIN = { userInfo: { username: "root", groups: ["system:masters"] } };
const COLLECTOR = {
  userInfo: { username: "system:serviceaccount:kube-system:generic-garbage-collector", groups: [] },
};

function selector(name: string, metadata: JsonObject = {}, spec: JsonObject = {}): JsonObject {
  return {
    apiVersion: "services.k8s.aws/v1alpha1",
    kind: "IAMRoleSelector",
    metadata: { name, ...metadata },
    spec: {
      arn: `arn:aws:iam::111122223333:role/${name}`,
      namespaceSelector: { names: ["sandbox"] },
      resourceLabelSelector: { matchLabels: { tier: name } },
      ...spec,
    },
  };
}

function bucket(tier: string, metadata: JsonObject = {}): JsonObject {
  return {
    apiVersion: "s3.services.k8s.aws/v1alpha1",
    kind: "Bucket",
    metadata: { name: "b", namespace: "sandbox", labels: { tier }, ...metadata },
    spec: { name: "b" },
    status: { ackResourceMetadata: { arn: "arn:aws:s3:::b", ownerAccountID: "111122223333" } },
  };
}

function webhook(settings: Partial<DecisionSettings> = {}, reviewAccess?: AccessReviewer): WebhookUnderTest {
  const source = new FakeSource([...COMPANY, selector("low"), selector("high"), bucket("low")]);
  return webhookUnderTest(source, settings, reviewAccess);
}

async function send(review: JsonObject, server = webhook()): Promise<string> {
  return answerTo(review, server);
}

function deletion(oldObject: JsonObject, request: JsonObject = {}): JsonObject {
  return reviewOf(oldObject, { operation: "DELETE", object: null, oldObject, ...request });
}

test("denies a role change by labels, even if another check throws or reports many faults", async (t) => {
  const drift = { "services.k8s.aws/ignore-field-drift": "x,".repeat(125_000) };
  t.match(await send(update(bucket("high", { annotations: drift }), bucket("low"))), "ACK-06");
  let nested: unknown = {};
  for (let depth = 0; depth < 4_000; depth++) nested = { nested };
  const deep = { ...bucket("high"), spec: { nested } };
  t.equal(await send(update(deep, { ...bucket("low"), spec: { nested } })), "ACK-35");
  const failing = webhook();
  failing.source.inventory.of(SELECTORS).inNamespace = () => {
    throw new RangeError("Maximum call stack size exceeded");
  };
  t.equal(await send(update(bucket("high"), bucket("low")), failing), "ERR_INTERNAL");
});

test("denies a role change by labels if the resource is being deleted", async (t) => {
  t.equal(await send(update(bucket("high", DELETING), bucket("low", DELETING))), "ACK-06");
  t.equal(await send(update(bucket("low", { ...DELETING, finalizers: [] }), bucket("low", DELETING))), "allowed");
});

test("annotates a terminating resource only if an update changes its labels or annotations", async (t) => {
  const mutate = async (object: JsonObject): Promise<unknown> => (
    patchOf((await webhook().post("/mutate/resources", update(object, bucket("low", DELETING)))).json)
  );
  t.equal(await mutate(bucket("low", { ...DELETING, finalizers: [] })), null);
  const forged = { ...DELETING, annotations: { "ack-role-resolver.io/selector": "high" } };
  t.match(await mutate(bucket("low", forged)), [{}]);
});

test("denies an update that makes a terminating selector select more resources", async (t) => {
  const old = selector("low", DELETING);
  const everything = { namespaceSelector: undefined, resourceLabelSelector: undefined };
  t.equal(await send(update(selector("low", DELETING, everything), old)), "IRS-15");
  t.equal(await send(update(selector("low", { ...DELETING, finalizers: [] }), old)), "allowed");
});

test("denies the garbage collector's deletion of a selector", async (t) => {
  const owned = selector("low", { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "gone", uid: "u-9" }] });
  t.match(await send(deletion(owned, COLLECTOR)), /^IRS-30/);
});

test("denies the garbage collector's deletion of a CustomResourceDefinition that has objects", async (t) => {
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition",
    metadata: { name: "buckets.s3.services.k8s.aws" },
    spec: { group: "s3.services.k8s.aws", names: { kind: "Bucket" } },
  };
  const { json } = await webhook().post("/validate/resources", deletion(definition, COLLECTOR));
  t.match(json, { response: { allowed: false, status: { message: /^ACK-34 / } } });
});

const DENY_ACK_09 = { checkSeverities: new Map([["ACK-09", "deny"] as const]) };

test("with ACK-09=deny, denies each write of a resource by a requester who may not use its selector", async (t) => {
  const server = webhook(DENY_ACK_09, async (_requester, { name }) => name === "high" ? "allowed" : "denied");
  const policy = { ...bucket("low"), spec: { name: "b", policy: "public" } };
  const attempts = {
    create: reviewOf(bucket("low")),
    spec: update(policy, bucket("low")),
    annotation: update(bucket("low", { annotations: { a: "1" } }), bucket("low")),
    owner: update(bucket("low", { ownerReferences: [{ uid: "u-9" }] }), bucket("low")),
    delete: deletion(bucket("low")),
    "move away": update(bucket("high"), bucket("low")),
  };
  for (const [name, review] of Object.entries(attempts)) t.equal(await send(review, server), "ACK-09", name);
  t.equal(await send(update({ ...bucket("low"), status: {} }, bucket("low")), server), "allowed");
  t.match(await send(update(policy, bucket("low"), ADMIN), server), "ACK-09", "waiver users need the verb too");
});

test("with ACK-09=deny, does not require the verb `use` from a configured controller", async (t) => {
  const settings = { ...DENY_ACK_09, controllerServiceAccounts: ["ack-system/ack-s3"] };
  const server = webhook(settings, async () => "denied");
  const userInfo = { username: "system:serviceaccount:ack-system:ack-s3", groups: [] };
  const annotated = bucket("low", { annotations: { a: "1" } });
  t.equal(await send(update(annotated, bucket("low"), { userInfo }), server), "allowed");
});

test("only a waiver user may set a waiver annotation that applies to a later deletion", async (t) => {
  const annotations = { "ack-role-resolver.io/allow": "IRS-30" };
  t.equal(await send(update(selector("low", { annotations }), selector("low"))), "WAIVER-01");
  t.equal(await send(update(selector("low", { annotations }), selector("low"), ADMIN)), "allowed");
  t.match(await send(deletion(selector("low"), ADMIN)), /^IRS-30/, "the deletion is not waived");
});

test("reports a waiver of a check that nobody may waive, or of no check, to a waiver user", async (t) => {
  for (const allow of ["IRS-31", "IRS-99", "ACK-30"]) {
    const annotations = { "ack-role-resolver.io/allow": allow };
    t.equal(await send(update(selector("low", { annotations }), selector("low"), ADMIN)), "allowed WAIVER-01", allow);
  }
});

const PAYMENTS = { apiVersion: "v1", kind: "Namespace", metadata: { name: "payments", labels: { env: "prod" } } };

test("denies a change of namespace labels through the subresources status and finalize", async (t) => {
  const server = webhook();
  server.source.put(PAYMENTS, bucket("shared", { namespace: "payments" }));
  const relabeled = { ...PAYMENTS, metadata: { name: "payments", labels: { env: "dev" } } };
  const annotations = { "ack-role-resolver.io/allow": "NS-01" };
  const planted = { ...PAYMENTS, metadata: { ...PAYMENTS.metadata, annotations } };
  for (const subResource of ["", "status", "finalize"]) {
    t.equal(await send(update(relabeled, PAYMENTS, { subResource }), server), "NS-01", subResource);
    t.equal(await send(update(planted, PAYMENTS, { subResource }), server), "WAIVER-01", subResource);
    t.equal(await send(update({ ...PAYMENTS, status: {} }, PAYMENTS, { subResource }), server), "allowed");
  }
});

test("denies a change of namespace labels while the namespace is being deleted", async (t) => {
  const server = webhook();
  server.source.put(PAYMENTS, bucket("shared", { namespace: "payments" }));
  const deleting = { ...PAYMENTS, metadata: { ...PAYMENTS.metadata, ...DELETING } };
  const relabeled = { ...PAYMENTS, metadata: { ...deleting.metadata, labels: { env: "dev" } } };
  t.equal(await send(update(relabeled, deleting), server), "NS-01");
});
