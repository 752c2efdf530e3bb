import { test } from "tap";
import { exemptionOf, mutationExemptionOf } from "../../../shared/decisions/exemptions.ts";
import type { JsonObject } from "../../../shared/decisions/kubernetes/json.ts";

const META = { name: "a", labels: { x: "1" }, finalizers: ["example.com/hold"], managedFields: [{ manager: "m" }], resourceVersion: "1", generation: 1 };
const SPEC = { arn: "x", list: [{ a: 1, b: 2 }, 3] };
const STORED: JsonObject = {
  apiVersion: "services.k8s.aws/v1alpha1",
  kind: "IAMRoleSelector",
  metadata: META,
  spec: SPEC,
  status: { conditions: [] },
};

function update(object: JsonObject, oldObject: JsonObject = STORED): ReturnType<typeof exemptionOf> {
  return exemptionOf({ operation: "UPDATE", subResource: "", object, oldObject });
}

test("finalizers, managed fields and status alone are bookkeeping", (t) => {
  t.equal(update(STORED), "bookkeeping only", "no change at all");
  t.equal(update({ ...STORED, metadata: { ...META, finalizers: undefined, managedFields: [], resourceVersion: "2", generation: 2 } }), "bookkeeping only");
  t.equal(update({ ...STORED, status: { conditions: [1] } }), "bookkeeping only");
  t.equal(update({ ...STORED, spec: { list: [{ b: 2, a: 1 }, 3], arn: "x" } }), "bookkeeping only", "the order of keys says nothing");
  t.end();
});

test("the annotations that the webhook itself mends are bookkeeping too", (t) => {
  const told = { ...STORED, metadata: { ...META, annotations: { "ack-role-resolver.io/outcome": "default" } } };
  t.equal(update(told), "bookkeeping only");
  t.equal(update({ ...STORED, metadata: { ...META, annotations: { "ack-role-resolver.io/outcome": "selected" } } }, told), "bookkeeping only");
  t.equal(update({ ...STORED, metadata: { ...META, annotations: { "ack-role-resolver.io/allow": "IRS-15" } } }), null, "a waiver is its author's");
  t.end();
});

test("with anything else beside it, the change is judged", (t) => {
  t.equal(update({ ...STORED, metadata: { ...META, finalizers: [], labels: { x: "2" } } }), null, "a label");
  t.equal(update({ ...STORED, metadata: { ...META, finalizers: [], annotations: { "example.com/a": "1" } } }), null, "an annotation");
  t.equal(update({ ...STORED, metadata: { ...META, annotations: ["x"] } }), null, "annotations that are none");
  t.equal(update({ ...STORED, status: {}, spec: { ...SPEC, arn: "y" } }), null, "a value");
  t.equal(update({ ...STORED, spec: { ...SPEC, list: [3, { a: 1, b: 2 }] } }), null, "the order of a list");
  t.equal(update({ ...STORED, spec: { ...SPEC, list: [{ a: 1, b: 2 }, 3, 4] } }), null, "a longer list");
  t.equal(update({ ...STORED, spec: { ...SPEC, list: { 0: 1 } } }), null, "another type");
  t.equal(update({ ...STORED, spec: { ...SPEC, extra: undefined } }), null, "a key more");
  t.equal(update({ ...STORED, metadata: null }), null, "no metadata");
  t.equal(update({ ...STORED, extra: 1 }), null, "a field at the top");
  t.end();
});

function withKey(key: string, value: string): JsonObject {
  return JSON.parse(`{"metadata": {}, "spec": {${JSON.stringify(key)}: ${value}}}`);
}

test("keys that JavaScript knows are data in the difference", (t) => {
  for (const key of ["__proto__", "constructor", "toString"]) {
    t.equal(update(withKey(key, "1"), withKey(key, "1")), "bookkeeping only", key);
    t.equal(update(withKey(key, "1"), withKey(key, "2")), null, key);
    t.equal(update({ metadata: {}, spec: {} }, withKey(key, "1")), null, `${key} removed`);
  }
  t.end();
});

test("an object is being deleted when the stored one is, whatever the request claims", (t) => {
  const changed = { ...STORED, spec: { arn: "y" } };
  const leaving = { ...STORED, metadata: { ...META, deletionTimestamp: "2026-03-01T12:00:00Z" } };
  t.equal(update(changed, leaving), "being deleted");
  const claimed = { ...changed, metadata: { ...META, deletionTimestamp: "2026-03-01T12:00:00Z" } };
  t.equal(update(claimed), null, "a timestamp written into an update");
  t.equal(exemptionOf({ operation: "CREATE", subResource: "", object: claimed, oldObject: null }), null, "or into a create");
  t.equal(update(changed, { ...STORED, metadata: { ...META, deletionTimestamp: null } }), null);
  t.end();
});

test("a deletion is judged, a second one of the same object decides nothing any more", (t) => {
  const leaving = { ...STORED, metadata: { ...META, deletionTimestamp: "2026-03-01T12:00:00Z" } };
  t.equal(exemptionOf({ operation: "DELETE", subResource: "", object: null, oldObject: STORED }), null);
  t.equal(exemptionOf({ operation: "DELETE", subResource: "", object: null, oldObject: leaving }), "being deleted");
  t.equal(exemptionOf({ operation: "DELETE", subResource: "", object: null, oldObject: null }), null);
  t.equal(exemptionOf({ operation: "CREATE", subResource: "", object: STORED, oldObject: leaving }), null, "a create has no stored object");
  t.end();
});

test("a subresource is never ours to refuse; a create is judged", (t) => {
  t.equal(exemptionOf({ operation: "UPDATE", subResource: "status", object: { spec: 1 }, oldObject: STORED }), "subresource");
  t.equal(exemptionOf({ operation: "CREATE", subResource: "", object: STORED, oldObject: null }), null);
  t.equal(exemptionOf({ operation: "UPDATE", subResource: "", object: STORED, oldObject: null }), null, "an update without the stored object");
  t.end();
});

test("mutating stays away from subresources and from what is being deleted, and from nothing else", (t) => {
  const leaving = { metadata: { deletionTimestamp: "2026-03-01T12:00:00Z" } };
  const change = { operation: "UPDATE", subResource: "", object: STORED, oldObject: STORED };
  t.equal(mutationExemptionOf(change), null);
  t.equal(mutationExemptionOf({ ...change, oldObject: leaving }), "being deleted");
  t.equal(mutationExemptionOf({ ...change, oldObject: null, object: leaving }), null, "claimed at create");
  t.equal(mutationExemptionOf({ ...change, subResource: "status" }), "subresource");
  t.end();
});
