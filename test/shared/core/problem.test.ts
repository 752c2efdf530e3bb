import { test } from "tap";
import { readReferrer } from "../../../shared/capa/referrer.ts";
import { identitySubject } from "../../../shared/capa/identity.ts";
import { annotatedSubject } from "../../../shared/core/problem.ts";
import { clusterObject, INFRASTRUCTURE } from "../capa-objects.ts";
import { inventoryWith, kindObject } from "../objects.ts";

test("an Event names an identity in the storage version of its kind", (t) => {
  const kind = "AWSClusterRoleIdentity";
  const identity = { kind, namespace: "", name: "a", uid: "uid-a" } as const;
  const subject = { kind, namespace: "", name: "a", uid: "uid-a" };
  const unknown = inventoryWith([]);
  t.same(identitySubject(identity, unknown), { apiVersion: `${INFRASTRUCTURE}/v1beta2`, ...subject });
  const later = inventoryWith([kindObject(kind, INFRASTRUCTURE, [
    { name: "v1beta2", served: true, storage: false }, { name: "v1beta3", served: true, storage: true },
  ])]);
  t.same(identitySubject(identity, later), { apiVersion: `${INFRASTRUCTURE}/v1beta3`, ...subject });
  t.end();
});

test("an Event names a cluster in its own version", (t) => {
  const referrer = readReferrer(clusterObject("c", null));
  if (referrer === null) throw new Error("not a cluster");
  const subject = { apiVersion: `${INFRASTRUCTURE}/v1beta2`, kind: "AWSCluster", namespace: "ns1" };
  t.same(annotatedSubject({ ...referrer, uid: "uid-c" }), { ...subject, name: "c", uid: "uid-c" });
  t.same(annotatedSubject({ ...referrer, name: null }), { ...subject, name: "", uid: null });
  t.end();
});
