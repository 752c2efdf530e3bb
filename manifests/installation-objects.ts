import type { V1Lease, V1Namespace, V1ServiceAccount } from "@kubernetes/client-node";
import { type Component, labelsOf, WEBHOOK } from "../shared/contract/installation.ts";

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
