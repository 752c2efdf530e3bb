import type {
  RbacV1Subject, V1ClusterRole, V1ClusterRoleBinding, V1Lease, V1Namespace, V1PolicyRule, V1Role, V1RoleBinding,
  V1Secret, V1ServiceAccount,
} from "@kubernetes/client-node";
import { ACCOUNT_MAP, TEAM_MAP } from "../shared/decisions/annotation-keys.ts";
import {
  IDENTITY_KINDS, identityPlural, INFRASTRUCTURE_GROUP, pluralsByGroup, REFERRER_KINDS,
} from "../shared/decisions/identities/kinds.ts";
import { knownGroups, SELECTOR_GROUP } from "../shared/decisions/kubernetes/kinds.ts";
import { VERSION } from "../shared/server/version.ts";

const PRODUCT = "ack-role-resolver";

/** The names of the Kubernetes objects that belong to the webhook server. */
export const WEBHOOK = {
  configuration: PRODUCT,
  deployment: `${PRODUCT}-webhook`,
  service: { name: `${PRODUCT}-webhook`, port: 443 },
  serviceAccount: `${PRODUCT}-webhook`,
  /**
   * The name of the Secret that contains the webhook's certificate, of the Lease of its writer, and of the Certificate
   * of cert-manager.
   */
  certificate: `${PRODUCT}-webhook-tls`,
  /** The Lease of `--lease`. */
  lease: `${PRODUCT}-webhook`,
  /**
   * The suffix of each webhook name. The API server requires a domain in the name, and prints the name in each denial.
   */
  domain: `${PRODUCT}.io`,
} as const;

/**
 * The ClusterRole that grants read access to the inventory. The role is bound to the webhook's service account. Users
 * also bind this role to service accounts of controllers that have a sidecar.
 */
export const READER_ROLE = `${PRODUCT}-reader`;
/** The ClusterRole that grants read access to ACK resources. The role is bound to the webhook's service account. */
export const RESOURCES_ROLE = `${PRODUCT}-resources`;
/**
 * The ClusterRole that allows a sidecar to write Events, and its binding for the injected sidecars. Users also bind it
 * to service accounts of controllers that have a sidecar.
 */
export const EVENTS_ROLE = `${PRODUCT}-events`;
/** The binding that lets the injected sidecars read the inventory. */
export const SIDECARS_BINDING = `${PRODUCT}-sidecars`;
/**
 * The ClusterRole that grants read access to CAPA identities. Users bind this role to the service account of a sidecar
 * that serves identities.
 */
export const IDENTITIES_ROLE = `${PRODUCT}-identities`;
/** The Role that allows a sidecar to read the Secrets in the namespace of `--identity-secret-namespace`. */
export const IDENTITY_SECRETS_ROLE = `${PRODUCT}-identity-secrets`;
export const MAPS_ROLE = `${PRODUCT}-carm-maps`;
/**
 * The ClusterRole that allows creating SubjectAccessReviews. The role is bound to the webhook's service account if
 * access reviews are enabled.
 */
export const ACCESS_REVIEWS_ROLE = `${PRODUCT}-access-reviews`;

/** The Role that allows the webhook to maintain its certificates in the Secret of `--tls-secret`. */
export const CERTIFICATES_ROLE = `${PRODUCT}-certificates`;
/** The ClusterRole that allows the webhook to set the caBundle of its configurations. */
export const CA_BUNDLE_ROLE = `${PRODUCT}-ca-bundle`;

