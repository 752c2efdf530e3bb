import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Test } from "tap";
import { parseAllDocuments } from "yaml";
import { field, isJsonObject, type JsonObject, stringAt } from "../../../shared/formats/json.ts";
import { freePorts } from "../../free-ports.ts";
import { get } from "../../loopback-request.ts";
import { capaIn } from "../../programs/capa.ts";
import type { Cluster, InstalledCRD } from "../apiserver/cluster.ts";
import { IDENTITIES, kubeconfig } from "../apiserver/identities.ts";
import { startProcess } from "../apiserver/managed-process.ts";
import { until } from "../apiserver/until.ts";
import { apply, certificateFolder } from "../webhook/installed-webhook.ts";

/** The user name of the manager. */
export const { username: CAPA_USER } = IDENTITIES.capa;
const [, , NAMESPACE = "", SERVICE_ACCOUNT = ""] = CAPA_USER.split(":");
/** The access key of the manager itself. */
export const OWN_KEY = "AKIACAPACONTROLLER";

/** Installs the CRDs of CAPA and of Cluster API, and grants CAPA the rights of its release. */
export async function installCAPA(cluster: Cluster, folder: string): Promise<void> {
  const { crds, rights } = capaIn(folder);
  const documents = (await Promise.all(crds.map(readDocuments))).flat();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API server checks them
  await cluster.installCRDs(documents as unknown as readonly InstalledCRD[]);
  const [role] = await readDocuments(rights);
  await apply(cluster, [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } },
    { ...role, metadata: { name: "capa" } },
    {
      apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", metadata: { name: "capa" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "capa" },
      subjects: [{ kind: "ServiceAccount", namespace: NAMESPACE, name: SERVICE_ACCOUNT }],
    },
  ]);
}

async function readDocuments(file: string): Promise<JsonObject[]> {
  const documents = parseAllDocuments(await readFile(file, "utf8"));
  return [...documents].map((one): unknown => one.toJS()).filter(isJsonObject);
}

/** The endpoints of AWS services. */
interface Endpoints {
  readonly sts: string;
  readonly ec2: string;
}

/**
 * Runs the manager and its webhooks until the test ends, as its service account and with the controllers of unmanaged
 * clusters. Returns a function that reads its log.
 */
export async function startManager(
  t: Test, cluster: Cluster, folder: string, endpoints: Endpoints,
): Promise<() => Promise<string>> {
  const [home, log] = [cluster.file("capa"), cluster.file("capa.log")];
  await writeHome(home, cluster, endpoints.sts);
  const { dir, ca } = await certificateFolder(t);
  const [webhook = 0, health = 0] = await freePorts(2);
  const program = await startProcess(capaIn(folder).program, [
    `--kubeconfig=${path.join(home, "kubeconfig")}`, `--webhook-port=${webhook}`, `--webhook-cert-dir=${dir}`,
    `--health-addr=127.0.0.1:${health}`, "--diagnostics-address=0", "--insecure-diagnostics",
    "--feature-gates=EKS=false,MachinePool=false", "--awscluster-concurrency=20", "--logging-format=json",
    `--service-endpoints=eu-west-1:ec2=${endpoints.ec2}`,
  ], home, log);
  t.teardown(async () => {
    if (program.hasEnded()) t.fail(`CAPA exited:\n${await program.logTail()}`);
    await program.stop("SIGKILL");
  });
  const isReady = async (): Promise<boolean> => (
    (await get(`http://127.0.0.1:${health}/readyz`).catch(() => null))?.status === 200
  );
  const isDone = async (): Promise<boolean> => program.hasEnded() || await isReady();
  if (!(await until(isDone)) || program.hasEnded()) throw new Error(`CAPA is not ready:\n${await program.logTail()}`);
  const configurations = await readDocuments(capaIn(folder).webhooks);
  await apply(cluster, configurations.map((one) => servedAt(`https://127.0.0.1:${webhook}`, ca, one)));
  return async () => readFile(log, "utf8");
}

/** Writes the files from which the manager reads its rights in the cluster, its AWS credentials and its STS. */
async function writeHome(home: string, cluster: Cluster, sts: string): Promise<void> {
  await mkdir(path.join(home, ".aws"), { recursive: true });
  const write = async (name: string, text: string): Promise<void> => (
    writeFile(path.join(home, name), text, { mode: 0o600 })
  );
  await write("kubeconfig", kubeconfig(cluster.url, cluster.caFile, cluster.tokens, "capa"));
  await write(".aws/credentials", `[default]\naws_access_key_id=${OWN_KEY}\naws_secret_access_key=secret\n`);
  await write(".aws/config", `[default]\nservices=test\n[services test]\nsts =\n  endpoint_url = ${sts}\n`);
}

/** Returns the webhook configuration with the URL in place of the Service. */
function servedAt(url: string, ca: string, configuration: JsonObject): object {
  const { apiVersion, kind, webhooks } = configuration;
  const served = [webhooks].flat().filter(isJsonObject).map((one) => {
    const service = field(field(one, "clientConfig"), "service");
    const clientConfig = { url: `${url}${stringAt(service, "path")}`, caBundle: Buffer.from(ca).toString("base64") };
    return { ...one, clientConfig };
  });
  return { apiVersion, kind, metadata: { name: "capa" }, webhooks: served };
}
