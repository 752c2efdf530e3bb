// `npm run bench:pods`: prints the memory and the CPU time of the Pods, idle and under load. Requires what the tests in
// test/cluster require.
import { setTimeout as sleep } from "node:timers/promises";
import { setTimeLimit } from "../../test/real/time-limit.ts";
import { startCluster, withNode } from "../../test/cluster/on-node.ts";
import { projectArchive } from "../../test/cluster/project-image.ts";
import { installWebhook, NAMESPACE, POD_LABELS } from "../../test/cluster/webhook/installed.ts";
import { measure, type Target } from "./measure.ts";
import { loadSidecar, sidecarTarget, startSidecarPod } from "./sidecar-pod.ts";
import { LOAD_NAMESPACE, loadWebhook } from "./webhook-load.ts";

const LIMIT_MS = 15 * 60_000;
const DURATION_MS = 60_000;
/** The time after the start in which V8 frees the memory that only the start needs, in ms. */
const SETTLE_MS = 15_000;

withNode("the memory and the CPU time of Pods", async (t, found) => {
  setTimeLimit(t, LIMIT_MS);
  const archive = projectArchive(t, found.programs);
  const cluster = await startCluster(t, found);
  await cluster.loadArchive(await archive);
  await installWebhook(t, cluster);
  await cluster.kubectl(["create", "namespace", LOAD_NAMESPACE]);
  const sidecarPod = await startSidecarPod(t, cluster);
  const webhooks = (await cluster.pods(NAMESPACE, POD_LABELS)).map((pod): Target => ({ pod, name: "webhook" }));
  const sidecar = sidecarTarget(sidecarPod);
  await sleep(SETTLE_MS);
  const run = async (title: string, targets: readonly Target[], body: () => Promise<string>): Promise<void> => {
    for (const line of await measure(cluster, title, targets, body)) t.comment(line);
  };
  await run("idle", [...webhooks, sidecar], idle);
  await run("webhook under load", webhooks, async () => loadWebhook(cluster, DURATION_MS));
  await run("sidecar under load", [sidecar], async () => loadSidecar(cluster, sidecarPod, DURATION_MS));
  await run("idle after the load", [...webhooks, sidecar], idle);
});

async function idle(): Promise<string> {
  return await sleep(DURATION_MS, "");
}
