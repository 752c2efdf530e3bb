import path from "node:path";
import type { Test } from "tap";
import { field, stringAt } from "../../../shared/formats/json.ts";
import type { Cluster } from "../apiserver/cluster.ts";
import { DEPLOYMENT, NAMESPACE } from "../chart/helm.ts";
import { type ServerProcess, startProgram, startServer } from "../server-process.ts";
import type { Balancer } from "../webhook/certificates/balancer.ts";
import { read } from "../webhook/certificates/objects.ts";
import { untilCalled } from "../webhook/installed-webhook.ts";
import { mountSecret } from "./mounted-secret.ts";

export const SERVICE_NAME = `ack-role-resolver-webhook.${NAMESPACE}.svc`;
const TLS_DIR_FLAG = "--tls-dir=";

interface Deployed {
  readonly cluster: Cluster;
  readonly balancer: Balancer;
  /** The folder of the certificate of the webhook. */
  readonly dir: string;
}

/** Starts the webhook with the arguments and the mounted Secret of the Deployment. The API server calls it then. */
export async function startDeployed(t: Test, { cluster, balancer, dir }: Deployed): Promise<ServerProcess> {
  const spec = field(field(field(await read(cluster, DEPLOYMENT), "spec"), "template"), "spec");
  const [[container], [volume]] = [[field(spec, "containers")].flat(), [field(spec, "volumes")].flat()];
  const secret = stringAt(field(volume, "secret"), "secretName");
  await mountSecret(dir, await read(cluster, `/api/v1/namespaces/${NAMESPACE}/secrets/${secret}`));
  const args = [field(container, "args")].flat().slice(1).map(String);
  const local = args.map((arg) => (arg.startsWith(TLS_DIR_FLAG) ? `${TLS_DIR_FLAG}${dir}` : arg));
  t.ok(local.includes(`${TLS_DIR_FLAG}${dir}`));
  const access = ["--kubeconfig", cluster.kubeconfig, "--context", "webhook", "--url", `https://${SERVICE_NAME}`];
  const webhook = await startServer("webhook", [...local, ...access]);
  t.teardown(() => webhook.stop("SIGKILL"));
  balancer.backends = [webhook.address];
  await untilCalled(cluster);
  return webhook;
}

const CLI = path.join(import.meta.dirname, "../../../cli/main.ts");

/** Starts `certs manage` as its Deployment does. */
export async function startManager(t: Test, cluster: Cluster): Promise<ServerProcess> {
  const flags = ["--namespace", NAMESPACE, "--health-listen", "127.0.0.1:0"];
  const access = ["--kubeconfig", cluster.kubeconfig, "--context", "certificates"];
  const manager = await startProgram("certs manage", [CLI, "certs", "manage", ...flags, ...access]);
  t.teardown(() => manager.stop("SIGKILL"));
  return manager;
}
