import { storedObject } from "../../../shared/judges.ts";
import { test } from "tap";
import { judgeSelector } from "../../../shared/ack/judge-selector.ts";
import { kindOf } from "../../../shared/kinds.ts";
import { readReferrer } from "../../../shared/capa/referrer.ts";
import { resourceOf } from "../../../shared/core/ack-resource.ts";
import type { JsonObject } from "../../../shared/formats/json.ts";
import { objectReference } from "../../../shared/formats/object-meta.ts";
import { clusterObject, refTo, roleIdentity } from "../capa-objects.ts";
import { bucketObject, inventoryWith, kindObject, namespaceObject, ROLE, selectorObject } from "../objects.ts";

const CONTEXT = { origin: "cluster", runtime: "extended" } as const;

/** Returns the object as an inventory contains it, or null if the inventory contains `stored` but not the object. */
function storedAs(object: JsonObject, stored: readonly JsonObject[] = [object]): JsonObject | null {
  const inventory = inventoryWith(stored, CONTEXT);
  const { namespace, name, ...kind } = objectReference(object);
  const known = kindOf(objectReference(object));
  return known === null ? null : storedObject(known, { kind, namespace, name }, inventory);
}

test("returns a selector that selects the same resources", (t) => {
  const matchExpressions = [{ key: "env", operator: "In", values: ["prod", "dev"] }];
  const specs: readonly object[] = [
    {}, { namespaceSelector: { names: ["team-a", "team-b"] } },
    { namespaceSelector: { labelSelector: { matchLabels: { team: "a" }, matchExpressions } } },
    { resourceTypeSelector: [{ group: "s3.services.k8s.aws", version: "", kind: "Bucket" }] },
    { resourceLabelSelector: { matchExpressions } },
  ];
  for (const spec of specs) {
    const metadata = { uid: "u", resourceVersion: "7", annotations: { "ack-role-resolver.io/replaces": "a,b" } };
    const object = selectorObject("s", { arn: ROLE, ...spec }, metadata);
    const { effective } = judgeSelector(storedAs(object) ?? {}, CONTEXT);
    t.same(effective, judgeSelector(object, CONTEXT).effective, JSON.stringify(spec));
    t.not(effective, null);
  }
  const faulty = selectorObject("s", { arn: ROLE, namespaceSelector: { names: ["Team A"] } });
  t.equal(storedAs(faulty), faulty, "the inventory contains the complete object of a faulty selector");
  t.end();
});

test("returns a resource whose deletion has the same effect", (t) => {
  const metadata = {
    labels: { tier: "x" }, annotations: { "services.k8s.aws/deletion-policy": "retain" },
    deletionTimestamp: "2026-01-01T00:00:00Z",
  };
  const ackResourceMetadata = { ownerAccountID: "111122223333", region: "eu-west-1", arn: "arn:aws:s3:::b1" };
  for (const object of [bucketObject(metadata, { status: { ackResourceMetadata } }), bucketObject()]) {
    t.same(resourceOf(storedAs(object) ?? {}), resourceOf(object));
  }
  t.end();
});

test("returns the fields of other objects that the checks of a deletion read", (t) => {
  const metadata = { name: "ack-role-account-map", namespace: "ack-system" };
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { 111122223333: ROLE } };
  t.same(storedAs(map), map);
  const namespace = namespaceObject("team-a", { env: "prod" });
  t.same(storedAs(namespace), { apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a" } });
  t.match(storedAs(roleIdentity("hub", "role/hub")), {
    kind: "AWSClusterRoleIdentity", metadata: { name: "hub" }, spec: {},
  });
  const definition = kindObject("Bucket", "s3.services.k8s.aws", [{ name: "v1", storage: true, served: true }]);
  t.same(storedAs(definition), {
    apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition",
    metadata: { name: "buckets.s3.services.k8s.aws" },
    spec: { group: "s3.services.k8s.aws", names: { kind: "Bucket" } },
  });
  t.end();
});

test("returns an object that uses the same identity", (t) => {
  const template = { ...clusterObject("t", null), kind: "AWSClusterTemplate" };
  const spec = { template: { spec: { identityRef: refTo("role/a") } } };
  for (const object of [clusterObject("c", "role/a"), clusterObject("c", null), { ...template, spec }, template]) {
    t.same(readReferrer(storedAs(object) ?? {})?.written, readReferrer(object)?.written);
    t.match(storedAs(object), { kind: object["kind"], metadata: { namespace: "ns1" } });
  }
  t.end();
});

test("returns null for an object that the inventory does not contain", (t) => {
  const others = [selectorObject("other", { arn: ROLE }), kindObject("Table", "dynamodb.services.k8s.aws", [])];
  const objects = [
    selectorObject("s", { arn: ROLE }), bucketObject(), namespaceObject("team-a"), roleIdentity("hub", "role/hub"),
    clusterObject("c", null),
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ack-role-account-map", namespace: "ack-system" } },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "other", namespace: "ack-system" } },
    kindObject("Bucket", "s3.services.k8s.aws", []),
  ];
  for (const object of objects) t.equal(storedAs(object, others), null, String(object["kind"]));
  t.end();
});
