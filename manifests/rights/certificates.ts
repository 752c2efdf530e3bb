import type {
  V1ClusterRole, V1ClusterRoleBinding, V1Lease, V1Role, V1RoleBinding, V1Secret, V1ServiceAccount,
} from "@kubernetes/client-node";
import { CERTIFICATES, labelsOf, lease, PRODUCT, WEBHOOK } from "../installation.ts";
import {
  type Account, clusterBinding, clusterRole, namespacedRole, roleBinding, WRITE_EVENTS,
} from "./role-objects.ts";

/** The ClusterRole that allows `certs manage` to set the caBundle of the webhook configurations. */
const CA_BUNDLE_ROLE = `${PRODUCT}-ca-bundle`;

/**
 * Returns the account of `certs manage`. The Pods of the webhook do not have it: a client that may patch a
 * MutatingWebhookConfiguration can change every object that is written to the cluster.
 */
export function certificatesAccount(namespace: string): V1ServiceAccount {
  const metadata = { name: CERTIFICATES, namespace, labels: labelsOf("certificates") };
  return { apiVersion: "v1", kind: "ServiceAccount", metadata };
}

/**
 * Returns the empty Secrets: one for the CA, which only `certs manage` reads, and one for the serving certificate,
 * which the Pods of the webhook mount. The manifests contain them so that the installation owns them. A client that
 * applies the manifests again does not change the data.
 */
export function certificatesSecrets(namespace: string): readonly V1Secret[] {
  return [CERTIFICATES, WEBHOOK.certificate].map((name) => (
    {
      apiVersion: "v1", kind: "Secret", type: "Opaque",
      metadata: { name, namespace, labels: labelsOf("certificates") },
    }
  ));
}

/** Returns the Lease that elects the writer of the Secrets. */
export function certificatesLease(namespace: string): V1Lease {
  return lease(CERTIFICATES, namespace, "certificates");
}

/**
 * Returns the role that allows `certs manage` to maintain the Secrets. RBAC cannot limit `create` to a name, and
 * without it a deleted Secret or Lease would be missing until the manifests are applied again.
 */
export function certificatesRole(namespace: string): V1Role {
  const leases = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
  const secrets = { apiGroups: [""], resources: ["secrets"] };
  return namespacedRole(CERTIFICATES, namespace, [
    { ...secrets, resourceNames: [CERTIFICATES, WEBHOOK.certificate], verbs: ["list", "watch", "update"] },
    { ...leases, resourceNames: [CERTIFICATES], verbs: ["get", "update"] },
    { ...secrets, verbs: ["create"] },
    { ...leases, verbs: ["create"] },
    WRITE_EVENTS,
  ]);
}

export function certificatesBinding(namespace: string): V1RoleBinding {
  return roleBinding(CERTIFICATES, namespace, namespace, account(namespace));
}

/** Returns the role that allows `certs manage` to set the caBundle of the webhook configurations. */
export function caBundleRole(): V1ClusterRole {
  return clusterRole(CA_BUNDLE_ROLE, [{
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    resourceNames: [WEBHOOK.configuration],
    verbs: ["list", "watch", "patch"],
  }]);
}

export function caBundleBinding(namespace: string): V1ClusterRoleBinding {
  return clusterBinding(CA_BUNDLE_ROLE, CA_BUNDLE_ROLE, namespace, account(namespace));
}

function account(namespace: string): Account {
  return { name: CERTIFICATES, namespace };
}
