import { test } from "tap";
import type { Requester } from "../../../shared/core/context.ts";
import {
  clusterMutationExemptionOf, exemptionOf, isACKController, isCAPAController, isNamespaceCleanup,
  mutationExemptionOf,
} from "../../../shared/core/exemptions.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { inventoryWith, namespaceObject } from "../objects.ts";

const META = {
  name: "a",
  labels: { x: "1" },
  finalizers: ["example.com/hold"],
  managedFields: [{ manager: "m" }],
  resourceVersion: "1",
  generation: 1,
};
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

test("compares a spec that is nested very deeply without recursion", (t) => {
  const nested = (leaf: number): JsonObject => {
    let spec: unknown = leaf;
    for (let i = 0; i < 100_000; i++) spec = [spec];
    return { ...STORED, spec };
  };
  t.equal(update(nested(1), nested(1)), "bookkeeping only");
  t.equal(update(nested(2), nested(1)), null);
  t.end();
});

test("exempts an update that changes only finalizers, managed fields or status", (t) => {
  t.equal(update(STORED), "bookkeeping only", "the object is unchanged");
  const maintained = { finalizers: undefined, managedFields: [], resourceVersion: "2", generation: 2 };
  t.equal(update({ ...STORED, metadata: { ...META, ...maintained } }), "bookkeeping only");
  t.equal(update({ ...STORED, status: { conditions: [1] } }), "bookkeeping only");
  t.equal(
    update({ ...STORED, spec: { list: [{ b: 2, a: 1 }, 3], arn: "x" } }),
    "bookkeeping only",
    "the order of keys does not matter",
  );
  t.end();
});

test("exempts an update that changes only the resolution annotations", (t) => {
  const annotated = (annotations: JsonObject): JsonObject => ({ ...STORED, metadata: { ...META, annotations } });
  const byDefault = annotated({ "ack-role-resolver.io/outcome": "default" });
  t.equal(update(byDefault), "bookkeeping only");
  t.equal(update(annotated({ "ack-role-resolver.io/outcome": "selected" }), byDefault), "bookkeeping only");
  t.equal(update(annotated({ "ack-role-resolver.io/allow": "IRS-15" })), null, "a waiver comes from the requester");
  t.end();
});

test("does not exempt a change of finalizers, managed fields or status that also changes another field", (t) => {
  t.equal(update({ ...STORED, metadata: { ...META, finalizers: [], labels: { x: "2" } } }), null, "a label");
  t.equal(
    update({ ...STORED, metadata: { ...META, finalizers: [], annotations: { "example.com/a": "1" } } }),
    null,
    "an annotation",
  );
  t.equal(update({ ...STORED, metadata: { ...META, annotations: ["x"] } }), null, "the annotations are an array");
  t.equal(update({ ...STORED, status: {}, spec: { ...SPEC, arn: "y" } }), null, "a value");
  t.equal(update({ ...STORED, spec: { ...SPEC, list: [3, { a: 1, b: 2 }] } }), null, "the order of a list");
  t.equal(update({ ...STORED, spec: { ...SPEC, list: [{ a: 1, b: 2 }, 3, 4] } }), null, "a longer list");
  t.equal(update({ ...STORED, spec: { ...SPEC, list: { 0: 1 } } }), null, "another type");
  t.equal(update({ ...STORED, spec: { ...SPEC, extra: undefined } }), null, "an additional key");
  t.equal(update({ ...STORED, metadata: null }), null, "no metadata");
  t.equal(update({ ...STORED, extra: 1 }), null, "a top-level field");
  t.end();
});

function withKey(key: string, value: string): JsonObject {
  return JSON.parse(`{"metadata": {}, "spec": {${JSON.stringify(key)}: ${value}}}`);
}

test("compares keys such as __proto__ like other keys", (t) => {
  for (const key of ["__proto__", "constructor", "toString"]) {
    t.equal(update(withKey(key, "1"), withKey(key, "1")), "bookkeeping only", key);
    t.equal(update(withKey(key, "1"), withKey(key, "2")), null, key);
    t.equal(update({ metadata: {}, spec: {} }, withKey(key, "1")), null, `${key} removed`);
  }
  t.end();
});

const DELETING: JsonObject = { ...STORED, metadata: { ...META, deletionTimestamp: "2026-03-01T12:00:00Z" } };

