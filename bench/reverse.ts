import { setImmediate as turn } from "node:timers/promises";
import { runChecksPaced } from "../shared/decisions/checks/run.ts";
import { type DecisionSettings, decisionSettings } from "../shared/decisions/context.ts";
import { Inventory } from "../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../shared/decisions/kubernetes/json.ts";
import { finish } from "../shared/decisions/paced.ts";
import { selectingSelectors } from "../shared/decisions/resolution/resolve.ts";
import { readSettings } from "../shared/server/settings.ts";
import { inSlices } from "../shared/server/slices.ts";
import { randomFrom } from "./random.ts";
import type { Result } from "./result.ts";

const SEED = 20_260_801;
const SELECTORS = 10_000;
const NAMESPACES = 5_000;
const RESOURCES = 100_000;
const SERVICES = ["s3", "sqs", "sns", "ec2"];
const KINDS = ["Bucket", "Queue", "Topic", "Instance"];
const OWNER = "111122223333";

const SETTINGS: DecisionSettings = decisionSettings(readSettings("webhook", { cluster: true, tlsDir: "unused", controllerAccount: "777788889999" }, {}));

/** Two selectors a namespace, one by name and one by its team's label, of kinds that keep them apart; 20 resources a namespace. */
function buildCluster(): Inventory {
  const random = randomFrom(SEED);
  const objects: JsonObject[] = [];
  for (let i = 0; i < NAMESPACES; i++) {
    // One in a hundred namespaces is of the pilot: its label concerns 1% of the resources.
    objects.push({ apiVersion: "v1", kind: "Namespace", metadata: { name: `ns-${i}`, labels: { env: "prod", team: `t${i}`, ...(i % 100 === 0 && { pilot: "yes" }) } } });
  }
  for (let i = 0; i < SELECTORS; i++) {
    const namespace = i % NAMESPACES;
    const namespaceSelector = i < NAMESPACES ? { names: [`ns-${namespace}`] } : { labelSelector: { matchLabels: { env: "prod", team: `t${namespace}` } } };
    objects.push(selector(`s-${i}`, { namespaceSelector, resourceTypeSelector: [{ kind: i < NAMESPACES ? "Bucket" : "Queue" }] }));
  }
  for (let i = 0; i < RESOURCES; i++) {
    const service = Math.floor(random() * SERVICES.length);
    const tier = i % 100 === 0 ? "gold" : "none";
    objects.push({
      apiVersion: `${SERVICES[service] ?? ""}.services.k8s.aws/v1alpha1`, kind: KINDS[service],
      metadata: { name: `r-${i}`, namespace: `ns-${i % NAMESPACES}`, labels: { tier, "app.kubernetes.io/name": `app-${i % 500}` } },
      status: { ackResourceMetadata: { ownerAccountID: OWNER, arn: `arn:aws:s3:::r-${i}`, region: "eu-west-1" } },
    });
  }
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  inventory.apply(objects.map((object) => ({ type: "put", object })));
  return inventory;
}

function selector(name: string, parts: object): JsonObject {
  return { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name }, spec: { arn: `arn:aws:iam::${OWNER}:role/${name}`, ...parts } };
}

interface Change {
  readonly name: string;
  readonly object: JsonObject;
  readonly operation: "CREATE" | "DELETE";
}

const PILOT = { namespaceSelector: { labelSelector: { matchLabels: { env: "prod", pilot: "yes" } } } };
const GOLD = { resourceLabelSelector: { matchLabels: { tier: "gold" } } };
const OTHER_KINDS = { resourceTypeSelector: [{ kind: "Topic" }, { kind: "Instance" }] };
const FEW: readonly Change[] = [
  { name: "created by namespace label", object: selector("pilot", PILOT), operation: "CREATE" },
  { name: "created by resource label", object: selector("gold", GOLD), operation: "CREATE" },
  { name: "deleted by namespace label", object: selector("pilot", { ...PILOT, ...OTHER_KINDS }), operation: "DELETE" },
];
const ALL: readonly Change[] = [
  { name: "created over all", object: selector("all", { resourceTypeSelector: SERVICES.map((service) => ({ group: `${service}.services.k8s.aws` })) }), operation: "CREATE" },
  { name: "deleted from all", object: selector("all", OTHER_KINDS), operation: "DELETE" },
];

const ROUNDS = 200;

function input(inventory: Inventory, { object, operation }: Change): Parameters<typeof runChecksPaced>[0] {
  return { object, old: null, operation, requester: null, origin: "cluster", inventory };
}

/** The 99th percentile of the whole judgement of a change, in ms. */
function percentile(inventory: Inventory, change: Change): number {
  const durations = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    finish(runChecksPaced(input(inventory, change), SETTINGS));
    return performance.now() - start;
  }).toSorted((a, b) => a - b);
  return durations[Math.ceil(ROUNDS * 0.99) - 1] ?? Infinity;
}

/**
 * How long a change takes in slices, the median of several rounds, and its longest slice, that of the best round, in ms: one that the
 * code itself holds is in every round, one that another process took the processor from is not.
 */
async function sliced(inventory: Inventory, change: Change): Promise<{ readonly wholeMs: number; readonly sliceMs: number }> {
  const rounds: { wholeMs: number; sliceMs: number }[] = [];
  for (let round = 0; round < 21; round++) {
    const start = performance.now();
    let began = start;
    let sliceMs = 0;
    const pause = async (): Promise<void> => {
      sliceMs = Math.max(sliceMs, performance.now() - began);
      await turn();
      began = performance.now();
    };
    // oxlint-disable-next-line no-await-in-loop -- one at a time: rounds that run beside each other measure each other
    await inSlices(runChecksPaced(input(inventory, change), SETTINGS), { sliceMs: 10, now: () => performance.now(), pause, remainingMs: () => Infinity });
    rounds.push({ wholeMs: performance.now() - start, sliceMs: Math.max(sliceMs, performance.now() - began) });
  }
  return { wholeMs: median(rounds.map((one) => one.wholeMs)), sliceMs: Math.min(...rounds.map((one) => one.sliceMs)) };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Infinity;
}

/** What every change would cost that looked at each resource, with nothing but the selectors that select it. */
function scanMs(inventory: Inventory): number {
  const start = performance.now();
  for (const resource of inventory.resources.all()) selectingSelectors(inventory, resource);
  return performance.now() - start;
}

/** Reverse checks over 10,000 selectors, 5,000 namespaces and 100,000 resources, where a change concerns 1% of them, and all. */
export async function run(): Promise<readonly Result[]> {
  const inventory = buildCluster();
  scanMs(inventory);
  const scan = scanMs(inventory);
  const results: Result[] = [{ name: "each resource resolved once", value: scan, unit: "ms", target: null }];
  for (const change of FEW) {
    const value = percentile(inventory, change);
    results.push({ name: `1% concerned, ${change.name}: p99`, value, unit: "ms", target: 20 });
    results.push({ name: `1% concerned, ${change.name}: all resolved over it`, value: scan / value, unit: "x", target: null });
  }
  for (const change of ALL) {
    // oxlint-disable-next-line no-await-in-loop -- one at a time: changes that run beside each other measure each other
    const { wholeMs, sliceMs } = await sliced(inventory, change);
    results.push({ name: `all concerned, ${change.name}: the median`, value: wholeMs, unit: "ms", target: 1500 });
    results.push({ name: `all concerned, ${change.name}: its longest slice`, value: sliceMs, unit: "ms", target: 10 });
  }
  return results;
}
