import type {
  V1ClusterRole, V1ClusterRoleBinding, V1Lease, V1Role, V1RoleBinding, V1Secret,
} from "@kubernetes/client-node";
import { labelsOf, lease, PRODUCT, WEBHOOK } from "../installation.ts";
import { clusterBinding, clusterRole, namespacedRole, roleBinding, WRITE_EVENTS } from "./role-objects.ts";

/** The Role that allows the webhook to maintain its certificates in the Secret of `--tls-secret`. */
const CERTIFICATES_ROLE = `${PRODUCT}-certificates`;

/** The ClusterRole that allows the webhook to set the caBundle of its configurations. */
const CA_BUNDLE_ROLE = `${PRODUCT}-ca-bundle`;

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

/** Returns the role that allows the webhook to maintain its certificates. */
export function certificatesRole(namespace: string): V1Role {
  const resourceNames = [WEBHOOK.certificate];
  return namespacedRole(CERTIFICATES_ROLE, namespace, [
    { apiGroups: [""], resources: ["secrets"], resourceNames, verbs: ["list", "watch", "update"] },
    { apiGroups: ["coordination.k8s.io"], resources: ["leases"], resourceNames, verbs: ["get", "update"] },
    WRITE_EVENTS,
  ]);
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
