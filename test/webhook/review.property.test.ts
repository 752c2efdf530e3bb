import {
  array, assert, asyncProperty, boolean, constant, constantFrom, dictionary, jsonValue, oneof, option, record, string,
  uuid,
} from "fast-check";
import jsonPatch from "fast-json-patch";
import { test } from "tap";
import { isJsonObject, type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { objectAt, patchOf, reviewOf } from "./reviews.ts";
import { webhookUnderTest } from "./webhook-under-test.ts";

const webhook = webhookUnderTest();
const PREFIX = "ack-role-resolver.io/";
const RESOLUTION_KEYS = [
  "outcome", "via", "selector", "selector-resource-version", "role-arn", "conflicting-selectors", "identity-chain",
  "reason",
].map((key) => PREFIX + key);

const key = constantFrom(
  ...RESOLUTION_KEYS, "constructor", "__proto__", "a/b~c", "other", "ack-role-resolver.io/allow",
);
const annotations = option(dictionary(key, string({ maxLength: 8 })), { nil: undefined });
const labels = option(dictionary(constantFrom("tier", "x"), constantFrom("shared", "y")), { nil: undefined });
const metadata = record({
  name: string(), namespace: constantFrom("team-a", "sandbox"), annotations: oneof(annotations, constant(null)), labels,
});
const bucket = record({
  apiVersion: constant("s3.services.k8s.aws/v1alpha1"), kind: constant("Bucket"),
  metadata, spec: jsonValue(), status: jsonValue(),
});
const entry = record(
  {
    apiVersion: constantFrom("s3.services.k8s.aws/v1alpha1", "v1", "", "a/b/c"),
    group: constantFrom("", "g"), version: constantFrom("", "v"), kind: constantFrom("", "Bucket"), "~/": jsonValue(),
  },
  { requiredKeys: [] },
);
const selector = record({
  apiVersion: constant("services.k8s.aws/v1alpha1"), kind: constant("IAMRoleSelector"),
  metadata: record({ name: string() }),
  spec: record({ arn: jsonValue(), resourceTypeSelector: oneof(array(oneof(entry, jsonValue())), jsonValue()) }),
});
const namespaceKey = constantFrom("endpoint-url", "default-region", "team-id", "owner-account-id", "region")
  .map((name) => `services.k8s.aws/${name}`);
const namespace = record({
  apiVersion: constant("v1"), kind: constant("Namespace"),
  metadata: record({ name: string(), labels, annotations: dictionary(namespaceKey, jsonValue()) }),
});
const mapValue = oneof(string(), constant("arn:aws:iam::111122223333:role/a"), jsonValue());
const carmMap = record({
  apiVersion: constant("v1"), kind: constant("ConfigMap"),
  metadata: record({
    name: constantFrom("ack-role-account-map", "ack-role-team-map"), namespace: constantFrom("ack-system", ""),
  }),
  data: oneof(dictionary(string(), mapValue), jsonValue()), binaryData: jsonValue(),
});
const identity = record({
  apiVersion: constant("infrastructure.cluster.x-k8s.io/v1beta2"),
  kind: constantFrom(
    "AWSClusterRoleIdentity", "AWSClusterStaticIdentity", "AWSClusterControllerIdentity", "AWSServiceAccountIdentity",
    "AWSCluster", "AWSClusterTemplate",
  ),
  // A review in an unknown namespace would wait for the namespace.
  metadata: record({ name: string(), namespace: constantFrom("team-a", "sandbox"), labels, annotations: labels }),
  spec: oneof(jsonValue(), record({ allowedNamespaces: jsonValue(), sourceIdentityRef: jsonValue() })),
});
/** A cluster, in an inventory without identities. */
const cluster = record({
  apiVersion: constantFrom("infrastructure.cluster.x-k8s.io/v1beta1", "infrastructure.cluster.x-k8s.io/v1beta2"),
  kind: constant("AWSCluster"), metadata,
  spec: oneof(jsonValue(), record({ identityRef: oneof(jsonValue(), record({ kind: string(), name: string() })) })),
  status: jsonValue(),
});
const path = constantFrom(
  "/mutate/iamroleselectors", "/validate/iamroleselectors", "/mutate/resources", "/validate/namespaces",
  "/validate/configmaps", "/validate/fieldexports", "/validate/adoptedresources", "/validate/identities",
  "/mutate/clusters", "/validate/clusters",
);
const request = record({ uid: uuid(), operation: constantFrom("CREATE", "UPDATE", "DELETE"), withObject: boolean() });

/** Returns a copy of the object that was converted to JSON and back. */
function clone(object: unknown): JsonObject {
  const copy: unknown = JSON.parse(JSON.stringify(object));
  if (!isJsonObject(copy)) throw new TypeError("not an object");
  return copy;
}

test("returns the version, kind and uid of any review, and returns no patch for a deletion", async (t) => {
  const objects = oneof(bucket, selector, namespace, carmMap, identity);
  await assert(asyncProperty(path, objects, request, async (to, object, { uid, operation, withObject }) => {
    const oldObject = operation === "CREATE" ? null : object;
    const review = reviewOf(object, { uid, operation, oldObject, object: withObject ? object : null });
    const { status, json } = await webhook.post(to, review);
    const { apiVersion, kind } = objectAt(json);
    const response = objectAt(json, "response");
    t.equal(status, 200);
    t.same([apiVersion, kind, response["uid"]], ["admission.k8s.io/v1", "AdmissionReview", uid]);
    t.equal("patch" in response, "patchType" in response);
    if (operation === "DELETE" || !withObject) t.strictSame(response, { uid, allowed: true });
  }));
});

test("patches only the resolution annotations, and returns no patch for an already patched object", async (t) => {
  await assert(asyncProperty(bucket, async (generated) => {
    const object = clone(generated);
    const patch = patchOf((await webhook.post("/mutate/resources", reviewOf(object))).json);
    const { newDocument } = jsonPatch.applyPatch(clone(object), patch ?? [], true, false, false);
    const again = await webhook.post("/mutate/resources", reviewOf(newDocument));
    t.equal(patchOf(again.json), null, "a second review returns no patch");
    t.same(withoutResolution(newDocument), withoutResolution(object), "the patch changes nothing else");
    const paths = (patch ?? []).map((operation) => operation.path);
    t.equal(new Set(paths).size, paths.length, "the patch has one operation for each key");
    const resolution = Object.entries(annotationsOf(newDocument)).filter(([name]) => RESOLUTION_KEYS.includes(name));
    t.strictSame(new Map(resolution), expectedAnnotations(object));
  }), { numRuns: 300 });
});

test("patches only the annotations of a cluster, and returns no patch for an already patched cluster", async (t) => {
  await assert(asyncProperty(cluster, async (generated) => {
    const object = clone(generated);
    const patch = patchOf((await webhook.post("/mutate/clusters", reviewOf(object))).json);
    const { newDocument } = jsonPatch.applyPatch(clone(object), patch ?? [], true, false, false);
    t.equal(patchOf((await webhook.post("/mutate/clusters", reviewOf(newDocument))).json), null);
    t.same(withoutResolution(newDocument), withoutResolution(object), "the patch changes nothing else");
    t.match(annotationsOf(newDocument), { [`${PREFIX}outcome`]: "refused", [`${PREFIX}via`]: "identity" });
  }), { numRuns: 200 });
});

/** Returns the expected annotations, which follow from the two selectors of COMPANY. */
function expectedAnnotations(object: JsonObject): ReadonlyMap<string, string> {
  if (stringAt(object, "metadata", "namespace") === "sandbox") {
    const reason = "No IAMRoleSelector selects the resource, so the controller's own role is used.";
    return withPrefix({ outcome: "default", reason });
  }
  if (stringAt(object, "metadata", "labels", "tier") === "shared") {
    const conflict = "Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [shared, team-a]";
    return withPrefix({ outcome: "conflict", "conflicting-selectors": "shared,team-a", reason: conflict });
  }
  return withPrefix({
    outcome: "selected", via: "selector", selector: "team-a", "selector-resource-version": "41",
    "role-arn": "arn:aws:iam::111122223333:role/team-a", reason: "IAMRoleSelector team-a selects the resource.",
  });
}

function withPrefix(annotationsByName: Record<string, string>): ReadonlyMap<string, string> {
  return new Map(Object.entries(annotationsByName).map(([name, value]) => [PREFIX + name, value]));
}

function annotationsOf(object: JsonObject): JsonObject {
  return objectAt(object, "metadata", "annotations");
}

/** Returns the object without the resolution annotations. Treats absent, null and empty annotations as equal. */
function withoutResolution(object: JsonObject): unknown {
  const others = Object.entries(annotationsOf(object)).filter(([name]) => !RESOLUTION_KEYS.includes(name));
  return { ...object, metadata: { ...objectAt(object, "metadata"), annotations: others } };
}

test("rewrites the type entries of a selector once and changes no other field", async (t) => {
  await assert(asyncProperty(selector, async (generated) => {
    const object = clone(generated);
    const patch = patchOf((await webhook.post("/mutate/iamroleselectors", reviewOf(object))).json);
    const { newDocument } = jsonPatch.applyPatch(clone(object), patch ?? [], true, false, false);
    const again = await webhook.post("/mutate/iamroleselectors", reviewOf(newDocument));
    t.equal(patchOf(again.json), null);
    for (const operation of patch ?? []) t.match(operation.path, /^\/spec\/resourceTypeSelector\/\d+$/);
    t.same(withoutTypeEntries(newDocument), withoutTypeEntries(object));
  }), { numRuns: 300 });
});

function withoutTypeEntries(object: JsonObject): unknown {
  return { ...object, spec: { ...objectAt(object, "spec"), resourceTypeSelector: null } };
}
