// Attacks with reviews that exceed a limit before the webhook reads their objects.
import { test } from "tap";
import type { JsonObject } from "../../shared/formats/json.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { objectAt, reviewOf } from "../webhook/reviews.ts";
import { FakeSource, type WebhookUnderTest, webhookUnderTest } from "../webhook/webhook-under-test.ts";

const MANY: JsonObject = Object.fromEntries(
  Array.from({ length: LIMITS.reviewValues.value + 1 }, (_, i) => [`k${i}`, ""]),
);
const CONTROLLER = { username: "system:serviceaccount:ack-system:ack-s3-controller" };
const NAMESPACE_CONTROLLER = { username: "system:serviceaccount:kube-system:namespace-controller" };
const GARBAGE_COLLECTOR = { username: "system:serviceaccount:kube-system:generic-garbage-collector" };
const MESSAGE = `the review has more than ${LIMITS.reviewValues.value} values`;

const SELECTOR = { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: "a" } };
const BUCKET = {
  apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "b", namespace: "team-a" },
};
const NAMESPACE = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a" } };
const MAP = {
  apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ack-role-account-map", namespace: "ack-system" },
};
const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };

function webhook(): WebhookUnderTest {
  return webhookUnderTest(new FakeSource(), { controllerServiceAccounts: ["ack-system/ack-s3-controller"] });
}

/** Returns the code of the denial, or the codes of the warnings in brackets. */
async function answer(
  path: string, object: JsonObject, request: JsonObject = {}, subject = webhook(),
): Promise<string> {
  const huge = { ...object, data: MANY };
  const objects = { object: request["operation"] === "DELETE" ? null : huge, oldObject: huge };
  const { status, json } = await subject.post(path, reviewOf(object, { ...objects, ...request }));
  const response = objectAt(json, "response");
  if (status !== 200) return `HTTP ${status}`;
  if (response["allowed"] !== true) return String(objectAt(response, "status")["message"]);
  const warnings = Array.isArray(response["warnings"]) ? response["warnings"] : [];
  return `(${[...new Set(warnings.map((warning) => String(warning).split(" ")[0]))].join()})`;
}

test("denies every operation on a managed object whose review has too many values", async (t) => {
  const reviews = [
    ["/validate/iamroleselectors", SELECTOR, "IRS-48"], ["/validate/resources", BUCKET, "ACK-35"],
    ["/validate/namespaces", NAMESPACE, "NS-14"], ["/validate/configmaps", MAP, "CM-14"],
  ] as const;
  for (const [path, object, code] of reviews) {
    for (const operation of ["CREATE", "UPDATE", "DELETE"]) {
      const message = await answer(path, object, { operation });
      t.equal(message.split(":")[0]?.split(" ")[0], code, `${path} ${operation}`);
      t.match(message, MESSAGE);
    }
  }
  t.match(await answer("/validate/namespaces", NAMESPACE), /Remove labels and annotations from the namespace\.$/);
});

test("denies the deletion of a CustomResourceDefinition whose review has too many values", async (t) => {
  const deletion = (path: string, name: string): Promise<string> => (
    answer(`/validate/${path}`, { ...CRD, metadata: { name } }, { operation: "DELETE" })
  );
  t.match(await deletion("iamroleselectors", "iamroleselectors.services.k8s.aws"), "IRS-34");
  t.match(await deletion("resources", "buckets.s3.services.k8s.aws"), "ACK-34");
  t.match(await deletion("iamroleselectors", ""), "IRS-34", "the deletion of a collection");
  t.match(await deletion("resources", ""), "ACK-34", "the deletion of a collection");
  const definition = { ...CRD, metadata: { name: "buckets.s3.services.k8s.aws" } };
  t.match(await answer("/validate/resources", definition, { operation: "UPDATE" }), "WAIVER-01", "an added waiver");
  t.equal(await deletion("resources", "alertmanagers.monitoring.coreos.com"), "()");
});

test("allows objects that the webhook does not check, and returns no patch for them", async (t) => {
  const other = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "dashboards", namespace: "ack-system" } };
  t.equal(await answer("/validate/configmaps", other), "()");
  const { json } = await webhook().post("/mutate/resources", reviewOf({ ...BUCKET, spec: MANY }));
  t.same(objectAt(json, "response"), { uid: "u-1", allowed: true });
});

