import { setTimeout as sleep } from "node:timers/promises";
import type { Pod, PodCluster } from "../../test/cluster/cluster.ts";
import type { PodMemory } from "../../test/cluster/node/cgroup.ts";

const SAMPLE_MS = 1_000;

/** A Pod, or one container of a Pod. */
export interface Target {
  readonly pod: Pod;
  /** The name of the container. */
  readonly name: string;
}

/** Returns lines with the memory and the CPU time of the targets while `body` runs, and with what `body` returns. */
export async function measure(
  cluster: PodCluster, title: string, targets: readonly Target[], body: () => Promise<string>,
): Promise<readonly string[]> {
  const before = await times(cluster, targets);
  const startMs = performance.now();
  const maxima = targets.map(() => 0);
  const done = new AbortController();
  const sampling = (async (): Promise<void> => {
    while (!done.signal.aborted) {
      // oxlint-disable-next-line no-await-in-loop -- one sample after another
      for (const [i, one] of (await memories(cluster, targets)).entries()) {
        maxima[i] = Math.max(maxima[i] ?? 0, one.workingSet);
      }
      // oxlint-disable-next-line no-await-in-loop -- one sample after another
      await sleep(SAMPLE_MS);
    }
  })();
  const result = await body();
  const durationMs = performance.now() - startMs;
  const [after, memory] = [await times(cluster, targets), await memories(cluster, targets)];
  done.abort();
  await sampling;
  const lines = targets.map(({ pod, name }, i) => {
    const cores = ((after[i] ?? 0) - (before[i] ?? 0)) / durationMs;
    return `  ${pod.name}/${name}: ${Math.round(cores * 1000)}m CPU, ${describe(memory[i], maxima[i] ?? 0)}`;
  });
  return [`${title}, ${Math.round(durationMs / 1000)} s${result === "" ? "" : `: ${result}`}`, ...lines];
}

async function times(cluster: PodCluster, targets: readonly Target[]): Promise<readonly number[]> {
  return await Promise.all(targets.map(({ pod, name }) => cluster.processorMs(pod, name)));
}

async function memories(cluster: PodCluster, targets: readonly Target[]): Promise<readonly PodMemory[]> {
  return await Promise.all(targets.map(({ pod, name }) => cluster.containerMemory(pod, name)));
}

function describe(memory: PodMemory | undefined, maximum: number): string {
  const { workingSet = 0, anonymous = 0, resident = 0 } = memory ?? {};
  const fields = { "working set": workingSet, "its maximum": maximum, anonymous, resident };
  return Object.entries(fields).map(([name, bytes]) => `${name} ${Math.round(bytes / 2 ** 20)} MiB`).join(", ");
}
