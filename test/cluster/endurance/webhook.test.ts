import { setTimeout as pause } from "node:timers/promises";
import type { Test } from "tap";
import { enduranceMinutes } from "../../programs/environment.ts";
import { until } from "../../real/apiserver/until.ts";
import { setTimeLimit } from "../../real/time-limit.ts";
import type { Pod, PodCluster } from "../cluster.ts";
import { NODE } from "../node/components.ts";
import { startCluster, withNode } from "../on-node.ts";
import { projectArchive } from "../project-image.ts";
import { DEPLOYMENT, installWebhook, NAMESPACE, POD_LABELS } from "../webhook/installed.ts";
import { selector } from "../webhook/selector.ts";
import { AdmissionLoad, LOAD_ROLE } from "./admission-load.ts";

/** The numbers of `npm run endurance` and of CI. */
const LONG = { restarts: 20, partitionMs: 5 * 60_000, admissions: 80_000 } as const;
const SHORT = { restarts: 2, partitionMs: 15_000, admissions: 1_000 } as const;
type Size = typeof LONG | typeof SHORT;

const TEST_LIMIT_MS = 5 * 60_000;
const API_PORT = "6443";
const DRAIN_SECONDS = 10;

withNode("two webhook replicas lose no admission under load", async (t, found) => {
  const minutes = enduranceMinutes();
  const size = minutes === null ? SHORT : LONG;
  setTimeLimit(t, TEST_LIMIT_MS + (minutes ?? 0) * 60_000);
  const archive = projectArchive(t, found.programs);
  // The API server compacts etcd all the time, so that a watch cannot continue after a partition.
  const cluster = await startCluster(t, { ...found, apiserverFlags: ["--etcd-compaction-interval=10s"] });
  await cluster.loadArchive(await archive);
  await installWebhook(t, cluster);
  const load = await AdmissionLoad.start(cluster);
  const counts = await FailedCalls.start(cluster);
  for (const [name, fault] of FAULTS) {
    await t.test(name, async (tt) => {
      await fault(tt, cluster, { size, counts });
      tt.same(load.failures, []);
    });
  }
  await until(async () => load.answered >= size.admissions, (minutes ?? 1) * 60_000);
  await load.stop();
  await counts.read();
  t.ok(load.answered >= size.admissions, `${load.answered} changes`);
  t.same(load.failures, []);
  t.equal(counts.total, 0, "the API server admitted no object without a response of the webhook");
  report(t, load);
});

interface Context {
  readonly size: Size;
  readonly counts: FailedCalls;
}

const FAULTS: readonly (readonly [string, (t: Test, cluster: PodCluster, context: Context) => Promise<void>])[] = [
  ["during rolling restarts", restarts],
  ["while the node is drained", drains],
  ["while a replica is partitioned from the API server", partitions],
  ["after a crash of the API server", restartsApiserver],
];

async function restarts(t: Test, cluster: PodCluster, { size }: Context): Promise<void> {
  const before = await runningPods(cluster);
  for (let restart = 0; restart < size.restarts; restart++) {
    await cluster.kubectl(["rollout", "restart", `deployment/${DEPLOYMENT}`, "-n", NAMESPACE]);
    await cluster.untilRolledOut(NAMESPACE, DEPLOYMENT);
  }
  const uids = new Set(before.map(({ uid }) => uid));
  t.notOk((await runningPods(cluster)).some(({ uid }) => uids.has(uid)), "all Pods are new");
}

/** The cluster has no other node. So the PodDisruptionBudget stops the drain after the first replica. */
async function drains(t: Test, cluster: PodCluster): Promise<void> {
  const flags = ["--force", "--delete-emptydir-data", `--pod-selector=${POD_LABELS}`, `--timeout=${DRAIN_SECONDS}s`];
  const { code, stderr } = await cluster.api.kubectl(["drain", NODE, ...flags]);
  t.equal(code, 1);
  t.match(stderr, "Cannot evict pod as it would violate the pod's disruption budget");
  t.equal((await runningPods(cluster)).filter(({ isReady }) => isReady).length, 1, "one replica serves");
  await cluster.kubectl(["uncordon", NODE]);
  await cluster.untilRolledOut(NAMESPACE, DEPLOYMENT);
}

