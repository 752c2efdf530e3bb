import { t as root, type Test, test } from "tap";
import { readEnvironment } from "../environment.ts";
import { findAssets } from "./assets.ts";
import { type Cluster, type ClusterOptions, startCluster } from "./cluster.ts";

const BUILD_LIMIT_MS = 30 * 60_000;
const TEST_LIMIT_MS = 2 * 60_000;

/**
 * Registers one test that runs `body` on a cluster of its own: started before, stopped after whatever happens. Put a file's cases
 * into it as subtests, and one call into a file. Skipped in one line when there is no API server to start and none may be built.
 */
export function onCluster(name: string, body: (t: Test, cluster: Cluster) => Promise<void>, options: ClusterOptions = {}): void {
  test(name, async (t) => {
    limit(t, BUILD_LIMIT_MS);
    const found = await findAssets(readEnvironment());
    limit(t, performance.now() + TEST_LIMIT_MS);
    if (!found.found) {
      t.plan(0, found.reason);
      return;
    }
    const cluster = await startCluster(found.assets, options);
    t.teardown(() => cluster.stop());
    await body(t, cluster);
  });
}

/**
 * tap ends a file after 30 s by default, and only the root test tells its runner of another limit. At the end it holds the whole
 * time that a test took to the last limit set, so one set late counts from the start of the process.
 */
function limit(t: Test, limitMs: number): void {
  root.setTimeout(limitMs);
  t.setTimeout(limitMs);
}
