import type {
  V1Container, V1Deployment, V1EnvVar, V1PodSecurityContext, V1PodSpec, V1Probe, V1SecurityContext,
  V1TopologySpreadConstraint,
} from "@kubernetes/client-node";
import type { Runtime } from "../shared/contract/context.ts";
import { VERSION } from "../shared/contract/version.ts";
import { CERTIFICATE_FLAG, certificateVolumes } from "./certificates.ts";
import { labelsOf, WEBHOOK } from "../shared/contract/installation.ts";

/** The image without a registry. Users push the image to their registry. */
export const DEFAULT_IMAGE = `ack-role-resolver:${VERSION}`;

/** The ports of the container, by name: the defaults of `--listen` and `--health-listen` of the webhook. */
export const PORTS = { webhook: 9443, health: 9444 } as const;

/** The labels that select the webhook's Pods. They do not change, because a Deployment's selector is immutable. */
export const POD_SELECTOR = podSelector("webhook");

/** Returns the labels that select the Pods of a component. */
export function podSelector(component: "webhook" | "certificates"): Record<string, string> {
  const { "app.kubernetes.io/version": _, ...selected } = labelsOf(component);
  return selected;
}

/** Options of the webhook's Deployment. */
export interface DeploymentOptions {
  readonly namespace: string;
  readonly ackSystemNamespace: string;
  readonly runtime: Runtime;
  readonly extraGroups: readonly string[];
  readonly image: string;
  /** The namespace of the Secrets of static identities; null if nothing reads these Secrets. Default: null. */
  readonly identitySecretNamespace?: string | null;
  /** The namespaces that may use the AWSClusterControllerIdentity that the webhook creates; [] if it creates none. */
  readonly autoControllerIdentity?: readonly string[];
  /** Whether the webhook injects sidecars. They have the image of the webhook. Default: false. */
  readonly inject?: boolean;
}

/**
 * The time between the removal of the endpoint and SIGTERM, in seconds. In this time, each node stops routing new
 * connections to the Pod.
 */
const PRE_STOP_SECONDS = 5;
/** Must exceed the preStop time plus the time limits of the webhook's drain and of its close. */
const GRACE_SECONDS = 30;
/** A user ID without a user: no image and no node assigns it. */
const USER_ID = 65_532;
/** The limit of V8's old generation, in MiB. The rest of the memory limit is for bodies in flight, code and stacks. */
const HEAP_MIB = 192;

/**
 * Measured with `npm run bench:pods`: 95 MiB and 15m CPU idle, and 123 MiB and 220m CPU at 50 reviews/s per replica.
 * The rest of the memory is for large inventories and bodies. The CPU has no limit, because a limit delays reviews.
 */
const RESOURCES = { requests: { cpu: "100m", memory: "192Mi" }, limits: { memory: "384Mi" } };

/** Returns the Deployment of the webhook. The default values of the Helm chart render the same object. */
export function webhookDeployment(options: DeploymentOptions): V1Deployment {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: WEBHOOK.deployment, namespace: options.namespace, labels: labelsOf("webhook") },
    spec: {
      replicas: 2,
      // A new replica must be ready before an old replica stops.
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: { matchLabels: POD_SELECTOR },
      template: { metadata: { labels: labelsOf("webhook") }, spec: podSpec(options) },
    },
  };
}

export const PRIORITY_CLASS = "system-cluster-critical";

/** The security context of a Pod that meets the restricted Pod security standard. */
export const POD_SECURITY: V1PodSecurityContext = {
  runAsNonRoot: true, runAsUser: USER_ID, runAsGroup: USER_ID, fsGroup: USER_ID,
  seccompProfile: { type: "RuntimeDefault" },
};

export const CONTAINER_SECURITY: V1SecurityContext = {
  allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] },
};

function podSpec(options: DeploymentOptions): V1PodSpec {
  const { volumes } = certificateVolumes();
  return {
    serviceAccountName: WEBHOOK.serviceAccount,
    priorityClassName: PRIORITY_CLASS,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: GRACE_SECONDS,
    securityContext: POD_SECURITY,
    topologySpreadConstraints: [spreadOver("topology.kubernetes.io/zone"), spreadOver("kubernetes.io/hostname")],
    containers: [webhookContainer(options)],
    volumes,
  };
}

/** Spreads the Pods of each ReplicaSet. A cluster with one node or zone still schedules all Pods. */
function spreadOver(topologyKey: string): V1TopologySpreadConstraint {
  return {
    topologyKey, maxSkew: 1, whenUnsatisfiable: "ScheduleAnyway", labelSelector: { matchLabels: POD_SELECTOR },
    matchLabelKeys: ["pod-template-hash"],
  };
}

function webhookContainer(options: DeploymentOptions): V1Container {
  const { volumeMounts } = certificateVolumes();
  return {
    name: "webhook",
    image: options.image,
    imagePullPolicy: "IfNotPresent",
    args: webhookArguments(options),
    env: environment(HEAP_MIB),
    ports: Object.entries(PORTS).map(([name, containerPort]) => ({ name, containerPort })),
    startupProbe: probe("/startupz", { periodSeconds: 2, failureThreshold: 150 }),
    livenessProbe: probe("/healthz", { periodSeconds: 10, failureThreshold: 3, timeoutSeconds: 5 }),
    readinessProbe: probe("/readyz", { periodSeconds: 5, failureThreshold: 2, timeoutSeconds: 5 }),
    lifecycle: { preStop: { sleep: { seconds: PRE_STOP_SECONDS } } },
    resources: RESOURCES,
    securityContext: CONTAINER_SECURITY,
    volumeMounts,
  };
}

function webhookArguments(options: DeploymentOptions): string[] {
  const { namespace, ackSystemNamespace, runtime, extraGroups, image } = options;
  const { inject = false, identitySecretNamespace = null } = options;
  const { autoControllerIdentity = [] } = options;
  return [
    "webhook", "--cluster", CERTIFICATE_FLAG,
    `--ack-system-namespace=${ackSystemNamespace}`, `--runtime=${runtime}`,
    `--namespace=${namespace}`,
    ...(identitySecretNamespace === null ? [] : [`--identity-secret-namespace=${identitySecretNamespace}`]),
    ...autoControllerIdentity.map((name) => `--auto-controller-identity=${name}`),
    ...extraGroups.map((group) => `--extra-groups=${group}`),
    ...(inject ? [`--sidecar-image=${image}`] : []),
  ];
}

/** Returns the variable that limits the heap of Node.js. */
export function environment(heapMiB: number): V1EnvVar[] {
  return [{ name: "NODE_OPTIONS", value: `--max-old-space-size=${heapMiB}` }];
}

export function probe(path: string, timing: Partial<V1Probe>): V1Probe {
  return { httpGet: { path, port: "health" }, ...timing };
}
