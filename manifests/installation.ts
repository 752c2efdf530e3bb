import type { V1Lease, V1Namespace, V1ServiceAccount } from "@kubernetes/client-node";
import { VERSION } from "../shared/server/version.ts";

export const PRODUCT = "ack-role-resolver";

/** The names of the Kubernetes objects that belong to the webhook server. */
export const WEBHOOK = {
  configuration: PRODUCT,
  deployment: `${PRODUCT}-webhook`,
  service: { name: `${PRODUCT}-webhook`, port: 443 },
  serviceAccount: `${PRODUCT}-webhook`,
  /** The name of the Secret that contains the webhook's certificate, and of the Certificate of cert-manager. */
  certificate: `${PRODUCT}-webhook-tls`,
  /** The Lease that elects the replica that updates annotations. */
  lease: `${PRODUCT}-webhook`,
  /** The ConfigMap in which the replicas share the changes that they admit. */
  pendingWrites: `${PRODUCT}-pending-writes`,
  /**
   * The suffix of each webhook name. The API server requires a domain in the name, and prints the name in each denial.
   */
  domain: `${PRODUCT}.io`,
} as const;

/**
 * The name of the objects of `certs manage`: the Deployment, its ServiceAccount and Role, the Secret that contains the
 * CA, and the Lease that elects the writer of the Secrets.
 */
export const CERTIFICATES = `${PRODUCT}-certificates`;

/** The part of the installation to which an object belongs. */
type Component = "crds" | "webhook" | "certificates";

/** Recommended labels: https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/ */
export function labelsOf(component: Component): Record<string, string> {
  return {
    "app.kubernetes.io/name": PRODUCT,
    "app.kubernetes.io/component": component,
    "app.kubernetes.io/version": VERSION,
  };
}

/** Returns the namespace of the webhook. Its Pods must meet the restricted Pod security standard. */
export function installNamespace(namespace: string): V1Namespace {
  const labels = { ...labelsOf("webhook"), "pod-security.kubernetes.io/enforce": "restricted" };
  return { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } };
}

export function serviceAccount(namespace: string): V1ServiceAccount {
  const metadata = { name: WEBHOOK.serviceAccount, namespace, labels: labelsOf("webhook") };
  return { apiVersion: "v1", kind: "ServiceAccount", metadata };
}

/** Returns a Lease that no replica holds. */
export function lease(name: string, namespace: string, component: Component = "webhook"): V1Lease {
  const metadata = { name, namespace, labels: labelsOf(component) };
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata };
}
