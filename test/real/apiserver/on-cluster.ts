import { test } from "tap";
import type { Test } from "tap";
import { readEnvironment } from "../environment.ts";
import { findAssets } from "./assets.ts";
import { startCluster } from "./cluster.ts";
import type { Cluster, ClusterOptions } from "./cluster.ts";

/** For a build (with `CI=true` and an empty cache) and what follows it. */
const LIMIT_MS = 30 * 60_000;

/**
 * Registers one test that runs `body` on a cluster of its own: started before, stopped after whatever happens. Put a file's cases
 * into it as subtests. Skipped in one line when there is no API server to start and none may be built.
 */
export function onCluster(name: string, body: (t: Test, cluster: Cluster) => Promise<void>, options: ClusterOptions = {}): void {
  test(name, async (t) => {
    t.setTimeout(LIMIT_MS);
    const found = await findAssets(readEnvironment());
    if (!found.found) {
      t.plan(0, found.reason);
      return;
    }
    const cluster = await startCluster(found.assets, options);
    t.teardown(() => cluster.stop());
    await body(t, cluster);
  });
}
