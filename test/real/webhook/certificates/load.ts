import { readFile } from "node:fs/promises";
import { Agent, type AgentOptions, request } from "node:https";
import type { IncomingMessage } from "node:http";
import type { Cluster } from "../../apiserver/cluster.ts";
import { bundleOf, CONFIGURATIONS } from "./objects.ts";
import type { Balancer } from "./balancer.ts";

/** The number of answers, and the texts of the failures. */
interface LoadResult {
  admitted: number;
  readonly failures: string[];
}

export interface Load {
  readonly viaAPIServer: LoadResult;
  /** Reviews on new connections, which trust only the caBundle that the API server has. */
  readonly direct: LoadResult;
  stop(): Promise<void>;
}

const WORKERS = 8;

interface LoadOptions {
  /** The number of clients of the API server. Default: 8. */
  readonly workers?: number;
  /** The name for which the direct reviews verify the certificate. Default: the address of the load balancer. */
  readonly servername?: string;
}

/** Sends admissions without a pause, until `stop`. */
export async function startLoad(
  cluster: Cluster, balancer: Balancer, { workers = WORKERS, servername }: LoadOptions = {},
): Promise<Load> {
  const stopping = new AbortController();
  const viaAPIServer: LoadResult = { admitted: 0, failures: [] };
  const direct: LoadResult = { admitted: 0, failures: [] };
  const agent = new Agent({ keepAlive: true, ca: await readFile(cluster.caFile, "utf8") });
  const work = async (send: (count: number) => Promise<void>, result: LoadResult): Promise<void> => {
    for (let count = 0; !stopping.signal.aborted; count += 1) {
      try {
        await send(count);
        result.admitted += 1;
      } catch (error) {
        result.failures.push(error instanceof Error ? error.message : String(error));
      }
    }
  };
  const working = Array.from({ length: workers }, (_, worker) => (
    work((count) => createSelector(cluster, agent, `load-${worker}-${count}`), viaAPIServer)
  ));
  working.push(work(() => reviewDirectly(cluster, balancer, servername), direct));
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all(working);
    agent.destroy();
  };
  return { viaAPIServer, direct, stop };
}

/** Creates a selector as a dry run. The policy `Fail` rejects the request if a call of the webhook fails. */
async function createSelector(cluster: Cluster, agent: Agent, name: string): Promise<void> {
  const selector = {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name },
    spec: { arn: "arn:aws:iam::111122223333:role/load", namespaceSelector: { names: [name] } },
  };
  const url = new URL("/apis/services.k8s.aws/v1alpha1/iamroleselectors?dryRun=All", cluster.url);
  const { status, text } = await post(url, selector, { agent }, { authorization: `Bearer ${cluster.tokens.admin}` });
  if (status !== 201) throw new Error(`${status}: ${text}`);
}

async function reviewDirectly(cluster: Cluster, { address }: Balancer, servername?: string): Promise<void> {
  const ca = await bundleOf(cluster, CONFIGURATIONS[0] ?? "");
  const trust = servername === undefined ? { ca } : { ca, servername };
  const { status, text } = await post(new URL(`https://${address}/validate/iamroleselectors`), REVIEW, trust);
  if (status !== 200) throw new Error(`${status}: ${text}`);
}

const REVIEW = {
  apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview",
  request: {
    uid: "1", kind: { group: "", version: "v1", kind: "ConfigMap" }, operation: "CREATE", name: "a",
    resource: { group: "", version: "v1", resource: "configmaps" }, userInfo: {}, object: {}, oldObject: null,
  },
};

async function post(
  url: URL, body: object, options: AgentOptions & { readonly agent?: Agent }, headers: Record<string, string> = {},
): Promise<{ readonly status: number | undefined; readonly text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const type = { "content-type": "application/json" };
  const { agent = new Agent(options) } = options;
  request(url, { method: "POST", headers: { ...type, ...headers }, agent }, resolve).once("error", reject)
    .end(JSON.stringify(body));
  const response = await promise;
  const text = (await response.setEncoding("utf8").toArray()).join("");
  return { status: response.statusCode, text };
}
