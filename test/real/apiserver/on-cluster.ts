import { type Test, test } from "tap";
import { type SteadyClock, systemClock } from "../../../shared/core/clock.ts";
import { assetsIn, KUBERNETES } from "../../programs/kubernetes.ts";
import { findPrograms } from "../find-programs.ts";
import { type Cluster, type ClusterOptions, startCluster } from "./cluster.ts";

/**
 * Registers a test that starts a cluster, runs `body`, and stops the cluster. Call `onCluster` once in a file, and use
 * subtests, because the start of a cluster takes seconds. Skips the test if the API server is not built, unless
 * `CI=true`, which builds it.
 */
export function onCluster(
  name: string, body: (t: Test, cluster: Cluster) => Promise<void>, options: ClusterOptions = {},
): void {
  test(name, async (t) => {
    const folders = await findPrograms(t, KUBERNETES);
    if (folders === null) return;
    const cluster = await startCluster(assetsIn(folders[0]), options);
    t.teardown(() => cluster.stop());
    await body(t, cluster);
  });
}

/**
 * The time limits of requests, in ms. FAST_RETRY_CLOCK does not shorten these limits, because a loaded machine would
 * exceed them.
 */
const REQUEST_LIMITS_MS: ReadonlySet<number> = new Set([2_000, 2_200, 10_000]);

/**
 * A clock whose delays of less than 31 s, such as a backoff, take a twentieth of the time. Tests of retries are
 * therefore fast.
 */
export const FAST_RETRY_CLOCK: SteadyClock = {
  now: () => systemClock.now(),
  steady: () => systemClock.steady(),
  schedule: (delayMs, run) => {
    const isRetry = delayMs < 31_000 && !REQUEST_LIMITS_MS.has(delayMs);
    return systemClock.schedule(isRetry ? delayMs / 20 : delayMs, run);
  },
};
