import type { V1Container, V1Deployment } from "@kubernetes/client-node";
import {
  CONTAINER_SECURITY, type DeploymentOptions, environment, POD_SECURITY, podSelector, PORTS, PRIORITY_CLASS, probe,
} from "./deployment.ts";
import { CERTIFICATES, labelsOf } from "../shared/contract/installation.ts";

/** The limit of V8's old generation, in MiB. */
const HEAP_MIB = 64;
const RESOURCES = { requests: { cpu: "10m", memory: "64Mi" }, limits: { memory: "128Mi" } };
/** Longer than the time limit of the close, 10 s. */
const GRACE_SECONDS = 20;

/**
 * Returns the Deployment of `certs manage`. It is not part of the webhook's Pods, so that a webhook that an attacker
 * controls cannot change the webhook configurations or read the key of the CA. While it does not run, the webhook
 * continues to serve its certificate. So one replica is enough.
 */
export function certificatesDeployment(
  { namespace, image }: Pick<DeploymentOptions, "namespace" | "image">,
): V1Deployment {
  const labels = labelsOf("certificates");
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: CERTIFICATES, namespace, labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: podSelector("certificates") },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: CERTIFICATES,
          priorityClassName: PRIORITY_CLASS,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: GRACE_SECONDS,
          securityContext: POD_SECURITY,
          containers: [container(namespace, image)],
        },
      },
    },
  };
}

function container(namespace: string, image: string): V1Container {
  return {
    name: "certificates",
    image,
    imagePullPolicy: "IfNotPresent",
    args: ["certs", "manage", `--namespace=${namespace}`],
    env: environment(HEAP_MIB),
    ports: [{ name: "health", containerPort: PORTS.health }],
    livenessProbe: probe("/healthz", { periodSeconds: 10, failureThreshold: 3, timeoutSeconds: 5 }),
    readinessProbe: probe("/readyz", { periodSeconds: 5, failureThreshold: 2, timeoutSeconds: 5 }),
    resources: RESOURCES,
    securityContext: CONTAINER_SECURITY,
  };
}