/** Recommended labels: https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/ */
export function labelsOf(component: "crds" | "webhook"): Record<string, string> {
  return {
    "app.kubernetes.io/name": PRODUCT,
    "app.kubernetes.io/component": component,
    "app.kubernetes.io/version": VERSION,
  };
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

/**
 * The kinds that every inventory contains, including the inventory of a sidecar. The webhook also fetches selectors and
 * namespaces that its watches have not delivered yet.
 */
const INVENTORY: readonly V1PolicyRule[] = [
  { apiGroups: [SELECTOR_GROUP], resources: ["iamroleselectors"], verbs: READ },
  { apiGroups: [""], resources: ["namespaces"], verbs: READ },
  { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: LIST },
];

/** Returns the namespace of the webhook. Its Pods must meet the restricted Pod security standard. */
export function installNamespace(namespace: string): V1Namespace {
  const labels = { ...labelsOf("webhook"), "pod-security.kubernetes.io/enforce": "restricted" };
  return { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } };
}

export function serviceAccount(namespace: string): V1ServiceAccount {
  const metadata = { name: WEBHOOK.serviceAccount, namespace, labels: labelsOf("webhook") };
  return { apiVersion: "v1", kind: "ServiceAccount", metadata };
}

export function readerRole(): V1ClusterRole {
  return clusterRole(READER_ROLE, INVENTORY);
}

/** Returns the role that allows writing Events in all namespaces: an Event is in the namespace of its object. */
export function eventsRole(): V1ClusterRole {
  return clusterRole(EVENTS_ROLE, [WRITE_EVENTS]);
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

export function identitiesRole(): V1ClusterRole {
  const resources = IDENTITY_KINDS.map(identityPlural).toSorted();
  return clusterRole(IDENTITIES_ROLE, [{ apiGroups: [INFRASTRUCTURE_GROUP], resources, verbs: LIST }]);
}

/** Returns the Role that allows a sidecar to read the Secrets of static identities. Users bind this Role. */
export function identitySecretsRole(namespace: string): V1Role {
  return {
    apiVersion: RBAC_VERSION,
    kind: "Role",
    metadata: { name: IDENTITY_SECRETS_ROLE, namespace, labels: labelsOf("webhook") },
    rules: [{ apiGroups: [""], resources: ["secrets"], verbs: READ }],
  };
}

function capaRules(): V1PolicyRule[] {
  const identities = IDENTITY_KINDS.map((kind) => ({ group: INFRASTRUCTURE_GROUP, plural: identityPlural(kind) }));
  return rulesOf([...identities, ...REFERRER_KINDS], LIST);
}

/** Returns one rule for each API group of the kinds. */
export function rulesOf(kinds: Parameters<typeof pluralsByGroup>[0], verbs: string[]): V1PolicyRule[] {
  return pluralsByGroup(kinds).map(({ group, plurals }) => ({ apiGroups: [group], resources: plurals, verbs }));
}

/**
 * Returns the role that grants read access to the two CARM maps. resourceNames also allows a list or watch that selects
 * `metadata.name`.
 */
export function mapsRole(ackSystemNamespace: string): V1Role {
  return {
    apiVersion: RBAC_VERSION,
    kind: "Role",
    metadata: { name: MAPS_ROLE, namespace: ackSystemNamespace, labels: labelsOf("webhook") },
    rules: [{ apiGroups: [""], resources: ["configmaps"], resourceNames: [ACCOUNT_MAP, TEAM_MAP], verbs: LIST }],
  };
}

/** Returns the role that allows the webhook to create SubjectAccessReviews, which check the verb `use` on selectors. */
export function accessReviewsRole(): V1ClusterRole {
  const rule = { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] };
  return clusterRole(ACCESS_REVIEWS_ROLE, [rule]);
}

export function accessReviewsBinding(namespace: string): V1ClusterRoleBinding {
  return clusterBinding(ACCESS_REVIEWS_ROLE, ACCESS_REVIEWS_ROLE, namespace);
}

export function readerBinding(namespace: string): V1ClusterRoleBinding {
  return clusterBinding(WEBHOOK.serviceAccount, READER_ROLE, namespace);
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

function controllersBinding(name: string, role: string, ackSystemNamespace: string): V1ClusterRoleBinding {
  const group = `system:serviceaccounts:${ackSystemNamespace}`;
  return {
    apiVersion: RBAC_VERSION,
    kind: "ClusterRoleBinding",
    metadata: { name, labels: labelsOf("webhook") },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: RBAC_GROUP, kind: "Group", name: group }],
  };
}

