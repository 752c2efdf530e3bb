import type { V1ClusterRole, V1ClusterRoleBinding, V1Namespace, V1ServiceAccount } from "@kubernetes/client-node";
import { SELECTOR_GROUP } from "../shared/decisions/iamroleselector.ts";
import { labelsOf, READER_ROLE, WEBHOOK } from "./naming.ts";

const RBAC_GROUP = "rbac.authorization.k8s.io";
const RBAC_VERSION = `${RBAC_GROUP}/v1`;

/** All that an inventory is made of. Nothing is written, and no Secret, ConfigMap or AWS resource is read. */
const INVENTORY: readonly (readonly [group: string, resource: string])[] = [
  [SELECTOR_GROUP, "iamroleselectors"],
  ["", "namespaces"],
  ["apiextensions.k8s.io", "customresourcedefinitions"],
];

export function installNamespace(namespace: string): V1Namespace {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels: labelsOf("webhook") } };
}

export function serviceAccount(namespace: string): V1ServiceAccount {
  const metadata = { name: WEBHOOK.serviceAccount, namespace, labels: labelsOf("webhook") };
  return { apiVersion: "v1", kind: "ServiceAccount", metadata };
}

export function readerRole(): V1ClusterRole {
  return {
    apiVersion: RBAC_VERSION,
    kind: "ClusterRole",
    metadata: { name: READER_ROLE, labels: labelsOf("webhook") },
    rules: INVENTORY.map(([group, resource]) => ({ apiGroups: [group], resources: [resource], verbs: ["get", "list", "watch"] })),
  };
}

export function readerBinding(namespace: string): V1ClusterRoleBinding {
  return {
    apiVersion: RBAC_VERSION,
    kind: "ClusterRoleBinding",
    metadata: { name: WEBHOOK.serviceAccount, labels: labelsOf("webhook") },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: READER_ROLE },
    subjects: [{ kind: "ServiceAccount", name: WEBHOOK.serviceAccount, namespace }],
  };
}
