import type { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { ResolverError } from "../../decisions/errors.ts";
import { type Connect, httpKubernetesAPI, type KubernetesAPI, type KubernetesConnection } from "./api.ts";

/** Which cluster: a kubeconfig file and a context in it; null for the defaults. */
export interface ClusterChoice {
  readonly kubeconfig: string | null;
  readonly context: string | null;
}

/**
 * The API server of the kubeconfig file given, else of KUBECONFIG, else of ~/.kube/config, else of the Pod's own account.
 * Throws ERR_CONFIG_KUBECONFIG with what is wrong and how to mend it.
 */
export async function connectKubernetes(choice: ClusterChoice): Promise<KubernetesAPI> {
  return httpKubernetesAPI(await kubernetesConnector(choice));
}

/** The same, as the connection alone. A configuration whose credentials were refused is read again before the next request. */
export async function kubernetesConnector(choice: ClusterChoice): Promise<Connect> {
  let config = await readConfig(choice);
  return async (refused) => {
    if (refused) config = await readConfig(choice);
    return connectionOf(config);
  };
}

/** client-node costs tens of MB, so only what reads a cluster loads it, and of it the configuration alone. */
async function readConfig({ kubeconfig, context }: ClusterChoice): Promise<KubeConfig> {
  const { KubeConfig: Config } = await import("@kubernetes/client-node/dist/config.js");
  const config = new Config();
  try {
    if (kubeconfig === null) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (error) {
    throw unusable(`${kubeconfig === null ? "the kubeconfig" : `--kubeconfig ${kubeconfig}`} cannot be read: ${error instanceof Error ? error.message : String(error)}`, error);
  }
  if (context !== null) config.setCurrentContext(context);
  checkContext(config);
  checkServer(config);
  return config;
}

function checkContext(config: KubeConfig): void {
  const current: string | undefined = config.getCurrentContext();
  const names = config.getContexts().map(({ name }) => name);
  if (current !== undefined && names.includes(current)) return;
  const wanted = current === undefined || current === "" ? "has no current context" : `has no context "${current}"`;
  throw unusable(`the kubeconfig ${wanted}; choose one with --context: ${names.length === 0 ? "it has none" : names.join(", ")}`);
}

/** What client-node makes up when it finds no configuration at all. */
const MADE_UP_SERVER = "http://localhost:8080";

function checkServer(config: KubeConfig): void {
  const server = config.getCurrentCluster()?.server;
  if (server === MADE_UP_SERVER && config.getCurrentContext() === "loaded-context") {
    throw unusable("no kubeconfig and no Pod account was found; set KUBECONFIG, give --kubeconfig, or read manifests with --from");
  }
  if (server === undefined || !URL.canParse(server)) {
    throw unusable(`the context "${config.getCurrentContext()}" names no cluster with a server URL; mend it in the kubeconfig`);
  }
  const { protocol, hostname } = new URL(server);
  if (protocol === "https:" || (protocol === "http:" && LOOPBACK.has(hostname))) return;
  throw unusable(`the server ${server} must be https; http is taken on loopback alone, for kubectl proxy`);
}

const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"]);

async function connectionOf(config: KubeConfig): Promise<KubernetesConnection> {
  const cluster = config.getCurrentCluster();
  const server = cluster?.server ?? "";
  // Never a credential in the clear; client-node refuses http too, unless verification is off.
  if (server.startsWith("http:")) return { server, options: {} };
  const options: KubernetesConnection["options"] = {};
  await config.applyToHTTPSOptions(options);
  // client-node keeps the first agent for good, with the certificates of that time. Without one, node:https takes those in `options`.
  if (cluster?.proxyUrl === undefined) options.agent = false;
  return { server, options };
}

function unusable(message: string, cause?: unknown): ResolverError {
  return new ResolverError("ERR_CONFIG_KUBECONFIG", message, { cause });
}
