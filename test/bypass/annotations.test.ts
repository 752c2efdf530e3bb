// Attempts to annotate a resource with another role than the role that resolves for the resource.
import { type Test, test } from "tap";
import { RESOLUTION_KEYS } from "../../shared/core/annotation-keys.ts";
import type { JsonObject, PatchOperation } from "../../shared/formats/json.ts";
import { objectAt, patchOf, reviewOf } from "../webhook/reviews.ts";
import { webhookUnderTest } from "../webhook/webhook-under-test.ts";

const FORGED = Object.fromEntries(RESOLUTION_KEYS.map((key) => [key, "forged"]));

function bucket(metadata: JsonObject = {}, rest: JsonObject = {}): JsonObject {
  return {
    apiVersion: "s3.services.k8s.aws/v1alpha1",
    kind: "Bucket",
    metadata: { name: "b1", namespace: "team-a", ...metadata },
    spec: {},
    ...rest,
  };
}

async function patch(t: Test, object: JsonObject, request: JsonObject = {}): Promise<readonly PatchOperation[]> {
  const webhook = webhookUnderTest();
  t.teardown(() => webhook.app.close());
  const { status, json } = await webhook.post("/mutate/resources", reviewOf(object, request));
  t.equal(status, 200);
  return patchOf(json) ?? [];
}

/** Returns the annotations after the patch. */
function patched(object: JsonObject, operations: readonly PatchOperation[]): Record<string, unknown> {
  const annotations: Record<string, unknown> = { ...objectAt(object, "metadata", "annotations") };
  for (const operation of operations) {
    const key = operation.path.split("/").slice(3).join("/").replaceAll("~1", "/").replaceAll("~0", "~");
    if (key === "" && operation.op !== "remove") Object.assign(annotations, operation.value);
    else if (operation.op === "remove") delete annotations[key];
    else annotations[key] = operation.value;
  }
  return annotations;
}

test("overwrites each resolution annotation that a create request forges", async (t) => {
  const object = bucket({ annotations: FORGED });
  t.notMatch(Object.values(patched(object, await patch(t, object))), ["forged"]);
});

test("overwrites each resolution annotation that an update request forges", async (t) => {
  const object = bucket({ annotations: FORGED });
  const operations = await patch(t, object, { operation: "UPDATE", oldObject: bucket() });
  t.notMatch(Object.values(patched(object, operations)), ["forged"]);
});

test("overwrites resolution annotations that were copied from another resource", async (t) => {
  const annotations = { "ack-role-resolver.io/outcome": "selected", "ack-role-resolver.io/selector": "shared" };
  const object = bucket({ labels: { tier: "none" }, annotations });
  t.match(patched(object, await patch(t, object)), {
    "ack-role-resolver.io/selector": "team-a",
    "ack-role-resolver.io/role-arn": "arn:aws:iam::111122223333:role/team-a",
  });
});

test("resolves the resource in the namespace of the request if the object names another namespace", async (t) => {
  const object = bucket({ namespace: "sandbox" });
  const operations = await patch(t, object, { namespace: "team-a" });
  t.match(patched(object, operations), { "ack-role-resolver.io/selector": "team-a" });
});

test("ignores the status in a create request", async (t) => {
  const status = { ackResourceMetadata: { ownerAccountID: "999988887777", region: "us-east-1" } };
  const object = bucket({}, { status });
  t.notMatch(patched(object, await patch(t, object)), { "ack-role-resolver.io/reason": /Drift/ });
});

test("replaces metadata.annotations if the value is not a map", async (t) => {
  for (const annotations of [null, [], "x", 1]) {
    const operations = await patch(t, bucket({ annotations }));
    const value = { "ack-role-resolver.io/outcome": "selected" };
    t.match(operations, [{ op: "add", path: "/metadata/annotations", value }], JSON.stringify(annotations));
  }
});

test("does not annotate an object whose API group has a name similar to an ACK group", async (t) => {
  for (const group of ["services.k8s.aws", "xservices.k8s.aws", "s3.services.k8s.aws.example.com"]) {
    t.same(await patch(t, { ...bucket(), apiVersion: `${group}/v1alpha1` }), [], group);
  }
});

test("returns no patch for a deletion", async (t) => {
  const forged = bucket({ annotations: FORGED });
  t.same(await patch(t, bucket(), { operation: "DELETE", object: null, oldObject: forged }), []);
  t.same(await patch(t, bucket(), { operation: "DELETE", object: forged }), []);
});

test("resolves a resource whose label keys are special in JavaScript, such as __proto__", async (t) => {
  const object = bucket({ labels: JSON.parse('{"__proto__": "x", "constructor": "x", "toString": "x"}') });
  t.match(patched(object, await patch(t, object)), { "ack-role-resolver.io/selector": "team-a" });
});
