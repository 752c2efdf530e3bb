import { runChecksPaced } from "../../shared/judges.ts";
import { INVENTORY_KINDS } from "../../shared/kinds.ts";
import { RESOURCES } from "../../shared/ack/resources.ts";
import { setImmediate as turn } from "node:timers/promises";
import { type DecisionSettings, decisionSettings } from "../../shared/core/context.ts";
import { Inventory } from "../../shared/core/inventory.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import { drain } from "../../shared/formats/paced.ts";
import { selectingSelectors } from "../../shared/ack/selection.ts";
import { readSettings } from "../../shared/server/read-settings.ts";
import { runInSlices } from "../../shared/sources/slices.ts";
import { randomFrom } from "../random.ts";
import { atMost, type Figure, median } from "../figure.ts";
import type { Row } from "../row.ts";

const SEED = 20_260_801;
const SELECTOR_COUNT = 10_000;
const NAMESPACES = 5_000;
const RESOURCE_COUNT = 100_000;
const SERVICES = ["s3", "sqs", "sns", "ec2"];
const KINDS = ["Bucket", "Queue", "Topic", "Instance"];
const OWNER = "111122223333";

const FLAGS = { cluster: true, tlsDir: "unused", controllerAccount: "777788889999" } as const;
export const SETTINGS: DecisionSettings = decisionSettings(readSettings("webhook", FLAGS, {}));

/**
 * Returns an inventory in which each namespace has 20 resources. Two selectors match each namespace: one selector
 * matches the name, and the other selector, for a different kind, matches the team label.
 */
function buildCluster(): Inventory {
  const random = randomFrom(SEED);
  const objects: JsonObject[] = [];
  for (let i = 0; i < NAMESPACES; i++) {
    // 1% of the namespaces have the pilot label, so that a selector for this label affects 1% of the resources.
    const labels = { env: "prod", team: `t${i}`, ...(i % 100 === 0 && { pilot: "yes" }) };
    objects.push({ apiVersion: "v1", kind: "Namespace", metadata: { name: `ns-${i}`, labels } });
  }
  for (let i = 0; i < SELECTOR_COUNT; i++) {
    const namespace = i % NAMESPACES;
    const namespaceSelector = i < NAMESPACES
      ? { names: [`ns-${namespace}`] }
      : { labelSelector: { matchLabels: { env: "prod", team: `t${namespace}` } } };
    const resourceTypeSelector = [{ kind: i < NAMESPACES ? "Bucket" : "Queue" }];
    objects.push(selector(`s-${i}`, { namespaceSelector, resourceTypeSelector }));
  }
  for (let i = 0; i < RESOURCE_COUNT; i++) {
    const service = Math.floor(random() * SERVICES.length);
    const tier = i % 100 === 0 ? "gold" : "none";
    objects.push({
      apiVersion: `${SERVICES[service] ?? ""}.services.k8s.aws/v1alpha1`, kind: KINDS[service],
      metadata: {
        name: `r-${i}`, namespace: `ns-${i % NAMESPACES}`,
        labels: { tier, "app.kubernetes.io/name": `app-${i % 500}` },
      },
      status: { ackResourceMetadata: { ownerAccountID: OWNER, arn: `arn:aws:s3:::r-${i}`, region: "eu-west-1" } },
    });
  }
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" }, INVENTORY_KINDS);
  inventory.apply(objects.map((object) => ({ type: "put", object })));
  return inventory;
}

function selector(name: string, parts: object): JsonObject {
  const spec = { arn: `arn:aws:iam::${OWNER}:role/${name}`, ...parts };
  return { apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name }, spec };
}

interface Change {
  readonly name: string;
  readonly object: JsonObject;
  readonly operation: "CREATE" | "DELETE";
}

