import { Agent } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import type { PodCluster } from "../../test/cluster/cluster.ts";
import { selector } from "../../test/cluster/webhook/selector.ts";
import { SELECTORS } from "../../test/real/webhook/installed-webhook.ts";
import { quantile } from "../figure.ts";

/** The namespace of the buckets. It must exist. */
export const LOAD_NAMESPACE = "loaded";
const BUCKETS = `/apis/s3.services.k8s.aws/v1alpha1/namespaces/${LOAD_NAMESPACE}/buckets`;
const ROLE = "arn:aws:iam::111122223333:role/loaded";
/** The API server calls the webhook twice for a creation, and once for a deletion. */
const REVIEWS_PER_PAIR = 3;
const REVIEWS_PER_SECOND = 100;

/** Creates and deletes selectors and buckets. Returns the number of reviews, and the latency of the requests. */
export async function loadWebhook({ api }: PodCluster, durationMs: number): Promise<string> {
  const agent = new Agent({ keepAlive: true });
  const latencies: number[] = [];
  let failed = 0;
  const send = async (method: string, path: string, body?: object): Promise<void> => {
    const startMs = performance.now();
    const { status } = await api.request(method, path, body, { agent });
    latencies.push(performance.now() - startMs);
    if (status >= 300) failed++;
  };
  const pair = async (name: string, isSelector: boolean): Promise<void> => {
    const bucket = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name }, spec: {} };
    const path = isSelector ? SELECTORS : BUCKETS;
    await send("POST", path, isSelector ? selector(name, ROLE) : bucket);
    await send("DELETE", `${path}/${name}`);
  };
  const pairs = Math.round((durationMs / 1000) * (REVIEWS_PER_SECOND / REVIEWS_PER_PAIR));
  const startMs = performance.now();
  const running = Array.from({ length: pairs }, async (_, i) => {
    await sleep(Math.max(0, startMs + (i * durationMs) / pairs - performance.now()));
    await pair(`loaded-${i}`, i % 2 === 0);
  });
  await Promise.all(running);
  agent.destroy();
  const sorted = Float64Array.from(latencies).toSorted();
  const perSecond = Math.round((pairs * REVIEWS_PER_PAIR * 1000) / (performance.now() - startMs));
  return `${perSecond} reviews/s, ${failed} of ${latencies.length} requests failed, `
    + `p50 ${Math.round(quantile(sorted, 0.5))} ms, p99 ${Math.round(quantile(sorted, 0.99))} ms`;
}
