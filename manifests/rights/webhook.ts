import type {
  V1ClusterRole, V1ClusterRoleBinding, V1PolicyRule, V1Role, V1RoleBinding,
} from "@kubernetes/client-node";
import { ACCOUNT_MAP, TEAM_MAP } from "../../shared/contract/annotation-keys.ts";
import {
  IDENTITY_KINDS, identityPlural, INFRASTRUCTURE_GROUP, REFERRER_KINDS,
} from "../../shared/contract/capa-kinds.ts";
import { knownGroups, SELECTOR_GROUP } from "../../shared/contract/ack-groups.ts";
import { PRODUCT, WEBHOOK } from "../../shared/contract/installation.ts";
import { clusterBinding, clusterRole, LIST, namespacedRole, READ, roleBinding, rulesOf } from "./role-objects.ts";

/**
 * The ClusterRole that grants read access to the inventory. The role is bound to the webhook's service account. Users
 * also bind this role to service accounts of controllers that have a sidecar.
 */
export const READER_ROLE = `${PRODUCT}-reader`;

/** The ClusterRole that grants read access to ACK resources. The role is bound to the webhook's service account. */
const RESOURCES_ROLE = `${PRODUCT}-resources`;

export const MAPS_ROLE = `${PRODUCT}-carm-maps`;

/**
 * The ClusterRole that allows creating SubjectAccessReviews. The role is bound to the webhook's service account if
 * access reviews are enabled.
 */
const ACCESS_REVIEWS_ROLE = `${PRODUCT}-access-reviews`;

/**
 * The kinds that every inventory contains, including the inventory of a sidecar. The webhook also fetches selectors and
 * namespaces that its watches have not delivered yet.
 */
const INVENTORY: readonly V1PolicyRule[] = [
  { apiGroups: [SELECTOR_GROUP], resources: ["iamroleselectors"], verbs: READ },
  { apiGroups: [""], resources: ["namespaces"], verbs: READ },
  { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: LIST },
];

export function readerRole(): V1ClusterRole {
  return clusterRole(READER_ROLE, INVENTORY);
}

export function readerBinding(namespace: string): V1ClusterRoleBinding {
  return clusterBinding(WEBHOOK.serviceAccount, READER_ROLE, namespace);
}

/**
 * Returns the role that grants read access to the resources of every ACK group, to the identities of CAPA, and to the
 * kinds that refer to identities. The role lists each ACK group, because RBAC has no wildcard for part of a group name.
 * The role does not list ACK kinds, because new controller releases add kinds
 * (docs/decisions/0007-rights-to-read-resources.md).
 */
export function resourcesRole(extraGroups: readonly string[]): V1ClusterRole {
  const ofACK = { apiGroups: knownGroups(extraGroups), resources: ["*"], verbs: LIST };
  return clusterRole(RESOURCES_ROLE, [ofACK, ...capaRules()]);
}

function capaRules(): V1PolicyRule[] {
  const identities = IDENTITY_KINDS.map((kind) => ({ group: INFRASTRUCTURE_GROUP, plural: identityPlural(kind) }));
  return rulesOf([...identities, ...REFERRER_KINDS], LIST);
}

export function resourcesBinding(namespace: string): V1ClusterRoleBinding {
  return clusterBinding(RESOURCES_ROLE, RESOURCES_ROLE, namespace);
}

/**
 * Returns the role that grants read access to the two CARM maps. resourceNames also allows a list or watch that selects
 * `metadata.name`.
 */
export function mapsRole(ackSystemNamespace: string): V1Role {
  return namespacedRole(MAPS_ROLE, ackSystemNamespace, [
    { apiGroups: [""], resources: ["configmaps"], resourceNames: [ACCOUNT_MAP, TEAM_MAP], verbs: LIST },
  ]);
}

export function mapsBinding(namespace: string, ackSystemNamespace: string): V1RoleBinding {
  return roleBinding(MAPS_ROLE, ackSystemNamespace, namespace);
}

/** Returns the role that allows the webhook to create SubjectAccessReviews, which check the verb `use` on selectors. */
export function accessReviewsRole(): V1ClusterRole {
  const rule = { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] };
  return clusterRole(ACCESS_REVIEWS_ROLE, [rule]);
}

export function accessReviewsBinding(namespace: string): V1ClusterRoleBinding {
  return clusterBinding(ACCESS_REVIEWS_ROLE, ACCESS_REVIEWS_ROLE, namespace);
}