const PILOT = { namespaceSelector: { labelSelector: { matchLabels: { env: "prod", pilot: "yes" } } } };
const GOLD = { resourceLabelSelector: { matchLabels: { tier: "gold" } } };
const OTHER_KINDS = { resourceTypeSelector: [{ kind: "Topic" }, { kind: "Instance" }] };
const ALL_GROUPS = { resourceTypeSelector: SERVICES.map((service) => ({ group: `${service}.services.k8s.aws` })) };
const FEW: readonly Change[] = [
  { name: "created by namespace label", object: selector("pilot", PILOT), operation: "CREATE" },
  { name: "created by resource label", object: selector("gold", GOLD), operation: "CREATE" },
  { name: "deleted by namespace label", object: selector("pilot", { ...PILOT, ...OTHER_KINDS }), operation: "DELETE" },
];
const ALL: readonly Change[] = [
  { name: "created for all groups", object: selector("all", ALL_GROUPS), operation: "CREATE" },
  { name: "deleted for all namespaces", object: selector("all", OTHER_KINDS), operation: "DELETE" },
];

interface SlicedRun {
  readonly wholeMs: number;
  readonly sliceMs: number;
}

const ROUNDS = 200;

function input(inventory: Inventory, { object, operation }: Change): Parameters<typeof runChecksPaced>[0] {
  return { object, old: null, operation, requester: null, origin: "cluster", inventory };
}

/** Returns the time to run all checks of a change, in ms: the 99th percentile of 200 rounds. */
function percentile(inventory: Inventory, change: Change): number {
  const durations = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    drain(runChecksPaced(input(inventory, change), SETTINGS));
    return performance.now() - start;
  }).toSorted((a, b) => a - b);
  return durations[Math.ceil(ROUNDS * 0.99) - 1] ?? Infinity;
}

/**
 * Runs the checks of a change in slices. Returns the median of the total times and the minimum of the longest slices,
 * in ms. The minimum excludes rounds in which another process interrupted a slice.
 */
async function sliced(inventory: Inventory, change: Change): Promise<SlicedRun> {
  const rounds: SlicedRun[] = [];
  for (let round = 0; round < 21; round++) {
    const start = performance.now();
    let began = start;
    let sliceMs = 0;
    const pause = async (): Promise<void> => {
      sliceMs = Math.max(sliceMs, performance.now() - began);
      await turn();
      began = performance.now();
    };
    // oxlint-disable-next-line no-await-in-loop -- one at a time: concurrent rounds affect each other
    await runInSlices(runChecksPaced(input(inventory, change), SETTINGS), {
      sliceMs: 10, clock: { steady: () => performance.now() }, pause, remainingMs: () => Infinity,
    });
    rounds.push({ wholeMs: performance.now() - start, sliceMs: Math.max(sliceMs, performance.now() - began) });
  }
  return { wholeMs: median(rounds.map((one) => one.wholeMs)), sliceMs: Math.min(...rounds.map((one) => one.sliceMs)) };
}

/** Returns the time to resolve every resource, in ms. A check that does not use an index would take this time. */
function scanMs(inventory: Inventory): number {
  const start = performance.now();
  for (const resource of inventory.of(RESOURCES).all()) selectingSelectors(inventory, resource);
  return performance.now() - start;
}

/** Measures the checks of selector changes that affect 1% or all of the resources. */
async function measure(): Promise<readonly Figure[]> {
  const inventory = buildCluster();
  scanMs(inventory);
  const scan = scanMs(inventory);
  const figures: Figure[] = FEW.map((change) => ({
    name: `1% affected, ${change.name}: p99, beside resolving every resource`, unit: "ms",
    ours: [percentile(inventory, change)], floor: [scan], goal: atMost(20, "value"),
  }));
  for (const change of ALL) {
    // oxlint-disable-next-line no-await-in-loop -- one at a time: concurrent changes affect each other
    const { wholeMs, sliceMs } = await sliced(inventory, change);
    const all = `all affected, ${change.name}`;
    figures.push(
      {
        name: `${all}, beside resolving every resource`, unit: "ms", ours: [wholeMs], floor: [scan],
        goal: atMost(1_500, "value"),
      },
      { name: `${all}: longest slice`, unit: "ms", ours: [sliceMs], goal: atMost(10, "value") },
    );
  }
  return figures;
}

export const REVERSE_ROW: Row = {
  name: "selector-checks", title: "checks of a change among 10,000 selectors, 5,000 namespaces and 100,000 resources",
  measure,
};
