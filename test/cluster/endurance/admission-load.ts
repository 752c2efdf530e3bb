import { Agent } from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import { stringAt } from "../../../shared/formats/json.ts";
import type { ApiResponse } from "../../real/apiserver/api-request.ts";
import { SELECTORS } from "../../real/webhook/installed-webhook.ts";
import type { PodCluster } from "../cluster.ts";
import { selector } from "../webhook/selector.ts";

const AT_ONCE = 4;
/** The objects that each worker changes in turn. */
const OBJECTS = 10;
const RETRY_MS = 200;
/** The number of times that client-go repeats a request after a response with Retry-After. */
const MAX_RETRIES = 10;
/** 403: the API server has not read its RBAC rules yet. 503: it has not registered its paths yet. */
const NOT_READY: ReadonlySet<number> = new Set([403, 429, 503]);
export const LOAD_ROLE = "arn:aws:iam::111122223333:role/load";
const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/load/buckets";
const MERGE = { "content-type": "application/merge-patch+json" };

/**
 * Changes selectors and buckets, 4 at once, until `stop`. The API server calls the mutating and the validating webhook
 * for each change.
 */
export class AdmissionLoad {
  /** The number of changes that the API server answered. */
  answered = 0;
  /** The number of requests that the API server did not answer. They are retried, because no admission was lost. */
  unanswered = 0;
  /** The number of requests that were repeated because of a response with Retry-After. */
  repeated = 0;
  /** One line for each change that failed. */
  readonly failures: string[] = [];
  readonly latenciesMs: number[] = [];
  readonly #cluster: PodCluster;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  readonly #paths: readonly string[];
  #workers: Promise<unknown> = Promise.resolve();
  #isStopped = false;

  private constructor(cluster: PodCluster, paths: readonly string[]) {
    this.#cluster = cluster;
    this.#paths = paths;
  }

  static async start(cluster: PodCluster): Promise<AdmissionLoad> {
    await cluster.kubectl(["create", "namespace", "load"]);
    const names = Array.from({ length: AT_ONCE * OBJECTS }, (_, i) => `load-${i}`);
    await cluster.apply(names.flatMap((name) => [selector(name, LOAD_ROLE), bucket(name)]));
    const load = new AdmissionLoad(cluster, names.flatMap((name) => [`${SELECTORS}/${name}`, `${BUCKETS}/${name}`]));
    load.#workers = Promise.all(Array.from({ length: AT_ONCE }, async (_, worker) => load.#work(worker)));
    return load;
  }

  /** Stops the load. Rejects if a request could not be sent for another reason than a broken connection. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#workers;
    this.#agent.destroy();
  }

  async #work(worker: number): Promise<void> {
    for (let i = worker; !this.#isStopped; i += AT_ONCE) {
      const path = this.#paths[i % this.#paths.length] ?? "";
      const startMs = performance.now();
      const response = await this.#changeLikeClientGo(path, i);
      if (response === null) {
        this.unanswered += 1;
        await pause(RETRY_MS);
        continue;
      }
      this.answered += 1;
      this.latenciesMs.push(performance.now() - startMs);
      const { status, body } = response;
      if (status !== 200) this.failures.push(`${path}: ${status} ${stringAt(body, "message") ?? ""}`);
    }
  }

  async #changeLikeClientGo(path: string, i: number): Promise<ApiResponse | null> {
    for (let retries = 0; ; retries++) {
      const response = await this.#change(path, i);
      const retryAfter = response?.headers["retry-after"];
      if (response === null || retryAfter === undefined || retries === MAX_RETRIES) return response;
      this.repeated += 1;
      await pause(Number(retryAfter) * 1000);
    }
  }

  /**
   * Changes a field, of selectors one that reviews compare. Returns null if the connection breaks, or if a new API
   * server is not ready for the request.
   */
  async #change(path: string, i: number): Promise<ApiResponse | null> {
    const name = `change-${i}`;
    const spec = path.startsWith(SELECTORS) ? { namespaceSelector: { names: [name] } } : { name };
    try {
      const response = await this.#cluster.api.request("PATCH", path, { spec }, { headers: MERGE, agent: this.#agent });
      return NOT_READY.has(response.status) ? null : response;
    } catch {
      return null;
    }
  }
}

function bucket(name: string): object {
  return {
    apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name, namespace: "load" }, spec: { name },
  };
}
