import type {
  V1ClusterRole, V1ClusterRoleBinding, V1Namespace, V1PolicyRule, V1Role, V1RoleBinding, V1ServiceAccount,
} from "@kubernetes/client-node";
import { ACCOUNT_MAP, TEAM_MAP } from "../shared/decisions/annotation-keys.ts";
import { knownGroups } from "../shared/decisions/kubernetes/ack-groups.ts";
import { SELECTOR_GROUP } from "../shared/decisions/kubernetes/kinds.ts";
import { ACCESS_REVIEWS_ROLE, labelsOf, MAPS_ROLE, READER_ROLE, RESOURCES_ROLE, WEBHOOK } from "./naming.ts";

const RBAC_GROUP = "rbac.authorization.k8s.io";
const RBAC_VERSION = `${RBAC_GROUP}/v1`;

/** Nothing is ever written, and no Secret is read. */
const READ = ["get", "list", "watch"];

/** What every inventory is made of, a sidecar's too. */
const INVENTORY: readonly V1PolicyRule[] = [
  { apiGroups: [SELECTOR_GROUP], resources: ["iamroleselectors"], verbs: READ },
  { apiGroups: [""], resources: ["namespaces"], verbs: READ },
  { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: READ },
];

export function installNamespace(namespace: string): V1Namespace {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels: labelsOf("webhook") } };
}

export function serviceAccount(namespace: string): V1ServiceAccount {
  const metadata = { name: WEBHOOK.serviceAccount, namespace, labels: labelsOf("webhook") };
  return { apiVersion: "v1", kind: "ServiceAccount", metadata };
}

export function readerRole(): V1ClusterRole {
  return clusterRole(READER_ROLE, INVENTORY);
}

/**
 * The AWS resources of every service. RBAC has no pattern for groups, so each is named; their kinds are not, since a controller's next
 * release brings kinds that nobody knows today (docs/decisions/0007-rights-to-read-resources.md).
 */
export function resourcesRole(extraGroups: readonly string[]): V1ClusterRole {
  return clusterRole(RESOURCES_ROLE, [{ apiGroups: knownGroups(extraGroups), resources: ["*"], verbs: READ }]);
}

/** The two CARM maps. A list or watch by `metadata.name` is allowed by that name alone. */
export function mapsRole(ackSystemNamespace: string): V1Role {
  return {
    apiVersion: RBAC_VERSION,
    kind: "Role",
    metadata: { name: MAPS_ROLE, namespace: ackSystemNamespace, labels: labelsOf("webhook") },
    rules: [{ apiGroups: [""], resources: ["configmaps"], resourceNames: [ACCOUNT_MAP, TEAM_MAP], verbs: READ }],
  };
}

/** To ask who may `use` a selector, which is all that the right to make access reviews gives. */
export function accessReviewsRole(): V1ClusterRole {
  return clusterRole(ACCESS_REVIEWS_ROLE, [{ apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] }]);
}

export function accessReviewsBinding(namespace: string): V1ClusterRoleBinding {
  return clusterBinding(ACCESS_REVIEWS_ROLE, ACCESS_REVIEWS_ROLE, namespace);
}

export function readerBinding(namespace: string): V1ClusterRoleBinding {
  return clusterBinding(WEBHOOK.serviceAccount, READER_ROLE, namespace);
}

export function resourcesBinding(namespace: string): V1ClusterRoleBinding {
  return clusterBinding(RESOURCES_ROLE, RESOURCES_ROLE, namespace);
}

export function mapsBinding(namespace: string, ackSystemNamespace: string): V1RoleBinding {
  return {
    apiVersion: RBAC_VERSION,
    kind: "RoleBinding",
    metadata: { name: MAPS_ROLE, namespace: ackSystemNamespace, labels: labelsOf("webhook") },
    roleRef: { apiGroup: RBAC_GROUP, kind: "Role", name: MAPS_ROLE },
    subjects: [webhookAccount(namespace)],
  };
}

function clusterRole(name: string, rules: readonly V1PolicyRule[]): V1ClusterRole {
  return { apiVersion: RBAC_VERSION, kind: "ClusterRole", metadata: { name, labels: labelsOf("webhook") }, rules: [...rules] };
}

function clusterBinding(name: string, role: string, namespace: string): V1ClusterRoleBinding {
  return {
    apiVersion: RBAC_VERSION,
    kind: "ClusterRoleBinding",
    metadata: { name, labels: labelsOf("webhook") },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: role },
    subjects: [webhookAccount(namespace)],
  };
}

function webhookAccount(namespace: string): { readonly kind: string; readonly name: string; readonly namespace: string } {
  return { kind: "ServiceAccount", name: WEBHOOK.serviceAccount, namespace };
}
