import { test } from "tap";
import { field, type JsonObject, stringMap } from "../../../../shared/decisions/kubernetes/json.ts";
import { stateWith, stateWithout } from "../../../../shared/inventory/manifests/proposed-state.ts";
import { bucketObject, kindObject, namespaceObject, ROLE, selectorObject } from "../../decisions/objects.ts";

const LAST = "kubectl.kubernetes.io/last-applied-configuration";

function only(objects: readonly JsonObject[], manifest: JsonObject, origin: "file" | "cluster"): JsonObject | undefined {
  return stateWith(objects, [manifest], origin).objects[0];
}

test("a manifest replaces the object of its name, in its place, and others are new", (t) => {
  const [a, b, c] = [selectorObject("a", { arn: ROLE }), selectorObject("b", { arn: ROLE }), selectorObject("c", { arn: ROLE })] as const;
  const changed = selectorObject("a", { arn: `${ROLE}2` });
  const nameless = { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { generateName: "x-" } };
  t.same(stateWith([a, b], [c, changed, nameless], "file"), { objects: [changed, b, c, nameless], absent: [] });
  t.same(stateWith([bucketObject({ namespace: "default" })], [bucketObject({ namespace: "" })], "file").objects.length, 1, "no namespace is default");
  t.end();
});

test("the status stays, and the version of the older object does not", (t) => {
  const stored = bucketObject({ resourceVersion: "7", uid: "u", deletionTimestamp: "now" }, { status: { ackResourceMetadata: { ownerAccountID: "1" } } });
  t.same(only([stored], bucketObject({}, { status: { forged: true } }), "cluster"), {
    ...bucketObject({ uid: "u", deletionTimestamp: "now" }), status: { ackResourceMetadata: { ownerAccountID: "1" } },
  });
  t.same(only([bucketObject()], bucketObject({}, { status: { a: 1 } }), "file"), bucketObject({}, { status: { a: 1 } }), "the first status there is");
  t.end();
});

test("in a folder the manifest's labels are all there are; in a cluster those of others stay, and those applied before go", (t) => {
  const stored = namespaceObject("n", { others: "1", dropped: "1", kept: "1" }, { [LAST]: JSON.stringify(namespaceObject("n", { dropped: "1", kept: "1" })), note: "x" });
  const manifest = namespaceObject("n", { kept: "2" });
  t.match(only([stored], manifest, "file"), { metadata: { labels: { kept: "2", others: undefined }, annotations: {} } });
  t.strictSame(stringMap(field(field(only([stored], manifest, "cluster"), "metadata"), "labels")), new Map([["others", "1"], ["kept", "2"]]));
  const unreadable = namespaceObject("n", { others: "1" }, { [LAST]: "{" });
  t.match(only([unreadable], manifest, "cluster"), { metadata: { labels: { others: "1", kept: "2" } } });
  const bare = { apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } };
  t.match(only([stored], bare, "cluster"), { metadata: { labels: { others: "1" } } });
  t.same(only([bare], manifest, "cluster"), manifest);
  t.end();
});

test("the data of a ConfigMap is merged as labels are", (t) => {
  const map = (data: JsonObject, annotations: JsonObject = {}): JsonObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m", namespace: "n", annotations }, data });
  t.match(only([map({ a: "1", b: "1" })], map({ b: "2" }), "cluster"), { data: { a: "1", b: "2" } });
  t.strictSame(only([map({ a: "1", b: "1" })], map({ b: "2" }), "file")?.["data"], { b: "2" });
  t.end();
});

test("a selector is stored as the webhook rewrites it", (t) => {
  const entry = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket" };
  const manifest = selectorObject("a", { arn: ROLE, resourceTypeSelector: [{ kind: "Queue" }, entry] });
  const stored = { spec: { resourceTypeSelector: [{ kind: "Queue" }, { group: "s3.services.k8s.aws", version: "v1alpha1", kind: "Bucket" }] } };
  t.match(only([], manifest, "cluster"), stored);
  t.match(only([selectorObject("a", {})], manifest, "cluster"), stored);
  t.end();
});

test("what is deleted goes, with all that hangs on it, and what is not there is named", (t) => {
  const bucket = bucketObject();
  const elsewhere = bucketObject({ namespace: "team-b" });
  const definition = kindObject("Bucket", "s3.services.k8s.aws", []);
  const namespace = namespaceObject("team-a");
  const selector = selectorObject("a", { arn: ROLE });
  const objects = [bucket, elsewhere, definition, namespace, selector];
  t.same(stateWithout(objects, [selector]), { objects: [bucket, elsewhere, definition, namespace], absent: [] });
  t.same(stateWithout(objects, [namespace]).objects, [elsewhere, definition, selector]);
  t.same(stateWithout(objects, [definition]).objects, [namespace, selector]);
  t.same(stateWithout(objects, [elsewhere]).objects, [bucket, definition, namespace, selector], "a near miss");
  const other = selectorObject("b", { arn: ROLE });
  t.same(stateWithout(objects, [other]), { objects, absent: [other] });
  t.end();
});
