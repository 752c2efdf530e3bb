import { startSTSEmulator } from "../../cli/local/sts-emulator/emulator.ts";
import type { Pod, PodCluster } from "../../test/cluster/cluster.ts";
import { PROJECT_IMAGE } from "../../test/cluster/project-image.ts";
import { startTLS } from "../../test/cluster/sidecar/aws.ts";
import type { Target } from "./measure.ts";

const NAMESPACE = "ack-system";
const NAME = "sidecar";
const LABELS = { app: NAME };
const CONTAINER = "ack-role-resolver";
const SELECTORS = 100;
const REQUESTS_PER_SECOND = 100;
/** Shorter than the time limit of kubectl. */
const PART_MS = 15_000;
const BASE = {
  accessKeyID: "ASIABASE", secretAccessKey: "base-secret", sessionToken: "base-session",
  arn: "arn:aws:sts::999988887777:assumed-role/ack/base",
};
const NODE = "/usr/local/bin/node";

/** Starts an STS emulator, and a Pod with a sidecar and a container for its clients. Resolves when the Pod is ready. */
export async function startSidecarPod(
  t: Parameters<typeof startTLS>[0], cluster: PodCluster,
): Promise<Pod> {
  const emulator = await startSTSEmulator({ baseCredentials: [BASE] });
  t.teardown(() => emulator.close());
  const { url, ca } = await startTLS(t, emulator.url, cluster.hostAddress);
  await cluster.apply([
    ...Array.from({ length: SELECTORS }, (_, i) => selectorOf(i)), binding(),
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "sts-ca", namespace: NAMESPACE }, data: { "ca.crt": ca } },
    podOf(url),
  ]);
  await cluster.untilPods(NAMESPACE, `app=${NAME}`, ([one]) => one?.isReady === true);
  const [pod] = await cluster.pods(NAMESPACE, `app=${NAME}`);
  if (pod === undefined) throw new Error("the Pod with the sidecar does not exist");
  // The sidecar limits the rate of AssumeRole calls, so the first requests for many roles can get a 503.
  await loadSidecar(cluster, pod, PART_MS);
  return pod;
}

export function sidecarTarget(pod: Pod): Target {
  return { pod, name: CONTAINER };
}

function selectorOf(i: number): object {
  return {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: `team-${i}` },
    spec: { arn: `arn:aws:iam::111122223333:role/team-${i}`, namespaceSelector: { names: [`team-${i}`] } },
  };
}

function binding(): object {
  const group = "rbac.authorization.k8s.io";
  return {
    apiVersion: `${group}/v1`, kind: "ClusterRoleBinding", metadata: { name: NAME },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: "ack-role-resolver-reader" },
    subjects: [{ kind: "ServiceAccount", name: "default", namespace: NAMESPACE }],
  };
}

/** The container of the sidecar has the resources of manifests/sidecar/deployment.yaml. */
function podOf(sts: string): object {
  const token = { name: "token", mountPath: "/run/token" };
  const image = { image: PROJECT_IMAGE, imagePullPolicy: "Never" };
  return {
    apiVersion: "v1", kind: "Pod", metadata: { name: NAME, namespace: NAMESPACE, labels: LABELS },
    spec: {
      terminationGracePeriodSeconds: 0, enableServiceLinks: false,
      initContainers: [{
        name: CONTAINER, ...image, restartPolicy: "Always",
        args: [
          "sidecar", "--cluster", "--group=s3.services.k8s.aws", "--region=eu-west-1",
          "--token-file=/run/token/token", `--sts-endpoint=${sts}`,
        ],
        env: Object.entries({
          NODE_EXTRA_CA_CERTS: "/run/ca/ca.crt", AWS_ACCESS_KEY_ID: BASE.accessKeyID,
          AWS_SECRET_ACCESS_KEY: BASE.secretAccessKey, AWS_SESSION_TOKEN: BASE.sessionToken,
        }).map(([name, value]) => ({ name, value })),
        startupProbe: { httpGet: { path: "/startupz", port: 9781 }, periodSeconds: 1, failureThreshold: 60 },
        resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "192Mi" } },
        volumeMounts: [token, { name: "ca", mountPath: "/run/ca" }],
      }],
      containers: [{
        name: "client", ...image, command: [NODE, "-e", "setInterval(Date, 60_000)"], volumeMounts: [token],
      }],
      volumes: [
        { name: "token", emptyDir: { medium: "Memory" } }, { name: "ca", configMap: { name: "sts-ca" } },
      ],
    },
  };
}

/** Requests credentials at a fixed rate. Returns the number of responses by status. */
export async function loadSidecar(cluster: PodCluster, pod: Pod, durationMs: number): Promise<string> {
  const script = `
    const { Agent, get } = require("node:http");
    const agent = new Agent({ keepAlive: true });
    const authorization = require("node:fs").readFileSync("/run/token/token", "utf8").trim();
    const total = ${(PART_MS / 1000) * REQUESTS_PER_SECOND};
    const statuses = {};
    let sent = 0, done = 0;
    const timer = setInterval(() => {
      const path = "/v1/credentials/selectors/team-" + (sent % ${SELECTORS});
      if (++sent === total) clearInterval(timer);
      get({ port: 9780, host: "127.0.0.1", path, agent, headers: { authorization } }, (response) => {
        statuses[response.statusCode] = (statuses[response.statusCode] ?? 0) + 1;
        response.resume().once("end", () => {
          if (++done < total) return;
          agent.destroy();
          console.log(JSON.stringify(statuses));
        });
      });
    }, ${1000 / REQUESTS_PER_SECOND});`;
  const reports: string[] = [];
  for (let part = 0; part < durationMs / PART_MS; part++) {
    // oxlint-disable-next-line no-await-in-loop -- one part after another
    const { stdout, stderr } = await cluster.exec(NAMESPACE, pod.name, "client", [NODE, "-e", script]);
    reports.push(`${stdout}${stderr}`.trim());
  }
  return `${REQUESTS_PER_SECOND} requests/s, responses by status ${reports.join(" ")}`;
}