test("exempts an update of a terminating object if its spec, labels and annotations stay the same", (t) => {
  const metadata = (change: JsonObject): JsonObject => ({ ...STORED, metadata: { ...META, ...change } });
  t.equal(update(metadata({ finalizers: [] }), DELETING), "being deleted");
  t.equal(update(metadata({ ownerReferences: [{ uid: "u" }] }), DELETING), "being deleted");
  t.equal(update(metadata({ annotations: { "ack-role-resolver.io/outcome": "x" } }), DELETING), "being deleted");
  t.equal(update(metadata({ labels: { x: "2" } }), DELETING), null, "a label");
  t.equal(update(metadata({ annotations: { "ack-role-resolver.io/allow": "x" } }), DELETING), null, "an annotation");
  t.equal(update({ ...STORED, spec: { arn: "y" } }, DELETING), null, "the spec");
  t.equal(update({ ...STORED, data: {} }, DELETING), null, "another field");
  t.end();
});

test("does not exempt a create or update request that submits a deletionTimestamp", (t) => {
  const submitted = { ...DELETING, spec: { arn: "y" } };
  t.equal(update(submitted), null);
  t.equal(exemptionOf({ operation: "CREATE", subResource: "", object: submitted, oldObject: null }), null);
  const owned = { ...STORED, metadata: { ...META, ownerReferences: [] } };
  t.equal(update(owned, { ...STORED, metadata: { ...META, deletionTimestamp: null } }), null);
  t.end();
});

test("exempts a DELETE request for an object that is already being deleted, but not the first DELETE request", (t) => {
  const deleting = { ...STORED, metadata: { ...META, deletionTimestamp: "2026-03-01T12:00:00Z" } };
  t.equal(exemptionOf({ operation: "DELETE", subResource: "", object: null, oldObject: STORED }), null);
  t.equal(exemptionOf({ operation: "DELETE", subResource: "", object: null, oldObject: deleting }), "being deleted");
  t.equal(exemptionOf({ operation: "DELETE", subResource: "", object: null, oldObject: null }), null);
  t.equal(
    exemptionOf({ operation: "CREATE", subResource: "", object: STORED, oldObject: deleting }),
    null,
    "a create ignores the stored object",
  );
  t.end();
});

test("exempts an update of a subresource that changes no label or annotation", (t) => {
  const ofStatus = { operation: "UPDATE", subResource: "status", object: { ...STORED, spec: 1 }, oldObject: STORED };
  t.equal(exemptionOf(ofStatus), "subresource");
  const relabeled = { ...STORED, metadata: { ...META, labels: {} } };
  t.equal(exemptionOf({ ...ofStatus, object: relabeled }), null, "a Namespace stores the labels");
  const annotated = { ...STORED, metadata: { ...META, annotations: { x: "1" } } };
  t.equal(exemptionOf({ ...ofStatus, object: annotated }), null, "a Namespace stores the annotations");
  t.equal(exemptionOf({ ...ofStatus, operation: "CREATE", oldObject: null }), "subresource");
  t.equal(exemptionOf({ operation: "CREATE", subResource: "", object: STORED, oldObject: null }), null);
  t.equal(
    exemptionOf({ operation: "UPDATE", subResource: "", object: STORED, oldObject: null }),
    null,
    "an update without the stored object",
  );
  t.end();
});

test("mutates a terminating object only if its spec, labels or annotations change", (t) => {
  const change = { operation: "UPDATE", subResource: "", object: STORED, oldObject: STORED };
  t.equal(mutationExemptionOf(change), null);
  t.equal(mutationExemptionOf({ ...change, oldObject: DELETING }), "being deleted");
  const relabeled = { ...STORED, metadata: { ...META, labels: {} } };
  t.equal(mutationExemptionOf({ ...change, object: relabeled, oldObject: DELETING }), null, "a label");
  const forged = { ...STORED, metadata: { ...META, annotations: { "ack-role-resolver.io/outcome": "default" } } };
  t.equal(mutationExemptionOf({ ...change, object: forged, oldObject: DELETING }), null, "a resolution annotation");
  t.equal(
    mutationExemptionOf({ ...change, oldObject: null, object: DELETING }),
    null,
    "a deletionTimestamp submitted with a create",
  );
  t.equal(mutationExemptionOf({ ...change, subResource: "status" }), "subresource");
  t.end();
});

function requester(username: string): Requester {
  return { username, groups: ["system:masters"] };
}

test("treats the users in the settings as ACK controllers", (t) => {
  const role = "arn:aws:sts::111122223333:assumed-role/ACKCapability";
  const settings = { controllerServiceAccounts: [], controllerUsers: ["ack", `${role}/*`] };
  t.ok(isACKController(requester("ack"), settings));
  t.ok(isACKController(requester(`${role}/session`), settings));
  for (const username of ["ack2", `${role}2/session`, "system:serviceaccount:ack:ack", ""]) {
    t.notOk(isACKController(requester(username), settings), username);
  }
  t.end();
});

