import { WEBHOOK } from "../../../manifests/rbac.ts";
import { PROJECT_IMAGE } from "../project-image.ts";

export const NAMESPACE = "ack-role-resolver";
export const DEPLOYMENT = WEBHOOK.serviceAccount;
export const REPLICAS = 2;
const LABELS = { app: DEPLOYMENT };
/** The label selector of the webhook's Pods. */
export const POD_LABELS = `app=${DEPLOYMENT}`;
const TLS_SECRET = `${DEPLOYMENT}-tls`;
const TLS_DIR = "/run/tls";

/** The certificates that `certs make` writes, by file name, in base64. */
export interface CertificateFiles {
  readonly "tls.crt": string;
  readonly "tls.key": string;
  readonly "ca.crt": string;
}

/** Returns what `manifests all` does not contain: the Service, the Secret and the Deployment of the webhook. */
export function workload(certificates: CertificateFiles): readonly object[] {
  const metadata = (name: string): object => ({ name, namespace: NAMESPACE });
  return [
    { apiVersion: "v1", kind: "Secret", metadata: metadata(TLS_SECRET), data: certificates },
    {
      apiVersion: "v1", kind: "Service", metadata: metadata(WEBHOOK.service.name),
      spec: { selector: LABELS, ports: [{ port: WEBHOOK.service.port, targetPort: "webhook" }] },
    },
    {
      apiVersion: "apps/v1", kind: "Deployment", metadata: metadata(DEPLOYMENT),
      spec: {
        replicas: REPLICAS, selector: { matchLabels: LABELS },
        strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
        template: { metadata: { labels: LABELS }, spec: podSpec() },
      },
    },
  ];
}

function podSpec(): object {
  return {
    serviceAccountName: WEBHOOK.serviceAccount,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 30,
    securityContext: { runAsNonRoot: true, runAsUser: 65_532, fsGroup: 65_532 },
    containers: [container()],
    volumes: [{ name: "tls", secret: { secretName: TLS_SECRET, defaultMode: 0o440 } }],
  };
}

function container(): object {
  const probe = (path: string): object => ({ httpGet: { path, port: "health" } });
  return {
    name: "webhook", image: PROJECT_IMAGE, imagePullPolicy: "Never",
    args: ["webhook", "--cluster", `--tls-dir=${TLS_DIR}`],
    ports: [{ name: "webhook", containerPort: 9443 }, { name: "health", containerPort: 9444 }],
    startupProbe: { ...probe("/startupz"), periodSeconds: 1, failureThreshold: 60 },
    livenessProbe: probe("/healthz"),
    readinessProbe: { ...probe("/readyz"), periodSeconds: 1 },
    lifecycle: { preStop: { sleep: { seconds: 5 } } },
    resources: { requests: { cpu: "100m", memory: "192Mi" }, limits: { memory: "384Mi" } },
    securityContext: {
      allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] },
    },
    volumeMounts: [{ name: "tls", mountPath: TLS_DIR, readOnly: true }],
  };
}
