import { warnsOnly } from "../../../shared/core/kind.ts";
import { test } from "tap";
import { kindOf, KINDS, reviewedKind } from "../../../shared/kinds.ts";
import { inventoryWith, namespaceObject, SETTINGS_BY_DEFAULT } from "../objects.ts";

const SETTINGS = {
  ...SETTINGS_BY_DEFAULT, controllerServiceAccounts: ["ack-system/ack-s3-controller"],
  capaServiceAccounts: ["capa-system/capa-controller-manager"], clusterAPIServiceAccounts: ["capi-system/capi-manager"],
};
const ACK = "system:serviceaccount:ack-system:ack-s3-controller";
const CAPA = "system:serviceaccount:capa-system:capa-controller-manager";
const CAPI = "system:serviceaccount:capi-system:capi-manager";
const NAMESPACES = "system:serviceaccount:kube-system:namespace-controller";
const COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector";

const DEFINITION = { group: "apiextensions.k8s.io", kind: "CustomResourceDefinition" };
const CAPA_GROUP = "infrastructure.cluster.x-k8s.io";
const EXAMPLES = new Map([
  ["selector", { group: "services.k8s.aws", kind: "IAMRoleSelector", name: "a" }],
  ["field-export", { group: "services.k8s.aws", kind: "FieldExport", name: "a" }],
  ["adopted-resource", { group: "services.k8s.aws", kind: "AdoptedResource", name: "a" }],
  ["namespace", { group: "", kind: "Namespace", name: "a" }],
  ["carm-map", { group: "", kind: "ConfigMap", name: "ack-role-account-map" }],
  ["selector-definition", { ...DEFINITION, name: "iamroleselectors.services.k8s.aws" }],
  ["resource-definition", { ...DEFINITION, name: "buckets.s3.services.k8s.aws" }],
  ["other-definition", { ...DEFINITION, name: "fieldexports.services.k8s.aws" }],
  ["pod", { group: "", kind: "Pod", name: "a" }],
  ["workload", { group: "batch", kind: "CronJob", name: "a" }],
  ["secret", { group: "", kind: "Secret", name: "a" }],
  ["identity-accounts", { group: "", kind: "ConfigMap", name: "ack-role-resolver-identity-accounts" }],
  ["identity", { group: CAPA_GROUP, kind: "AWSServiceAccountIdentity", name: "a" }],
  ["cluster", { group: CAPA_GROUP, kind: "AWSCluster", name: "a" }],
  ["cluster-part", { group: "cluster.x-k8s.io", kind: "Machine", name: "a" }],
  ["selector-like", { group: "s3.services.k8s.aws", kind: "IamRoleSelectors", name: "a" }],
  ["resource-like", { group: "s3.service.k8s.aws", kind: "Bucket", name: "a" }],
  ["resource-like", { group: "s3.services.k8s.aws.com", kind: "Bucket", name: "a" }],
  ["resource", { group: "s3.services.k8s.aws", kind: "Bucket", name: "a" }],
  ["identity-like", { group: CAPA_GROUP, kind: "AWSClusterStaticIDIdentity", name: "a" }],
]);
const NAMESPACED: ReadonlySet<string> = new Set(["resource", "carm-map", "identity", "cluster", "cluster-part", "pod"]);

/** Returns the kinds of which the checks only warn the user. */
function warned(username: string, operation: "UPDATE" | "DELETE", namespace = "team-a", name = "a"): string {
  const terminating = { ...namespaceObject("ending"), status: { phase: "Terminating" } };
  const inventory = inventoryWith([terminating, namespaceObject("team-a")]);
  const requester = { username, groups: [] };
  const kinds = KINDS.filter((kind) => {
    const request = { operation, namespace: NAMESPACED.has(kind.id) ? namespace : "", name, requester };
    return kind.id !== "identity-like" && warnsOnly(kind, request, { settings: SETTINGS, inventory });
  });
  return kinds.map(({ id }) => id).join();
}

test("finds the kind of an object by its type and name, and reviews it only on its own path", (t) => {
  const paths = new Set(KINDS.flatMap(({ path }) => path ?? []));
  for (const { id, path } of KINDS) {
    const example = EXAMPLES.get(id) ?? { group: "", kind: "", name: "" };
    t.equal(kindOf(example)?.id, id, `EXAMPLES has an example of ${id}`);
    if (id === "selector-like") continue;
    for (const one of paths) t.equal(reviewedKind(one, example)?.id, one === path ? id : undefined, `${id} at ${one}`);
  }
  t.equal(kindOf({ group: "", kind: "ConfigMap", name: "settings" }), null);
  for (const group of ["k8s.aws", "elbv2.k8s.aws", ".services.k8s.aw"]) {
    t.equal(kindOf({ group, kind: "AdoptedResource", name: "a" }), null);
  }
  const misplaced = { group: "s3.services.k8s.aws", kind: "IAMRoleSelector", name: "a" };
  t.equal(reviewedKind("resources", misplaced)?.id, "resource");
  t.end();
});

test("an object of an unknown name can be of a kind that has only certain names", (t) => {
  t.equal(reviewedKind("configmaps", { group: "", kind: "ConfigMap", name: null })?.id, "carm-map");
  t.equal(reviewedKind("resources", { ...DEFINITION, name: null })?.id, "resource-definition");
  t.equal(reviewedKind("iamroleselectors", { ...DEFINITION, name: null })?.id, "selector-definition");
  t.end();
});

test("only warns controllers about the objects that they write, and Kubernetes about a cleanup", (t) => {
  t.equal(warned("jane", "UPDATE"), "");
  t.equal(warned("jane", "DELETE"), "");
  t.equal(warned("jane", "DELETE", "ending"), "resource,carm-map,identity,cluster,cluster-part");
  t.equal(warned("jane", "UPDATE", "ending"), "");
  t.equal(warned("jane", "UPDATE", "team-a", "kube-system"), "namespace");
  for (const operation of ["UPDATE", "DELETE"] as const) {
    t.equal(warned(ACK, operation), "resource");
    t.equal(warned(CAPA, operation), "identity,cluster,cluster-part");
    t.equal(warned(CAPI, operation), "cluster-part");
  }
  t.equal(warned(NAMESPACES, "DELETE"), "resource,namespace,carm-map,identity,cluster,cluster-part");
  t.equal(warned(NAMESPACES, "UPDATE"), "namespace", "the update that removes the finalizer");
  t.equal(warned(COLLECTOR, "DELETE"), "resource,cluster,cluster-part");
  t.equal(warned(COLLECTOR, "UPDATE"), "");
  t.end();
});
