import { type Test, test } from "tap";
import { readEnvironment } from "../programs/environment.ts";
import { machineFault } from "../programs/packages.ts";
import { findPrograms } from "../real/find-programs.ts";
import { PodCluster } from "./cluster.ts";
import { type NodeOptions, startNode } from "./node/node.ts";
import { CLUSTER_PROGRAMS, clusterProgramsIn } from "./programs.ts";

/**
 * Registers a test that runs `body` with the programs of a node. Skips the test with a message if this machine cannot
 * run a node or a program is missing. With `CI=true`, missing programs are built, and an unfit machine fails the test.
 */
export function withNode(name: string, body: (t: Test, found: NodeOptions) => Promise<void>): void {
  test(name, async (t) => {
    const reason = await machineFault();
    if (reason !== null && readEnvironment().ci) throw new Error(reason);
    if (reason !== null) return t.plan(0, reason);
    const folders = await findPrograms(t, ...CLUSTER_PROGRAMS);
    if (folders !== null) await body(t, clusterProgramsIn(folders));
  });
}

/** Starts a cluster that runs Pods, and stops it when the test ends. Prints how long the start took. */
export async function startCluster(t: Test, found: Parameters<typeof startNode>[0]): Promise<PodCluster> {
  const startMs = performance.now();
  const node = await startNode(found);
  t.teardown(() => node.stop());
  t.comment(`the node was Ready after ${Math.round(performance.now() - startMs)} ms`);
  return new PodCluster(node);
}