test("treats only the service accounts in the settings as ACK controllers", (t) => {
  const settings = { controllerServiceAccounts: ["ack-system/ack-s3-controller"], controllerUsers: [] };
  t.ok(isACKController(requester("system:serviceaccount:ack-system:ack-s3-controller"), settings));
  const others = [
    "system:serviceaccount:ack-system:ack-iam-controller", "system:serviceaccount:team-a:ack-s3-controller",
    "ack-s3-controller", "",
  ];
  for (const username of others) {
    t.notOk(isACKController(requester(username), settings), username);
  }
  const controller = requester("system:serviceaccount:ack-system:ack-s3-controller");
  t.notOk(isACKController(controller, { controllerServiceAccounts: [], controllerUsers: [] }));
  t.end();
});

test("treats deletions in a terminating namespace or by its controller as cleanup of the namespace", (t) => {
  const inventory = inventoryWith([
    namespaceObject("team-a"),
    { ...namespaceObject("deleted"), metadata: { name: "deleted", deletionTimestamp: "2026-03-01T12:00:00Z" } },
    { ...namespaceObject("terminating"), status: { phase: "Terminating" } },
  ]);
  const deletion = { operation: "DELETE", namespace: "team-a", requester: requester("jane") } as const;
  t.notOk(isNamespaceCleanup(deletion, inventory));
  t.ok(isNamespaceCleanup({ ...deletion, namespace: "deleted" }, inventory));
  t.ok(isNamespaceCleanup({ ...deletion, namespace: "terminating" }, inventory));
  t.notOk(isNamespaceCleanup({ ...deletion, namespace: "" }, inventory));
  const byController = { ...deletion, requester: requester("system:serviceaccount:kube-system:namespace-controller") };
  t.ok(isNamespaceCleanup(byController, inventory));
  t.notOk(isNamespaceCleanup({ ...byController, namespace: "" }, inventory), "a cluster-scoped object");
  t.notOk(isNamespaceCleanup({ ...byController, operation: "UPDATE" }, inventory), "an update");
  const byNamesake = { ...deletion, requester: requester("system:serviceaccount:team-a:namespace-controller") };
  t.notOk(isNamespaceCleanup(byNamesake, inventory), "a service account of another namespace");
  t.end();
});

test("only the configured service accounts are CAPA", (t) => {
  const settings = { capaServiceAccounts: ["capa-system/capa-controller-manager"] };
  const isCAPA = (username: string): boolean => isCAPAController({ username, groups: [] }, settings);
  t.equal(isCAPA("system:serviceaccount:capa-system:capa-controller-manager"), true);
  t.equal(isCAPA("system:serviceaccount:capa-system:default"), false);
  t.equal(isCAPA("capa-controller-manager"), false);
  t.end();
});

test("the webhook mutates a cluster only if its spec, a label or an annotation changes", (t) => {
  const cluster = (metadata: JsonObject = {}, rest: JsonObject = {}): JsonObject => (
    { kind: "AWSCluster", metadata: { name: "c", ...metadata }, spec: { region: "eu-west-1" }, ...rest }
  );
  const exemption = (object: JsonObject | null, oldObject: JsonObject | null, subResource = ""): string | null => (
    clusterMutationExemptionOf({ operation: oldObject === null ? "CREATE" : "UPDATE", subResource, object, oldObject })
  );
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const bookkeeping = [
    cluster({ finalizers: ["a"] }), cluster({ ownerReferences: [{ name: "o" }] }),
    cluster({}, { status: { ready: true } }),
  ];
  for (const object of bookkeeping) t.equal(exemption(object, cluster()), "bookkeeping only");
  const going = cluster({ deletionTimestamp, finalizers: ["a"] });
  t.equal(exemption(cluster({ deletionTimestamp }), going), "being deleted");
  t.equal(exemption(cluster(), cluster(), "status"), "subresource");
  const annotations = { "ack-role-resolver.io/outcome": "selected" };
  for (const object of [cluster({ annotations }), cluster({ labels: { a: "b" } }), cluster({}, { spec: {} })]) {
    t.equal(exemption(object, cluster()), null);
    t.equal(exemption(object, cluster({ deletionTimestamp })), null);
    t.equal(exemption(object, null), null);
  }
  t.equal(exemption(null, cluster()), null);
  t.end();
});
