import type { V1NetworkPolicy, V1ObjectMeta, V1PodDisruptionBudget, V1Service } from "@kubernetes/client-node";
import { POD_SELECTOR, podSelector, PORTS } from "./deployment.ts";
import { CERTIFICATES, labelsOf, WEBHOOK } from "../shared/contract/installation.ts";

/** The ports on which API servers usually listen: of the Service `kubernetes`, and of the API server itself. */
const API_SERVER_PORTS = [443, 6443];
const DNS_PORT = 53;

/** Returns the Service that the API server calls. */
export function webhookService(namespace: string): V1Service {
  const { name, port } = WEBHOOK.service;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace, labels: labelsOf("webhook") },
    spec: { selector: POD_SELECTOR, ports: [{ name: "webhook", port, targetPort: "webhook" }] },
  };
}

/** Returns the budget that lets a node drain stop one replica at a time. Unready Pods do not delay a node drain. */
export function disruptionBudget(namespace: string): V1PodDisruptionBudget {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: workloadMetadata(namespace),
    spec: {
      maxUnavailable: 1, selector: { matchLabels: POD_SELECTOR }, unhealthyPodEvictionPolicy: "AlwaysAllow",
    },
  };
}

/**
 * Returns the policy that limits the traffic of the webhook's Pods. The API server, the kubelet and Prometheus may have
 * any address, so the policy does not restrict the clients of the two ports.
 */
export function networkPolicy(namespace: string): V1NetworkPolicy {
  return policyOf(workloadMetadata(namespace), POD_SELECTOR, Object.keys(PORTS));
}

/** Returns the policy for the Pod of `certs manage`, which only serves probes and metrics. */
export function certificatesNetworkPolicy(namespace: string): V1NetworkPolicy {
  const metadata = { name: CERTIFICATES, namespace, labels: labelsOf("certificates") };
  return policyOf(metadata, podSelector("certificates"), ["health"]);
}

function policyOf(
  metadata: V1ObjectMeta, matchLabels: Record<string, string>, ports: readonly string[],
): V1NetworkPolicy {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata,
    spec: {
      podSelector: { matchLabels },
      policyTypes: ["Ingress", "Egress"],
      ingress: [{ ports: ports.map(tcp) }],
      egress: [
        { ports: [{ protocol: "UDP", port: DNS_PORT }, tcp(DNS_PORT)] },
        { ports: API_SERVER_PORTS.map(tcp) },
      ],
    },
  };
}

function tcp(port: string | number): object {
  return { protocol: "TCP", port };
}

function workloadMetadata(namespace: string): V1ObjectMeta {
  return { name: WEBHOOK.deployment, namespace, labels: labelsOf("webhook") };
}