/** Drops the packets between a replica and the API server, except for those of calls of the replica. */
async function partitions(t: Test, cluster: PodCluster, { size }: Context): Promise<void> {
  const [pod] = await runningPods(cluster);
  if (pod === undefined) throw new Error("no replica is running");
  const rules = [
    ["INPUT", "-s", pod.address, "-p", "tcp", "--dport", API_PORT, "-j", "DROP"],
    ["OUTPUT", "-d", pod.address, "-p", "tcp", "--sport", API_PORT, "-j", "DROP"],
  ];
  for (const rule of rules) await cluster.runOnNode("iptables", ["-I", ...rule]);
  await cluster.apply([selector("during-partition", LOAD_ROLE)]);
  await pause(size.partitionMs);
  t.not(await countSelectors(cluster, pod), await countStored(cluster), "the replica does not read the new selector");
  for (const rule of rules) await cluster.runOnNode("iptables", ["-D", ...rule]);
  await untilCurrent(t, cluster, [pod]);
}

async function restartsApiserver(t: Test, cluster: PodCluster, { counts }: Context): Promise<void> {
  await counts.read();
  await cluster.restartApiserver();
  counts.reset();
  await cluster.apply([selector("after-crash", LOAD_ROLE)]);
  await untilCurrent(t, cluster, await runningPods(cluster));
}

/** Waits until the replicas have read all stored selectors. */
async function untilCurrent(t: Test, cluster: PodCluster, pods: readonly Pod[]): Promise<void> {
  const startMs = performance.now();
  const stored = await countStored(cluster);
  const areCurrent = async (): Promise<boolean> => (
    (await Promise.all(pods.map((pod) => countSelectors(cluster, pod)))).every((count) => count === stored)
  );
  t.ok(await until(areCurrent), `the inventory contains ${stored} selectors`);
  t.comment(`current after ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
}

async function countStored(cluster: PodCluster): Promise<number> {
  return (await cluster.kubectl(["get", "iamroleselectors", "-o", "name"])).trim().split("\n").length;
}

/** Returns the number of selectors in the inventory of a replica, or null if the replica does not answer. */
async function countSelectors(cluster: PodCluster, { name }: Pod): Promise<number | null> {
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${name}:9444/proxy/metrics`;
  const { status, body } = await cluster.api.request("GET", path);
  const [, count] = /^ack_role_resolver_inventory_selectors (\d+)$/m.exec(String(body)) ?? [];
  return status === 200 && count !== undefined ? Number(count) : null;
}

async function runningPods(cluster: PodCluster): Promise<readonly Pod[]> {
  return (await cluster.pods(NAMESPACE, POD_LABELS)).filter(({ isTerminating }) => !isTerminating);
}

/** The API server's own counts of webhook calls that failed. A restart of the API server resets them. */
class FailedCalls {
  total = 0;
  #last = 0;
  readonly #cluster: PodCluster;

  private constructor(cluster: PodCluster) {
    this.#cluster = cluster;
  }

  /** Does not count the calls that failed so far, while the webhook was installed. */
  static async start(cluster: PodCluster): Promise<FailedCalls> {
    const counts = new FailedCalls(cluster);
    await counts.read();
    counts.total = 0;
    return counts;
  }

  async read(): Promise<void> {
    const { body } = await this.#cluster.api.request("GET", "/metrics");
    const lines = String(body).split("\n").filter((line) => FAILED_CALL.test(line));
    const now = lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    this.total += now - this.#last;
    this.#last = now;
  }

  reset(): void {
    this.#last = 0;
  }
}

const FAILED_CALL = new RegExp(
  "^apiserver_admission_webhook_(fail_open_count\\{|rejection_count\\{.*error_type=\"(calling_webhook_error|"
    + "apiserver_internal_error)\")",
);

function report(t: Test, { answered, unanswered, repeated, latenciesMs }: AdmissionLoad): void {
  const sorted = latenciesMs.toSorted((a, b) => a - b);
  const percentile = (share: number): number => Math.round(sorted[Math.floor(share * sorted.length)] ?? 0);
  t.comment(`${answered} changes; ${unanswered} retried without a response of the API server; `
    + `${repeated} repeated after Retry-After; p50 ${percentile(0.5)} ms, p99 ${percentile(0.99)} ms`);
}
