import { test } from "tap";
import { field, type JsonObject, stringMap } from "../../../shared/formats/json.ts";
import { stateAfterApply, stateAfterDelete } from "../../../shared/files/proposed-state.ts";
import { bucketObject, kindObject, namespaceObject, ROLE, selectorObject } from "../objects.ts";

const LAST = "kubectl.kubernetes.io/last-applied-configuration";

function applied(
  objects: readonly JsonObject[], manifest: JsonObject, origin: "file" | "cluster",
): JsonObject | undefined {
  return stateAfterApply(objects, [manifest], origin).objects[0];
}

test("apply replaces an object that has the same name, and appends other objects", (t) => {
  const a = selectorObject("a", { arn: ROLE });
  const b = selectorObject("b", { arn: ROLE });
  const c = selectorObject("c", { arn: ROLE });
  const changed = selectorObject("a", { arn: `${ROLE}2` });
  const nameless = {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { generateName: "x-" },
  };
  t.same(stateAfterApply([a, b], [c, changed, nameless], "file"), { objects: [changed, b, c, nameless], absent: [] });
  const stored = [bucketObject({ namespace: "default" })];
  const { objects } = stateAfterApply(stored, [bucketObject({ namespace: "" })], "file");
  t.same(objects.length, 1, "an empty namespace means the default namespace");
  t.end();
});

test("apply preserves the stored status, and removes the stored resourceVersion", (t) => {
  const status = { ackResourceMetadata: { ownerAccountID: "1" } };
  const stored = bucketObject({ resourceVersion: "7", uid: "u", deletionTimestamp: "now" }, { status });
  t.same(applied([stored], bucketObject({}, { status: { forged: true } }), "cluster"), {
    ...bucketObject({ uid: "u", deletionTimestamp: "now" }), status,
  });
  const withStatus = bucketObject({}, { status: { a: 1 } });
  t.same(applied([bucketObject()], withStatus, "file"), withStatus, "the stored object has no status");
  t.end();
});

test("replaces the labels of an applied object if the state is a folder, and merges labels if it is a cluster", (t) => {
  const last = JSON.stringify(namespaceObject("n", { dropped: "1", changed: "1" }));
  const stored = namespaceObject("n", { others: "1", dropped: "1", changed: "1" }, { [LAST]: last, note: "x" });
  const manifest = namespaceObject("n", { changed: "2" });
  t.match(applied([stored], manifest, "file"), {
    metadata: { labels: { changed: "2", others: undefined }, annotations: {} },
  });
  const labels = stringMap(field(field(applied([stored], manifest, "cluster"), "metadata"), "labels"));
  t.strictSame(labels, new Map([["others", "1"], ["changed", "2"]]));
  const unreadable = namespaceObject("n", { others: "1" }, { [LAST]: "{" });
  t.match(applied([unreadable], manifest, "cluster"), { metadata: { labels: { others: "1", changed: "2" } } });
  const bare = { apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } };
  t.match(applied([stored], bare, "cluster"), { metadata: { labels: { others: "1" } } });
  t.same(applied([bare], manifest, "cluster"), manifest);
  t.end();
});

test("merges the data of a ConfigMap if the current state is a cluster, and replaces it if it is a folder", (t) => {
  const map = (data: JsonObject): JsonObject => (
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m", namespace: "n", annotations: {} }, data }
  );
  t.match(applied([map({ a: "1", b: "1" })], map({ b: "2" }), "cluster"), { data: { a: "1", b: "2" } });
  t.strictSame(applied([map({ a: "1", b: "1" })], map({ b: "2" }), "file")?.["data"], { b: "2" });
  t.end();
});

test("apply rewrites the type entries of a selector like the webhook", (t) => {
  const entry = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket" };
  const manifest = selectorObject("a", { arn: ROLE, resourceTypeSelector: [{ kind: "Queue" }, entry] });
  const rewritten = { group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket" };
  const stored = { spec: { resourceTypeSelector: [{ kind: "Queue" }, rewritten] } };
  t.match(applied([], manifest, "cluster"), stored);
  t.match(applied([selectorObject("a", {})], manifest, "cluster"), stored);
  t.end();
});

test("delete removes objects and their dependents, and reports manifests that match no stored object", (t) => {
  const bucket = bucketObject();
  const elsewhere = bucketObject({ namespace: "team-b" });
  const definition = kindObject("Bucket", "s3.services.k8s.aws", []);
  const namespace = namespaceObject("team-a");
  const selector = selectorObject("a", { arn: ROLE });
  const objects = [bucket, elsewhere, definition, namespace, selector];
  t.same(stateAfterDelete(objects, [selector]), { objects: [bucket, elsewhere, definition, namespace], absent: [] });
  t.same(stateAfterDelete(objects, [namespace]).objects, [elsewhere, definition, selector]);
  t.same(stateAfterDelete(objects, [definition]).objects, [namespace, selector]);
  t.same(
    stateAfterDelete(objects, [elsewhere]).objects,
    [bucket, definition, namespace, selector],
    "a bucket of the same name in another namespace remains",
  );
  const other = selectorObject("b", { arn: ROLE });
  t.same(stateAfterDelete(objects, [other]), { objects, absent: [other] });
  t.end();
});
