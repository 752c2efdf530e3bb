import { once } from "node:events";
import { connect } from "node:tls";
import type { Test } from "tap";
import { manifestObjects } from "../../../../manifests/render.ts";
import { ACK_SELECTOR_CRD } from "../../../fixtures/ack-selector-crd.ts";
import { get } from "../../../loopback-request.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { type ServerProcess, startProgram, startServer } from "../../server-process.ts";
import { apply, untilCalled } from "../installed-webhook.ts";
import { type Balancer, startBalancer } from "./balancer.ts";
import { keepMounted } from "./kubelet.ts";
import { NAMESPACE, SERVING } from "./objects.ts";

/**
 * The durations of a rotation, in ms. They are short, but longer than an API server needs to apply a configuration, and
 * than the mounted files need.
 */
const TIMING = { publishMs: 2_000, retireMs: 4_000 };
const MANAGER = new URL("./manager.ts", import.meta.url).pathname;
export const OPTIONS = {
  namespace: NAMESPACE, runtime: "ack", ackSystemNamespace: "ack-system", url: null, caBundle: null,
  accessReviews: false, extraGroups: [], maintainsCertificates: true,
} as const;

/** Starts `certs manage` as its service account in the manifests. */
export async function startManager(t: Test, cluster: Cluster): Promise<ServerProcess> {
  const flags = { kubeconfig: cluster.kubeconfig, context: "certificates", healthListen: "127.0.0.1:0" };
  const manager = await startProgram("certs manage", [MANAGER, JSON.stringify(flags), JSON.stringify(TIMING)]);
  t.teardown(() => manager.stop("SIGKILL"));
  return manager;
}

/** Starts one replica of the webhook, with the mounted Secret, as its service account in the manifests. */
async function startReplica(t: Test, cluster: Cluster): Promise<ServerProcess> {
  const dir = await keepMounted(t, cluster, SERVING);
  const access = ["--cluster", "--kubeconfig", cluster.kubeconfig, "--context", "webhook"];
  const replica = await startServer("webhook", [...access, "--tls-dir", dir, "--url", "https://127.0.0.1"]);
  t.teardown(() => replica.stop("SIGKILL"));
  return replica;
}

export type Replicas = readonly [ServerProcess, ServerProcess];

interface Installed {
  readonly manager: ServerProcess;
  readonly replicas: Replicas;
  readonly balancer: Balancer;
}

/** Applies the printed manifests, and starts two replicas behind a load balancer that the API server calls. */
export async function installReplicas(t: Test, cluster: Cluster): Promise<Installed> {
  await cluster.request("POST", "/api/v1/namespaces", { metadata: { name: OPTIONS.ackSystemNamespace } });
  await cluster.installCRDs([ACK_SELECTOR_CRD]);
  await apply(cluster, manifestObjects("rbac", OPTIONS));
  const balancer = await startBalancer(t);
  const manager = await startManager(t, cluster);
  const replicas = [await startReplica(t, cluster), await startReplica(t, cluster)] as const;
  balancer.backends = replicas.map(({ address }) => address);
  await apply(cluster, manifestObjects("webhooks", { ...OPTIONS, url: `https://${balancer.address}` }));
  await untilCalled(cluster);
  return { manager, replicas, balancer };
}

/** Opens a TLS connection to a replica, and returns the serial number of its certificate. */
export async function servedSerial({ address }: ServerProcess): Promise<string> {
  const [host, port] = address.split(":");
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

export async function metricsOf({ healthAddress }: Pick<ServerProcess, "healthAddress">): Promise<string> {
  return (await get(`http://${healthAddress}/metrics`)).body;
}
