import { spawn } from "node:child_process";
import { Agent } from "node:https";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "../../test/real/apiserver/cluster.ts";
import { quantile } from "../sidecar/load.ts";
import { processorMs } from "../sidecar/programs.ts";

const ATTACKER = path.join(import.meta.dirname, "attacker.ts");
const BUCKETS = "/apis/s3.services.k8s.aws/v1alpha1/namespaces/victim/buckets?dryRun=All";
const PAUSE_MS = 20;
const DURATION_MS = 10_000;
const LARGE_OBJECTS = 20;

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
  readonly largeObjects: number;
  /** The processor time that the API server and the webhook used. */
  readonly serverMs: number;
  readonly webhookMs: number;
}

/**
 * Creates small buckets in the API server, one after another, and concurrently sends small reviews straight to the
 * webhook, for 10 s. With `isHostile`, until the API server has answered 20 large objects of a tenant.
 */
export async function measure(
  cluster: Cluster, subject: Subject | null, isHostile: boolean,
): Promise<Measured> {
  const agent = new Agent({ keepAlive: true });
  const through = (): Promise<unknown> => cluster.request("POST", BUCKETS, SMALL_BUCKET, { agent });
  const used = (): Promise<readonly number[]> => Promise.all([
    processorMs(cluster.pids[1]), subject === null ? 0 : processorMs(subject.pid),
  ]);
  const before = await used();
  const endMs = performance.now() + DURATION_MS;
  const attacker = isHostile ? startAttacker(cluster) : null;
  const isDone = (): boolean => (
    attacker === null ? performance.now() >= endMs : attacker.answered() >= LARGE_OBJECTS
  );
  const [throughServerMs, directMs] = await Promise.all([
    repeat(through, isDone), subject === null ? new Float64Array() : repeat(subject.review, isDone),
  ]);
  const [serverMs = 0, webhookMs = 0] = (await used()).map((value, i) => value - (before[i] ?? 0));
  agent.destroy();
  attacker?.stop();
  return { throughServerMs, directMs, serverMs, webhookMs, largeObjects: attacker?.answered() ?? 0 };
}

/** The tenant is an admin, because the rights of a requester do not change the cost of a request. */
function startAttacker(cluster: Cluster): { readonly answered: () => number; readonly stop: () => void } {
  const args = [ATTACKER, cluster.url, cluster.caFile, cluster.tokens.admin];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let bytes = 0;
  child.stdout.on("data", (lines: Buffer) => (bytes += lines.length));
  return { answered: () => bytes, stop: () => void child.kill("SIGKILL") };
}

async function repeat(send: () => Promise<unknown>, isDone: () => boolean): Promise<Float64Array> {
  const latencies: number[] = [];
  while (!isDone()) {
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
