import { type Test, test } from "tap";
import { type Assets, findAssets } from "../real/apiserver/assets.ts";
import { readEnvironment } from "../real/environment.ts";
import { BUILD_LIMIT_MS, setTimeLimit } from "../real/time-limit.ts";
import { PodCluster } from "./cluster.ts";
import { startNode } from "./node/node.ts";
import { machineFault } from "./packages.ts";
import { findNodePrograms, type NodePrograms } from "./programs.ts";


/** The programs of a cluster with Pods. If the tests cannot run here, the reason why they are skipped, with the fix. */
type FoundNode =
  | { readonly found: true; readonly assets: Assets; readonly programs: NodePrograms }
  | { readonly found: false; readonly reason: string };

/** Finds what a node needs. With `CI=true`, rejects if anything is missing that cannot be built. */
async function findNode(): Promise<FoundNode> {
  const environment = readEnvironment();
  const reason = await machineFault();
  if (reason !== null && environment.ci) throw new Error(reason);
  if (reason !== null) return { found: false, reason };
  const assets = await findAssets(environment);
  if (!assets.found) return assets;
  const programs = await findNodePrograms(environment);
  return programs.found ? { found: true, assets: assets.assets, programs: programs.programs } : programs;
}

/**
 * Registers a test that runs `body` with a found node, or skips the test with a message if this machine cannot run a
 * node.
 */
export function withNode(
  name: string, body: (t: Test, found: Extract<FoundNode, { readonly found: true }>) => Promise<void>,
): void {
  test(name, async (t) => {
    setTimeLimit(t, BUILD_LIMIT_MS);
    const found = await findNode();
    setTimeLimit(t);
    if (found.found) await body(t, found);
    else t.plan(0, found.reason);
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
