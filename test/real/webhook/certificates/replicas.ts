import { once } from "node:events";
import { connect } from "node:tls";
import type { Test } from "tap";
import { manifestObjects } from "../../../../manifests/render.ts";
import { isJsonObject, type JsonObject, stringAt } from "../../../../shared/decisions/kubernetes/json.ts";
import { ACK_SELECTOR_CRD } from "../../../fixtures/ack-selector-crd.ts";
import { get } from "../../../loopback-request.ts";
import type { Cluster } from "../../apiserver/cluster.ts";
import { type ServerProcess, startProgram } from "../../server-process.ts";
import { apply, untilCalled } from "../installed-webhook.ts";
import { type Balancer, startBalancer } from "./balancer.ts";

export const NAMESPACE = "ack-role-resolver";
export const SECRET = `/api/v1/namespaces/${NAMESPACE}/secrets/ack-role-resolver-webhook-tls`;
export const CONFIGURATIONS = ["mutating", "validating"].map((kind) => (
  `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations/ack-role-resolver`
));

/** The durations of a rotation, in ms. They are short, but longer than an API server needs to apply a configuration. */
const TIMING = { publishMs: 2_000, retireMs: 2_000 };
const REPLICA = new URL("./replica.ts", import.meta.url).pathname;
const OPTIONS = {
  namespace: NAMESPACE, runtime: "ack", ackSystemNamespace: "ack-system", url: null, caBundle: null,
  accessReviews: false, extraGroups: [], ownCRD: false, certificates: "self-signed", image: "unused",
} as const;

/** Starts one replica of `webhook --tls-secret` as the service account of the manifests. */
async function startReplica(t: Test, cluster: Cluster): Promise<ServerProcess> {
  const flags = {
    cluster: true, kubeconfig: cluster.kubeconfig, context: "webhook", listen: "127.0.0.1:0",
    healthListen: "127.0.0.1:0", tlsSecret: `${NAMESPACE}/ack-role-resolver-webhook-tls`,
  };
  const replica = await startProgram("webhook", [REPLICA, JSON.stringify(flags), JSON.stringify(TIMING)]);
  t.teardown(() => replica.stop("SIGKILL"));
  return replica;
}

/** Applies the printed manifests, and starts two replicas behind a load balancer that the API server calls. */
export async function installReplicas(
  t: Test, cluster: Cluster,
): Promise<{ readonly replicas: readonly [ServerProcess, ServerProcess]; readonly balancer: Balancer }> {
  await cluster.request("POST", "/api/v1/namespaces", { metadata: { name: OPTIONS.ackSystemNamespace } });
  await cluster.installCRDs([ACK_SELECTOR_CRD]);
  await apply(cluster, manifestObjects("rbac", OPTIONS));
  const balancer = await startBalancer(t);
  const replicas = [await startReplica(t, cluster), await startReplica(t, cluster)] as const;
  balancer.backends = replicas.map(({ address }) => address);
  await apply(cluster, manifestObjects("webhooks", { ...OPTIONS, url: `https://${balancer.address}` }));
  await untilCalled(cluster);
  return { replicas, balancer };
}

export async function read(cluster: Cluster, path: string): Promise<JsonObject> {
  const { body } = await cluster.request("GET", path);
  return isJsonObject(body) ? body : {};
}

/** Returns an entry of the Secret as text. */
export async function secretText(cluster: Cluster, key: string): Promise<string> {
  return Buffer.from(stringAt(await read(cluster, SECRET), "data", key) ?? "", "base64").toString("utf8");
}

/** Returns the caBundle of the first webhook in a configuration, as PEM. */
export async function bundleOf(cluster: Cluster, path: string): Promise<string> {
  const { webhooks } = await read(cluster, path);
  const first = Array.isArray(webhooks) ? webhooks.find(isJsonObject) : null;
  return Buffer.from(stringAt(first, "clientConfig", "caBundle") ?? "", "base64").toString("utf8");
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

export async function metricsOf({ healthAddress }: ServerProcess): Promise<string> {
  return (await get(`http://${healthAddress}/metrics`)).body;
}
