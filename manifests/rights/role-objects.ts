import type {
  RbacV1Subject, V1ClusterRole, V1ClusterRoleBinding, V1ConfigMap, V1PolicyRule, V1Role, V1RoleBinding,
} from "@kubernetes/client-node";
import { pluralsByGroup } from "../../shared/contract/capa-kinds.ts";
import { labelsOf, WEBHOOK } from "../../shared/contract/installation.ts";

/**
 * Returns the ConfigMap in which the replicas share the changes that they admit, and the right to update it. With the
 * ConfigMap, the webhook needs no right to create ConfigMaps, which RBAC cannot limit to one name. A client that
 * applies the manifests again does not change the data.
 */
export function pendingWritesObjects(namespace: string): readonly object[] {
  return [configMap(namespace), pendingWritesRole(namespace), roleBinding(WEBHOOK.pendingWrites, namespace, namespace)];
}

function configMap(namespace: string): V1ConfigMap {
  const metadata = { name: WEBHOOK.pendingWrites, namespace, labels: labelsOf("webhook") };
  return { apiVersion: "v1", kind: "ConfigMap", metadata };
}

function pendingWritesRole(namespace: string): V1Role {
  const resourceNames = [WEBHOOK.pendingWrites];
  return namespacedRole(WEBHOOK.pendingWrites, namespace, [
    { apiGroups: [""], resources: ["configmaps"], resourceNames, verbs: [...LIST, "update"] },
  ]);
}

const RBAC_GROUP = "rbac.authorization.k8s.io";

export const RBAC_VERSION = `${RBAC_GROUP}/v1`;

/** The verbs of an inventory, which never reads one object. */
export const LIST = ["list", "watch"];

export const READ = ["get", ...LIST];

/** The rights to create Events, and to update their series. */
export const WRITE_EVENTS: V1PolicyRule = {
  apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"],
};

/** The service account to which a binding grants a role. */
export interface Account {
  readonly name: string;
  readonly namespace: string;
}

/** Returns a ClusterRole with the labels of the installation. */
export function clusterRole(name: string, rules: readonly V1PolicyRule[]): V1ClusterRole {
  const metadata = { name, labels: labelsOf("webhook") };
  return { apiVersion: RBAC_VERSION, kind: "ClusterRole", metadata, rules: [...rules] };
}

/** Returns a Role with the labels of the installation. */
export function namespacedRole(name: string, namespace: string, rules: readonly V1PolicyRule[]): V1Role {
  const metadata = { name, namespace, labels: labelsOf("webhook") };
  return { apiVersion: RBAC_VERSION, kind: "Role", metadata, rules: [...rules] };
}

/** Returns the binding of a ClusterRole to the webhook in `namespace`, or to another service account. */
export function clusterBinding(
  name: string, role: string, namespace: string, account: Account = webhookAccount(namespace),
): V1ClusterRoleBinding {
  return {
    apiVersion: RBAC_VERSION,
    kind: "ClusterRoleBinding",
    metadata: { name, labels: labelsOf("webhook") },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: role },
    subjects: [subject(account)],
  };
}

/**
 * Returns the binding, in `namespace`, of a Role of the same name to the webhook in `webhookNamespace`, or to another
 * service account.
 */
export function roleBinding(
  name: string, namespace: string, webhookNamespace: string, account: Account = webhookAccount(webhookNamespace),
): V1RoleBinding {
  return {
    apiVersion: RBAC_VERSION,
    kind: "RoleBinding",
    metadata: { name, namespace, labels: labelsOf("webhook") },
    roleRef: { apiGroup: RBAC_GROUP, kind: "Role", name },
    subjects: [subject(account)],
  };
}

export function controllersBinding(name: string, role: string, ackSystemNamespace: string): V1ClusterRoleBinding {
  const group = `system:serviceaccounts:${ackSystemNamespace}`;
  return {
    apiVersion: RBAC_VERSION,
    kind: "ClusterRoleBinding",
    metadata: { name, labels: labelsOf("webhook") },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: RBAC_GROUP, kind: "Group", name: group }],
  };
}

function webhookAccount(namespace: string): Account {
  return { name: WEBHOOK.serviceAccount, namespace };
}

function subject({ name, namespace }: Account): RbacV1Subject {
  return { kind: "ServiceAccount", name, namespace };
}

/** Returns one rule for each API group of the kinds. */
export function rulesOf(kinds: Parameters<typeof pluralsByGroup>[0], verbs: string[]): V1PolicyRule[] {
  return pluralsByGroup(kinds).map(({ group, plurals }) => ({ apiGroups: [group], resources: plurals, verbs }));
}
