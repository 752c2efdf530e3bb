import type { V1ClusterRole, V1ClusterRoleBinding, V1Role } from "@kubernetes/client-node";
import { SELECTOR_GROUP } from "../../shared/contract/ack-groups.ts";
import { IDENTITY_KINDS, identityPlural, INFRASTRUCTURE_GROUP } from "../../shared/contract/capa-kinds.ts";
import { PRODUCT, WEBHOOK } from "../../shared/contract/installation.ts";
import {
  clusterRole, controllersBinding, LIST, namespacedRole, READ, roleBinding, WRITE_EVENTS,
} from "./role-objects.ts";
import { READER_ROLE } from "./webhook.ts";

/** The verb `deletecollection` is missing: one request could delete every selector. */
const WRITE = ["create", "update", "patch", "delete"];

/**
 * Returns the role for the users who manage IAMRoleSelectors. Such a user decides which role any resource in the
 * cluster uses, so the manifests contain no binding of the role.
 */
export function selectorOwnerRole(): V1ClusterRole {
  return clusterRole("ack-role-resolver-selector-owner", [
    { apiGroups: [SELECTOR_GROUP], resources: ["iamroleselectors"], verbs: [...READ, ...WRITE] },
  ]);
}

/**
 * Returns the role for the users who manage ACK resources in their namespaces. The role allows them to read the
 * selectors. The manifests contain no binding of the role.
 */
export function tenantRole(): V1ClusterRole {
  return clusterRole("ack-role-resolver-tenant", [
    { apiGroups: [SELECTOR_GROUP], resources: ["iamroleselectors"], verbs: READ },
  ]);
}

/** The Role that allows the webhook to list the Secrets in the namespace of `--identity-secret-namespace`. */
const WEBHOOK_SECRETS_ROLE = `${WEBHOOK.serviceAccount}-identity-secrets`;

/**
 * Returns the objects that allow sidecars to read the Secrets of static identities, and the webhook to check their
 * metadata. Users bind the Role of the sidecars.
 */
export function identitySecretObjects(
  { namespace, secretNamespace }: { readonly namespace: string; readonly secretNamespace: string },
): object[] {
  const webhookBinding = roleBinding(WEBHOOK_SECRETS_ROLE, secretNamespace, namespace);
  return [identitySecretsRole(secretNamespace), webhookSecretsRole(secretNamespace), webhookBinding];
}

/** The webhook requests only metadata, but RBAC cannot limit the right to list Secrets to their metadata. */
function webhookSecretsRole(namespace: string): V1Role {
  return namespacedRole(WEBHOOK_SECRETS_ROLE, namespace, [{ apiGroups: [""], resources: ["secrets"], verbs: LIST }]);
}

/**
 * The ClusterRole that allows a sidecar to write Events, and its binding for the injected sidecars. Users also bind it
 * to service accounts of controllers that have a sidecar.
 */
export const EVENTS_ROLE = `${PRODUCT}-events`;

/** The binding that lets the injected sidecars read the inventory. */
const SIDECARS_BINDING = `${PRODUCT}-sidecars`;

/**
 * The ClusterRole that grants read access to CAPA identities. Users bind this role to the service account of a sidecar
 * that serves identities.
 */
export const IDENTITIES_ROLE = `${PRODUCT}-identities`;

/** The Role that allows a sidecar to read the Secrets in the namespace of `--identity-secret-namespace`. */
export const IDENTITY_SECRETS_ROLE = `${PRODUCT}-identity-secrets`;

/** Returns the role that allows writing Events in all namespaces: an Event is in the namespace of its object. */
export function eventsRole(): V1ClusterRole {
  return clusterRole(EVENTS_ROLE, [WRITE_EVENTS]);
}

export function identitiesRole(): V1ClusterRole {
  const resources = IDENTITY_KINDS.map(identityPlural).toSorted();
  return clusterRole(IDENTITIES_ROLE, [{ apiGroups: [INFRASTRUCTURE_GROUP], resources, verbs: LIST }]);
}

/** Returns the Role that allows a sidecar to read the Secrets of static identities. Users bind this Role. */
export function identitySecretsRole(namespace: string): V1Role {
  return namespacedRole(IDENTITY_SECRETS_ROLE, namespace, [{ apiGroups: [""], resources: ["secrets"], verbs: READ }]);
}

/**
 * Returns the binding of the reader role to the service accounts in the namespace of the controllers. A controller can
 * read IAMRoleSelectors and Namespaces also without the binding: its chart grants this.
 */
export function sidecarsBinding(ackSystemNamespace: string): V1ClusterRoleBinding {
  return controllersBinding(SIDECARS_BINDING, READER_ROLE, ackSystemNamespace);
}

/** Returns the binding of the events role to the service accounts in the namespace of the controllers. */
export function sidecarEventsBinding(ackSystemNamespace: string): V1ClusterRoleBinding {
  return controllersBinding(EVENTS_ROLE, EVENTS_ROLE, ackSystemNamespace);
}
