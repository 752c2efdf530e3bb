import type { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { errorMessage, ResolverError } from "../formats/errors.ts";
import { type Connect, httpKubernetesAPI, type KubernetesAPI, type KubernetesConnection } from "./api.ts";

/** A kubeconfig file and the name of a context in the file. A field that is null selects the default. */
interface ClusterChoice {
  readonly kubeconfig: string | null;
  readonly context: string | null;
}

/**
 * Returns a client of the API server. The configuration is the selected kubeconfig file, else KUBECONFIG, else
 * ~/.kube/config, else the service account of the Pod. Rejects with ERR_CONFIG_KUBECONFIG if the configuration is
 * unusable.
 */
export async function connectKubernetes(choice: ClusterChoice): Promise<KubernetesAPI> {
  return (await openKubeconfig(choice)).api;
}

/** The contexts of a kubeconfig. */
interface Contexts {
  readonly names: readonly string[];
  /** The namespace of the selected context, which kubectl uses if no flag sets one; null if it has none. */
  readonly namespace: string | null;
}

/** A client of the API server, and the contexts of the kubeconfig from which it comes. */
interface OpenKubeconfig {
  readonly api: KubernetesAPI;
  readonly contexts: Contexts;
}

/** Reads the kubeconfig once. Rejects like `connectKubernetes`. */
export async function openKubeconfig(choice: ClusterChoice): Promise<OpenKubeconfig> {
  const config = await readConfig(choice);
  const { namespace = "" } = config.getContextObject(config.getCurrentContext()) ?? {};
  const names = config.getContexts().map(({ name }) => name);
  return {
    api: httpKubernetesAPI(connectorOf(choice, config)),
    contexts: { names, namespace: namespace === "" ? null : namespace },
  };
}

/** Returns the connector that `connectKubernetes` uses. The connector reads the configuration again after a 401. */
export async function kubernetesConnector(choice: ClusterChoice): Promise<Connect> {
  return connectorOf(choice, await readConfig(choice));
}

function connectorOf(choice: ClusterChoice, first: KubeConfig): Connect {
  let config = first;
  return async (unauthorized) => {
    if (unauthorized) config = await readConfig(choice);
    return connectionOf(config);
  };
}

/**
 * Imports only the configuration module of client-node, and only when needed, because the whole library needs tens of
 * MB.
 */
async function readConfig({ kubeconfig, context }: ClusterChoice): Promise<KubeConfig> {
  const { KubeConfig: Config } = await import("@kubernetes/client-node/dist/config.js");
  const config = new Config();
  try {
    if (kubeconfig === null) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (error) {
    const file = kubeconfig === null ? "The kubeconfig" : `--kubeconfig ${kubeconfig}`;
    throw unusable(`${file} cannot be read: ${errorMessage(error)}.`, error);
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
  if (names.length === 0) {
    throw unusable("The kubeconfig has no contexts. Set KUBECONFIG or --kubeconfig to a file with a context.");
  }
  const problem = current === undefined || current === "" ? "no current context" : `no context "${current}"`;
  throw unusable(`The kubeconfig has ${problem}. Set --context to one of: ${names.join(", ")}.`);
}

/** The server URL that client-node uses if client-node finds no configuration. */
const FALLBACK_SERVER = "http://localhost:8080";

function checkServer(config: KubeConfig): void {
  const server = config.getCurrentCluster()?.server;
  const context = config.getCurrentContext();
  if (server === FALLBACK_SERVER && context === "loaded-context") {
    throw unusable(
      "No kubeconfig and no Pod service account was found. "
        + "Set KUBECONFIG or --kubeconfig, or read manifests with --from.",
    );
  }
  if (server === undefined || !URL.canParse(server)) {
    throw unusable(`The context "${context}" has no cluster with a server URL. Correct the context in the kubeconfig.`);
  }
  const { protocol, hostname } = new URL(server);
  if (protocol === "https:" || (protocol === "http:" && LOOPBACK.has(hostname))) return;
  throw unusable(
    `The server ${server} does not use https. Change its URL; http is allowed only on loopback, for kubectl proxy.`,
  );
}

const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"]);

async function connectionOf(config: KubeConfig): Promise<KubernetesConnection> {
  const cluster = config.getCurrentCluster();
  const server = cluster?.server ?? "";
  // The client sends no credentials over plain HTTP, which client-node itself rejects unless TLS verification is
  // disabled.
  if (server.startsWith("http:")) return { server, options: {} };
  const options: KubernetesConnection["options"] = {};
  await config.applyToHTTPSOptions(options);
  // The agent of client-node is cached, and its certificates can be outdated. With `agent: false`, node:https uses the
  // certificates in `options`.
  if (cluster?.proxyUrl === undefined) options.agent = false;
  return { server, options };
}

function unusable(message: string, cause?: unknown): ResolverError {
  return new ResolverError("ERR_CONFIG_KUBECONFIG", message, { cause });
}
