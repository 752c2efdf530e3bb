import {
  array, assert, asyncProperty, boolean, constant, constantFrom, dictionary, jsonValue, oneof, option, record, string,
  uuid,
} from "fast-check";
import jsonPatch from "fast-json-patch";
import { test } from "tap";
import { isJsonObject, type JsonObject, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { objectAt, patchOf, reviewOf } from "./reviews.ts";
import { webhookUnderTest } from "./webhook-under-test.ts";

const webhook = webhookUnderTest();
const PREFIX = "ack-role-resolver.io/";
const OURS = ["outcome", "via", "selector", "selector-resource-version", "role-arn", "conflicting-selectors", "reason"].map((key) => PREFIX + key);

const key = constantFrom(...OURS, "constructor", "__proto__", "a/b~c", "kept", "ack-role-resolver.io/allow");
const annotations = option(dictionary(key, string({ maxLength: 8 })), { nil: undefined });
const labels = option(dictionary(constantFrom("tier", "x"), constantFrom("shared", "y")), { nil: undefined });
const metadata = record({
  name: string(), namespace: constantFrom("team-a", "sandbox"), annotations: oneof(annotations, constant(null)), labels,
});
const bucket = record({
  apiVersion: constant("s3.services.k8s.aws/v1alpha1"), kind: constant("Bucket"), metadata, spec: jsonValue(), status: jsonValue(),
});
const entry = record(
  { apiVersion: constantFrom("s3.services.k8s.aws/v1alpha1", "v1", "", "a/b/c"), group: constantFrom("", "g"), version: constantFrom("", "v"), kind: constantFrom("", "Bucket"), "~/": jsonValue() },
  { requiredKeys: [] },
);
const selector = record({
  apiVersion: constant("services.k8s.aws/v1alpha1"), kind: constant("IAMRoleSelector"),
  metadata: record({ name: string() }), spec: record({ arn: jsonValue(), resourceTypeSelector: oneof(array(oneof(entry, jsonValue())), jsonValue()) }),
});
const namespace = record({
  apiVersion: constant("v1"), kind: constant("Namespace"),
  metadata: record({ name: string(), labels, annotations: dictionary(constantFrom("endpoint-url", "default-region", "team-id", "owner-account-id", "region").map((name) => `services.k8s.aws/${name}`), jsonValue()) }),
});
const carmMap = record({
  apiVersion: constant("v1"), kind: constant("ConfigMap"),
  metadata: record({ name: constantFrom("ack-role-account-map", "ack-role-team-map"), namespace: constantFrom("ack-system", "") }),
  data: oneof(dictionary(string(), oneof(string(), constant("arn:aws:iam::111122223333:role/a"), jsonValue())), jsonValue()), binaryData: jsonValue(),
});
const path = constantFrom("/mutate/iamroleselectors", "/validate/iamroleselectors", "/mutate/resources", "/validate/namespaces", "/validate/configmaps");

/** As the API server sees an object: what JSON holds, and nothing else. */
function clone(object: unknown): JsonObject {
  const copy: unknown = JSON.parse(JSON.stringify(object));
  if (!isJsonObject(copy)) throw new TypeError("not an object");
  return copy;
}

test("whatever object a review holds, the answer echoes its version, kind and uid, and a delete is never patched", async (t) => {
  const operation = constantFrom("CREATE", "UPDATE", "DELETE");
  await assert(asyncProperty(path, oneof(bucket, selector, namespace, carmMap), record({ uid: uuid(), operation, withObject: boolean() }), async (to, object, { uid, operation: op, withObject }) => {
    const stored = op === "CREATE" ? null : object;
    const { status, json } = await webhook.post(to, reviewOf(object, { uid, operation: op, oldObject: stored, object: withObject ? object : null }));
    const { apiVersion, kind } = objectAt(json);
    const response = objectAt(json, "response");
    t.equal(status, 200);
    t.same([apiVersion, kind, response["uid"]], ["admission.k8s.io/v1", "AdmissionReview", uid]);
    t.equal("patch" in response, "patchType" in response);
    if (op === "DELETE" || !withObject) t.strictSame(response, { uid, allowed: true });
  }));
});

test("applied by another library, the patch changes our annotations alone, and the outcome needs no patch again", async (t) => {
  await assert(asyncProperty(bucket, async (written) => {
    const object = clone(written);
    const patch = patchOf((await webhook.post("/mutate/resources", reviewOf(object))).json);
    const { newDocument } = jsonPatch.applyPatch(clone(object), patch ?? [], true, false, false);
    const again = await webhook.post("/mutate/resources", reviewOf(newDocument));
    t.equal(patchOf(again.json), null, "told already");
    t.same(foreign(newDocument), foreign(object), "nothing else is touched");
    const paths = (patch ?? []).map((operation) => operation.path);
    t.equal(new Set(paths).size, paths.length, "one operation a key");
    const told = Object.entries(annotationsOf(newDocument)).filter(([one]) => OURS.includes(one));
    t.strictSame(new Map(told), truth(object));
  }), { numRuns: 300 });
});

/** What the annotations must say, worked out from the company's two selectors by hand. */
function truth(object: JsonObject): ReadonlyMap<string, string> {
  if (stringAt(object, "metadata", "namespace") === "sandbox") {
    return said({ outcome: "default", reason: "No IAMRoleSelector selects it, so the controller's own role is used." });
  }
  if (stringAt(object, "metadata", "labels", "tier") === "shared") {
    const reason = "Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [shared, team-a]";
    return said({ outcome: "conflict", "conflicting-selectors": "shared,team-a", reason });
  }
  return said({
    outcome: "selected", via: "selector", selector: "team-a", "selector-resource-version": "41",
    "role-arn": "arn:aws:iam::111122223333:role/team-a", reason: "IAMRoleSelector team-a selects it.",
  });
}

function said(annotationsByName: Record<string, string>): ReadonlyMap<string, string> {
  return new Map(Object.entries(annotationsByName).map(([name, value]) => [PREFIX + name, value]));
}

function annotationsOf(object: JsonObject): JsonObject {
  return objectAt(object, "metadata", "annotations");
}

/** The object without what is ours; no annotations, null and an empty map are one. */
function foreign(object: JsonObject): unknown {
  const kept = Object.entries(annotationsOf(object)).filter(([one]) => !OURS.includes(one));
  return { ...object, metadata: { ...objectAt(object, "metadata"), annotations: kept } };
}

test("a rewritten selector is rewritten once, and everything but the entries stays", async (t) => {
  await assert(asyncProperty(selector, async (written) => {
    const object = clone(written);
    const patch = patchOf((await webhook.post("/mutate/iamroleselectors", reviewOf(object))).json);
    const { newDocument } = jsonPatch.applyPatch(clone(object), patch ?? [], true, false, false);
    t.equal(patchOf((await webhook.post("/mutate/iamroleselectors", reviewOf(newDocument))).json), null);
    for (const operation of patch ?? []) t.match(operation.path, /^\/spec\/resourceTypeSelector\/\d+$/);
    t.same({ ...newDocument, spec: { ...objectAt(newDocument, "spec"), resourceTypeSelector: null } }, { ...object, spec: { ...objectAt(object, "spec"), resourceTypeSelector: null } });
  }), { numRuns: 300 });
});
