import { spawn } from "node:child_process";
import { Agent } from "node:https";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "../../test/real/apiserver/cluster.ts";
import { quantile } from "../sidecar/load.ts";
import { processorMs } from "../sidecar/programs.ts";

const ATTACKER = path.join(import.meta.dirname, "attacker.ts");
const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/victim/buckets?dryRun=All";
const PAUSE_MS = 20;

/** The object of a user that an attacker slows down. */
export const SMALL_BUCKET = {
  apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { name: "small", namespace: "victim" },
  spec: { name: "small" },
};

/** A webhook that the API server calls. */
export interface Subject {
  readonly pid: number | undefined;
  /** Sends a small review straight to the webhook. */
  readonly review: () => Promise<unknown>;
}

interface Measured {
  /** The latencies, ascending. */
  readonly throughServerMs: Float64Array;
  readonly directMs: Float64Array;
  /** The number of large objects that the API server answered. */
  readonly large: number;
  /** The processor time that the API server and the webhook used. */
  readonly serverMs: number;
  readonly webhookMs: number;
}

/**
 * Creates small buckets in the API server, one after another, and concurrently sends small reviews straight to the
 * webhook. With `isHostile`, a tenant sends large objects to the API server meanwhile.
 */
export async function measure(
  cluster: Cluster, durationMs: number, subject: Subject | null, isHostile: boolean,
): Promise<Measured> {
  const agent = new Agent({ keepAlive: true });
  const through = (): Promise<unknown> => cluster.request("POST", BUCKETS, SMALL_BUCKET, { agent });
  const used = (): Promise<readonly number[]> => Promise.all([
    processorMs(cluster.pids[1]), subject === null ? 0 : processorMs(subject.pid),
  ]);
  const before = await used();
  const attacker = isHostile ? startAttacker(cluster) : null;
  const endMs = performance.now() + durationMs;
  const [throughServerMs, directMs] = await Promise.all([
    repeat(through, endMs), subject === null ? new Float64Array() : repeat(subject.review, endMs),
  ]);
  const [serverMs = 0, webhookMs = 0] = (await used()).map((value, i) => value - (before[i] ?? 0));
  agent.destroy();
  return { throughServerMs, directMs, serverMs, webhookMs, large: attacker === null ? 0 : await attacker.stop() };
}

/** The tenant is an admin, because the rights of a requester do not change the cost of a request. */
function startAttacker(cluster: Cluster): { readonly stop: () => Promise<number> } {
  const args = [ATTACKER, cluster.url, cluster.caFile, cluster.tokens.admin];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const output = text(child.stdout);
  return {
    stop: async () => {
      child.kill("SIGTERM");
      return Number(await output);
    },
  };
}

async function repeat(send: () => Promise<unknown>, endMs: number): Promise<Float64Array> {
  const latencies: number[] = [];
  while (performance.now() < endMs) {
    const startMs = performance.now();
    // oxlint-disable-next-line no-await-in-loop -- one request after another
    await send();
    latencies.push(performance.now() - startMs);
    // oxlint-disable-next-line no-await-in-loop -- a user, not a load
    await sleep(PAUSE_MS);
  }
  return Float64Array.from(latencies).toSorted();
}

/** Formats latencies as `p50 3 ms, p99 20 ms, max 31 ms`. */
export function formatLatencies(latencies: Float64Array): string {
  const at = (share: number): number => Math.round(quantile(latencies, share));
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms`;
}