export function resourcesBinding(namespace: string): V1ClusterRoleBinding {
  return clusterBinding(RESOURCES_ROLE, RESOURCES_ROLE, namespace);
}

export function mapsBinding(namespace: string, ackSystemNamespace: string): V1RoleBinding {
  return roleBinding(MAPS_ROLE, ackSystemNamespace, namespace);
}

/** Returns the binding, in `namespace`, of a Role of the same name to the webhook in `webhookNamespace`. */
export function roleBinding(name: string, namespace: string, webhookNamespace: string): V1RoleBinding {
  return {
    apiVersion: RBAC_VERSION,
    kind: "RoleBinding",
    metadata: { name, namespace, labels: labelsOf("webhook") },
    roleRef: { apiGroup: RBAC_GROUP, kind: "Role", name },
    subjects: [webhookAccount(webhookNamespace)],
  };
}

/**
 * Returns the empty Secret in which the webhook stores its certificates. With it, the webhook needs no right to create
 * Secrets, which RBAC cannot limit to one name. A client that applies the manifests again does not change the data.
 */
export function certificatesSecret(namespace: string): V1Secret {
  const metadata = { name: WEBHOOK.certificate, namespace, labels: labelsOf("webhook") };
  return { apiVersion: "v1", kind: "Secret", type: "Opaque", metadata };
}

/** Returns the Lease that elects the writer of the Secret. With it, the webhook needs no right to create Leases. */
export function certificatesLease(namespace: string): V1Lease {
  return lease(WEBHOOK.certificate, namespace);
}

/** Returns a Lease that no replica holds. */
export function lease(name: string, namespace: string): V1Lease {
  const metadata = { name, namespace, labels: labelsOf("webhook") };
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata };
}

/** Returns the role that allows the webhook to maintain its certificates. */
export function certificatesRole(namespace: string): V1Role {
  const resourceNames = [WEBHOOK.certificate];
  return {
    apiVersion: RBAC_VERSION,
    kind: "Role",
    metadata: { name: CERTIFICATES_ROLE, namespace, labels: labelsOf("webhook") },
    rules: [
      { apiGroups: [""], resources: ["secrets"], resourceNames, verbs: ["list", "watch", "update"] },
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], resourceNames, verbs: ["get", "update"] },
      WRITE_EVENTS,
    ],
  };
}

export function certificatesBinding(namespace: string): V1RoleBinding {
  return roleBinding(CERTIFICATES_ROLE, namespace, namespace);
}

/** Returns the role that allows the webhook to set the caBundle of its configurations. */
export function caBundleRole(): V1ClusterRole {
  return clusterRole(CA_BUNDLE_ROLE, [{
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    resourceNames: [WEBHOOK.configuration],
    verbs: ["list", "watch", "patch"],
  }]);
}

export function caBundleBinding(namespace: string): V1ClusterRoleBinding {
  return clusterBinding(CA_BUNDLE_ROLE, CA_BUNDLE_ROLE, namespace);
}

/** Returns a ClusterRole with the labels of the installation. */
export function clusterRole(name: string, rules: readonly V1PolicyRule[]): V1ClusterRole {
  const metadata = { name, labels: labelsOf("webhook") };
  return { apiVersion: RBAC_VERSION, kind: "ClusterRole", metadata, rules: [...rules] };
}

export function clusterBinding(name: string, role: string, namespace: string): V1ClusterRoleBinding {
  return {
    apiVersion: RBAC_VERSION,
    kind: "ClusterRoleBinding",
    metadata: { name, labels: labelsOf("webhook") },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: role },
    subjects: [webhookAccount(namespace)],
  };
}

function webhookAccount(namespace: string): RbacV1Subject {
  return { kind: "ServiceAccount", name: WEBHOOK.serviceAccount, namespace };
}
