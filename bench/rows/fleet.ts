import { spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { ACK_CRDS } from "../../test/fixtures/ack-crds.ts";
import { ACK_SELECTOR_CRD } from "../../test/fixtures/ack-selector-crd.ts";
import type { Cluster } from "../../test/real/apiserver/cluster.ts";
import { apply, SELECTORS } from "../../test/real/webhook/installed-webhook.ts";
import { create, grant, RBAC } from "../../test/real/webhook/requests.ts";
import { namespaceObject, selectorObject } from "../../test/shared/objects.ts";
import { startAPIServer } from "../apiserver/api-server.ts";
import { difference, readings } from "../apiserver/readings.ts";
import { single } from "../figure.ts";
import { bundle, residentMB, stop } from "../programs.ts";
import type { Row } from "../row.ts";
import type { Stage } from "../stage.ts";
import { roleOf, SETTLE_MS, startSidecar } from "./sidecar.ts";

const SIZE = { sidecars: 300, selectors: 1_000, changes: 20 };
const QUICK_SIZE = { sidecars: 3, selectors: 5, changes: 2 };
/** The number of objects that one `kubectl apply` sends. */
const BATCH = 250;

/** Shows what the sidecars of many controllers cost the API server, when all start at once, and for each change. */
export const FLEET_ROW: Row = {
  name: "sidecar-fleet", title: "300 sidecars that read 1,000 selectors and namespaces from an API server",
  measure: async (stage) => {
    const { sidecars, selectors, changes } = stage.isQuick ? QUICK_SIZE : SIZE;
    const cluster = await startAPIServer(stage);
    await fill(cluster, selectors);
    const access = ["--cluster", "--kubeconfig", cluster.kubeconfig, "--context", "controller"];
    const one = await startSidecar(stage, access);
    await sleep(stage.size(SETTLE_MS, 0));
    const oneMB = await residentMB(one);
    await stop(one);
    const before = await readings(cluster);
    const { loadedSeconds, untilReceived, end } = await startFleet(stage, cluster, sidecars);
    const loaded = await readings(cluster);
    const receivedMs: number[] = [];
    for (let i = 0; i < changes; i++) {
      const startMs = performance.now();
      // oxlint-disable-next-line no-await-in-loop -- one change at a time
      await Promise.all([create(cluster, SELECTORS, selectorOf(selectors + i)), untilReceived()]);
      receivedMs.push(performance.now() - startMs);
    }
    const starts = difference(before, loaded);
    const received = difference(loaded, await readings(cluster));
    end();
    await cluster.stop();
    return [
      single("until all have loaded", loadedSeconds, "s"),
      { name: "from a new selector until all have received it", unit: "ms", ours: receivedMs },
      single("processor time of the API server and etcd per start", starts.processorMs / sidecars, "ms"),
      single("processor time of the API server and etcd per new selector", received.processorMs / changes, "ms"),
      single("memory of a sidecar that reads this cluster", oneMB, "MB"),
      single("requests per start", starts.requests / sidecars, "requests"),
      single("delay by priority and fairness per start", starts.queuedMs / sidecars, "ms"),
      single("requests rejected by priority and fairness, all starts", starts.rejected, "requests"),
    ];
  },
};

interface Fleet {
  /** The time from the start until all sidecars have loaded the cluster, in s. */
  readonly loadedSeconds: number;
  /** Resolves when all sidecars have received one more selector. */
  readonly untilReceived: () => Promise<void>;
  readonly end: () => void;
}

/** Starts all sidecars at once. Resolves when they have loaded the cluster. */
async function startFleet(stage: Stage, { url, caFile, tokens }: Cluster, sidecars: number): Promise<Fleet> {
  const argv = [await bundle(stage, "scale/fleet"), url, caFile, tokens.admin, String(sidecars)];
  const startMs = performance.now();
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
  const end = (): boolean => child.kill("SIGKILL");
  stage.teardown(end);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const until = async (expected: string): Promise<void> => {
    const line = await lines.next();
    if (line.value !== expected) throw new Error(`the sidecars ended before all had ${expected}`);
  };
  await until("loaded");
  return { loadedSeconds: (performance.now() - startMs) / 1_000, untilReceived: () => until("received"), end };
}

function selectorOf(i: number): object {
  return selectorObject(`s-${i}`, { arn: roleOf(i), namespaceSelector: { names: [`team-${i}`] } });
}

async function fill(cluster: Cluster, count: number): Promise<void> {
  await cluster.installCRDs([ACK_SELECTOR_CRD, ...ACK_CRDS]);
  const rules = [
    ["", "namespaces"], ["services.k8s.aws", "iamroleselectors"], ["apiextensions.k8s.io", "customresourcedefinitions"],
  ].map(([group, resource]) => ({ apiGroups: [group], resources: [resource], verbs: ["list", "watch"] }));
  const group = { apiGroup: RBAC, kind: "Group", name: "system:serviceaccounts:ack-system" };
  await apply(cluster, grant("sidecars", rules, [group]));
  for (let start = 0; start < count; start += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, count - start) }, (_, i) => start + i);
    // oxlint-disable-next-line no-await-in-loop -- one batch after another
    await apply(cluster, numbers.flatMap((i) => [namespaceObject(`team-${i}`), selectorOf(i)]));
  }
}
