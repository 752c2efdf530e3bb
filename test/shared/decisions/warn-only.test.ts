import { test } from "tap";
import { Inventory } from "../../../shared/decisions/inventory/inventory.ts";
import { isWarnOnly } from "../../../shared/decisions/warn-only.ts";
import { namespaceObject, put, SETTINGS_BY_DEFAULT } from "./objects.ts";

const SETTINGS = {
  ...SETTINGS_BY_DEFAULT, controllerServiceAccounts: ["ack-system/ack-s3-controller"],
  capaServiceAccounts: ["capa-system/capa-controller-manager"], clusterAPIServiceAccounts: ["capi-system/capi-manager"],
};
const ACK = "system:serviceaccount:ack-system:ack-s3-controller";
const CAPA = "system:serviceaccount:capa-system:capa-controller-manager";
const CAPI = "system:serviceaccount:capi-system:capi-manager";
const NAMESPACES = "system:serviceaccount:kube-system:namespace-controller";
const COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector";

const KINDS = {
  selector: { group: "services.k8s.aws", kind: "IAMRoleSelector" },
  resource: { group: "s3.services.k8s.aws", kind: "Bucket" },
  namespace: { group: "", kind: "Namespace" },
  configMap: { group: "", kind: "ConfigMap" },
  identity: { group: "infrastructure.cluster.x-k8s.io", kind: "AWSServiceAccountIdentity" },
  cluster: { group: "infrastructure.cluster.x-k8s.io", kind: "AWSCluster" },
  machine: { group: "infrastructure.cluster.x-k8s.io", kind: "AWSMachine" },
  pod: { group: "", kind: "Pod" },
  definition: { group: "apiextensions.k8s.io", kind: "CustomResourceDefinition" },
};
const NAMESPACED: ReadonlySet<string> = new Set(["resource", "configMap", "identity", "cluster", "machine", "pod"]);

/** Returns the kinds of which the checks only warn the user. */
function warned(username: string, operation: "UPDATE" | "DELETE", namespace = "team-a", name = "a"): string {
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  const terminating = namespaceObject("ending");
  inventory.apply([put({ ...terminating, status: { phase: "Terminating" } }), put(namespaceObject("team-a"))]);
  const requester = { username, groups: [] };
  const kinds = Object.entries(KINDS).filter(([id, kind]) => {
    const request = { operation, kind, namespace: NAMESPACED.has(id) ? namespace : "", name, requester };
    return isWarnOnly(request, SETTINGS, inventory);
  });
  return kinds.map(([id]) => id).join();
}

test("only warns controllers about the objects that they write, and Kubernetes about a cleanup", (t) => {
  t.equal(warned("jane", "UPDATE"), "");
  t.equal(warned("jane", "DELETE"), "");
  t.equal(warned("jane", "DELETE", "ending"), "resource,configMap,identity,cluster,machine");
  t.equal(warned("jane", "UPDATE", "ending"), "");
  t.equal(warned("jane", "UPDATE", "team-a", "kube-system"), "namespace");
  for (const operation of ["UPDATE", "DELETE"] as const) {
    t.equal(warned(ACK, operation), "resource");
    t.equal(warned(CAPA, operation), "identity,cluster,machine");
    t.equal(warned(CAPI, operation), "machine");
  }
  t.equal(warned(NAMESPACES, "DELETE"), "resource,namespace,configMap,identity,cluster,machine");
  t.equal(warned(NAMESPACES, "UPDATE"), "namespace", "the update that removes the finalizer");
  t.equal(warned(COLLECTOR, "DELETE"), "resource,cluster,machine");
  t.equal(warned(COLLECTOR, "UPDATE"), "");
  t.end();
});
