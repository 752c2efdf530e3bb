// Ways to make a resource tell another role than the one that it gets.
import { type Test, test } from "tap";
import { RESOLUTION_KEYS } from "../../shared/decisions/annotation-keys.ts";
import type { JsonObject, PatchOperation } from "../../shared/decisions/kubernetes/json.ts";
import { objectAt, patchOf, reviewOf } from "../webhook/reviews.ts";
import { webhookUnderTest } from "../webhook/webhook-under-test.ts";

const FORGED = Object.fromEntries(RESOLUTION_KEYS.map((key) => [key, "forged"]));

function bucket(metadata: JsonObject = {}, rest: JsonObject = {}): JsonObject {
  return { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "b1", namespace: "team-a", ...metadata }, spec: {}, ...rest };
}

async function patch(t: Test, object: JsonObject, request: JsonObject = {}): Promise<readonly PatchOperation[]> {
  const webhook = webhookUnderTest();
  t.teardown(() => webhook.app.close());
  const { status, json } = await webhook.post("/mutate/resources", reviewOf(object, request));
  t.equal(status, 200);
  return patchOf(json) ?? [];
}

/** What the annotations say once the patch is applied: pointers to keys, unescaped. */
function after(object: JsonObject, operations: readonly PatchOperation[]): Record<string, unknown> {
  const annotations: Record<string, unknown> = { ...objectAt(object, "metadata", "annotations") };
  for (const operation of operations) {
    const key = operation.path.split("/").slice(3).join("/").replaceAll("~1", "/").replaceAll("~0", "~");
    if (key === "" && operation.op !== "remove") Object.assign(annotations, operation.value);
    else if (operation.op === "remove") delete annotations[key];
    else annotations[key] = operation.value;
  }
  return annotations;
}

test("every key is forged at create", async (t) => {
  const object = bucket({ annotations: FORGED });
  t.notMatch(Object.values(after(object, await patch(t, object))), ["forged"]);
});

test("every key is forged at update, with the truth in the stored object", async (t) => {
  const object = bucket({ annotations: FORGED });
  t.notMatch(Object.values(after(object, await patch(t, object, { operation: "UPDATE", oldObject: bucket() }))), ["forged"]);
});

test("the truth of another resource is copied", async (t) => {
  const shared = bucket({ labels: { tier: "none" }, annotations: { "ack-role-resolver.io/outcome": "selected", "ack-role-resolver.io/selector": "shared" } });
  t.match(after(shared, await patch(t, shared)), { "ack-role-resolver.io/selector": "team-a", "ack-role-resolver.io/role-arn": "arn:aws:iam::111122223333:role/team-a" });
});

test("the object names another namespace than the request", async (t) => {
  const object = bucket({ namespace: "sandbox" });
  t.match(after(object, await patch(t, object, { namespace: "team-a" })), { "ack-role-resolver.io/selector": "team-a" });
});

test("a status is claimed at create, where there is none", async (t) => {
  const object = bucket({}, { status: { ackResourceMetadata: { ownerAccountID: "999988887777", region: "us-east-1" } } });
  t.notMatch(after(object, await patch(t, object)), { "ack-role-resolver.io/reason": /Drift/ });
});

test("annotations are no map at all", async (t) => {
  for (const annotations of [null, [], "x", 1]) {
    const operations = await patch(t, bucket({ annotations }));
    t.match(operations, [{ op: "add", path: "/metadata/annotations", value: { "ack-role-resolver.io/outcome": "selected" } }], JSON.stringify(annotations));
  }
});

test("a group that only ends alike is taken for ACK's", async (t) => {
  for (const group of ["services.k8s.aws", "xservices.k8s.aws", "s3.services.k8s.aws.example.com"]) {
    t.same(await patch(t, { ...bucket(), apiVersion: `${group}/v1alpha1` }), [], group);
  }
});

test("a delete asks for a patch", async (t) => {
  t.same(await patch(t, bucket(), { operation: "DELETE", object: null, oldObject: bucket({ annotations: FORGED }) }), []);
  t.same(await patch(t, bucket(), { operation: "DELETE", object: bucket({ annotations: FORGED }) }), []);
});

test("labels and selectors are keys that every JavaScript object answers to", async (t) => {
  const object = bucket({ labels: JSON.parse('{"__proto__": "x", "constructor": "x", "toString": "x"}') });
  t.match(after(object, await patch(t, object)), { "ack-role-resolver.io/selector": "team-a" });
});
