import { Agent } from "node:https";
import { stringAt } from "../../../shared/decisions/kubernetes/json.ts";
import { SELECTORS } from "../../real/webhook/installed-webhook.ts";
import type { PodCluster } from "../cluster.ts";

const AT_ONCE = 4;
const MAX_CREATED = 20_000;

export interface LoadResult {
  readonly created: number;
  /** One line for each creation that failed. */
  readonly failures: readonly string[];
  /** In milliseconds. */
  readonly latencies: { readonly p50: number; readonly p99: number };
}

/** Creates valid selectors, 4 at once, until the signal aborts. The selectors do not overlap. */
export async function createSelectors(cluster: PodCluster, signal: AbortSignal): Promise<LoadResult> {
  const failures: string[] = [];
  const times: number[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  let next = 0;
  const work = async (): Promise<void> => {
    while (!signal.aborted && next < MAX_CREATED) {
      const name = `load-${next++}`;
      const startMs = performance.now();
      const { status, body } = await cluster.api.request("POST", SELECTORS, selector(name, ROLE), { agent });
      times.push(performance.now() - startMs);
      if (status !== 201) failures.push(`${name}: ${status} ${stringAt(body, "message") ?? ""}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  agent.destroy();
  const sorted = times.toSorted((a, b) => a - b);
  const percentile = (share: number): number => Math.round(sorted[Math.floor(share * sorted.length)] ?? 0);
  return { created: times.length, failures, latencies: { p50: percentile(0.5), p99: percentile(0.99) } };
}

const ROLE = "arn:aws:iam::111122223333:role/load";

/** Returns a selector of the namespace that has the name of the selector. */
export function selector(name: string, arn: string): object {
  return {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name },
    spec: { arn, namespaceSelector: { names: [name] } },
  };
}