test("warns but does not deny if a review of a controller or of a system namespace has too many values", async (t) => {
  const update = { operation: "UPDATE" };
  t.equal(await answer("/validate/resources", BUCKET, { ...update, userInfo: CONTROLLER }), "(ACK-35)");
  const deletion = { operation: "DELETE", userInfo: NAMESPACE_CONTROLLER };
  t.equal(await answer("/validate/resources", BUCKET, deletion), "(ACK-35)");
  t.equal(await answer("/validate/configmaps", MAP, deletion), "(CM-14)");
  const finalize = { ...update, subResource: "finalize", userInfo: NAMESPACE_CONTROLLER };
  t.equal(await answer("/validate/namespaces", NAMESPACE, finalize), "(NS-14)");
  const system = { ...NAMESPACE, metadata: { name: "kube-system" } };
  t.equal(await answer("/validate/namespaces", system, update), "(NS-14)");
  const collection = { ...deletion, userInfo: GARBAGE_COLLECTOR };
  t.equal(await answer("/validate/resources", BUCKET, collection), "(ACK-35)");
  t.match(await answer("/validate/iamroleselectors", SELECTOR, collection), "IRS-48");
  t.match(await answer("/validate/resources", BUCKET, { ...update, userInfo: GARBAGE_COLLECTOR }), "ACK-35");
});

test("checks the deletion of an object that is too large to parse with the object in the inventory", async (t) => {
  const data = { 111122223333: "arn:aws:iam::111122223333:role/a" };
  const installed = { ...CRD, metadata: { name: "buckets.s3.services.k8s.aws" }, spec: {
    group: "s3.services.k8s.aws", names: { kind: "Bucket", plural: "buckets" },
    versions: [{ name: "v1alpha1", storage: true, served: true }],
  } };
  const selecting = (namespace: string): JsonObject => (
    { arn: data[111122223333], namespaceSelector: { names: [namespace] } }
  );
  const used = { ...SELECTOR, spec: selecting("team-a") };
  const unused = { ...SELECTOR, metadata: { name: "unused" }, spec: selecting("none") };
  const source = new FakeSource([installed, NAMESPACE, used, unused, BUCKET, { ...MAP, data }]);
  const subject = webhookUnderTest(source, { checkSeverities: new Map([["ACK-09", "deny"]]) });
  const deleted = (path: string, object: JsonObject, userInfo: JsonObject = { username: "jane" }): Promise<string> => (
    answer(path, object, { operation: "DELETE", userInfo }, subject)
  );
  t.match(await deleted("/validate/iamroleselectors", SELECTOR), /^IRS-30 .*Bucket team-a\/b/);
  t.equal(await deleted("/validate/iamroleselectors", unused), "()");
  t.match(await deleted("/validate/resources", BUCKET), /^ACK-09 /, "the requester may not use the selector");
  t.equal(await deleted("/validate/resources", BUCKET, GARBAGE_COLLECTOR), "()");
  t.equal(await deleted("/validate/namespaces", NAMESPACE), "(NS-13)");
  t.equal(await deleted("/validate/configmaps", MAP), "()");
  t.match(await deleted("/validate/resources", installed), /^ACK-34 .*Bucket team-a\/b/);
  source.unload();
  t.match(await deleted("/validate/resources", BUCKET), "ACK-35", "the inventory is not loaded");
});

test("denies a review whose requester or object has a name that is too long", async (t) => {
  const long = "a".repeat(LIMITS.reviewCharacters.value * 10);
  const requests = [
    { userInfo: { username: long } }, { userInfo: { username: "u", groups: [long] } },
    { name: long }, { namespace: long },
    { userInfo: { username: "u", groups: Array.from({ length: LIMITS.reviewGroups.value + 1 }, () => "g") } },
  ];
  for (const request of requests) {
    const subject = webhook();
    const { status, text } = await subject.post("/validate/resources", reviewOf(BUCKET, request));
    t.equal(status, 200);
    t.match(text, /ACK-35 .*more than \d+/);
    t.ok(text.length + JSON.stringify(subject.lines).length < 12_000, "the response and the log cut the name");
  }
});

test("rejects a review whose identifiers are too long, so that the response and the log stay short", async (t) => {
  const long = "a".repeat(LIMITS.reviewCharacters.value * 10);
  const kind = { group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket" };
  const requests = [
    { uid: long }, { subResource: long }, { kind: { ...kind, kind: long } }, { kind: { ...kind, version: long } },
    { kind: { ...kind, group: `${long}.services.k8s.aws` } },
  ];
  for (const request of requests) {
    const subject = webhook();
    const { status, text } = await subject.post("/validate/resources", reviewOf(BUCKET, request));
    t.equal(status, 400);
    t.match(text, /request\.\S+ must have at most 4096 characters/);
    t.ok(text.length + JSON.stringify(subject.lines).length < 12_000);
  }
});

test("shortens a very long region of a resource or a namespace in the log", async (t) => {
  const subject = webhook();
  const annotations = { "services.k8s.aws/region": "a-".repeat(100_000) };
  const bucket = { ...BUCKET, metadata: { ...objectAt(BUCKET, "metadata"), annotations } };
  await subject.post("/mutate/resources", reviewOf(bucket));
  t.ok(JSON.stringify(subject.lines).length < 12_000);
  t.match(subject.lines[0], { region: "a-".repeat(50) });
});
