import { INVENTORY_KINDS } from "../../shared/kinds.ts";
import { resolve } from "../../shared/core/resolve.ts";
import { Inventory } from "../../shared/core/inventory.ts";
import { queryOf, type ResourceQuery } from "../../shared/core/ack-resource.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import { randomFrom } from "../random.ts";
import { atMost, single } from "../figure.ts";
import { inRounds, type Row } from "../row.ts";
import { SETTINGS } from "./reverse.ts";

const SEED = 20_260_801;
const CHANGES = 200;
const GROUPS = ["s3.services.k8s.aws", "sqs.services.k8s.aws", "sns.services.k8s.aws", "ec2.services.k8s.aws"];
const KINDS = ["Bucket", "Queue", "Topic", "Instance"];
/** A cluster in which the number of namespaces equals the number of selectors. */
interface Cluster {
  readonly inventory: Inventory;
  readonly queries: readonly ResourceQuery[];
  readonly loadMs: number;
}

function labelsOf(i: number): Readonly<Record<string, string>> {
  return { env: "prod", team: `t${Math.floor(i / 2)}` };
}

function selectorAt(i: number, size: number, role: string): JsonObject {
  const namespaceSelector = i % 2 === 0
    ? { names: [`ns-${i}`, `ns-${(i + 1) % size}`] }
    : { labelSelector: { matchLabels: labelsOf(i) } };
  const random = randomFrom(i);
  const pick = (items: readonly string[]): string => items[Math.floor(random() * items.length)] ?? "";
  const resourceTypeSelector = [{ group: pick(GROUPS), version: "", kind: pick(KINDS) }];
  return {
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector",
    metadata: { name: `s-${i}`, resourceVersion: `${i}-${role}` },
    spec: { arn: `arn:aws:iam::${String(100_000_000_000 + i)}:role/${role}`, namespaceSelector, resourceTypeSelector },
  };
}

/**
 * Builds a cluster. Half of the selectors select one or two namespaces by name. The other selectors match a team label
 * and a label that every namespace has. At most four selectors can match in one namespace. The resources of the queries
 * are in random namespaces.
 */
function buildCluster(size: number): Cluster {
  const random = randomFrom(SEED);
  const pick = (items: readonly string[]): string => items[Math.floor(random() * items.length)] ?? "";
  const objects: JsonObject[] = [];
  for (let i = 0; i < size; i++) {
    objects.push({ apiVersion: "v1", kind: "Namespace", metadata: { name: `ns-${i}`, labels: labelsOf(i) } });
    objects.push(selectorAt(i, size, "old"));
  }
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" }, INVENTORY_KINDS);
  const start = performance.now();
  inventory.apply(objects.map((object) => ({ type: "put", object })));
  const loadMs = performance.now() - start;
  const queries = Array.from({ length: 4096 }, () => queryOf({
    apiVersion: `${pick(GROUPS)}/v1alpha1`, kind: pick(KINDS),
    metadata: { name: "r", namespace: `ns-${Math.floor(random() * size)}` },
  }, "default"));
  return { inventory, queries, loadMs };
}

/** Returns the mean time of one query, in us. */
function meanUs(work: (query: ResourceQuery) => unknown, queries: readonly ResourceQuery[]): number {
  const start = performance.now();
  for (const query of queries) work(query);
  return (performance.now() - start) * 1000 / queries.length;
}

/** Gives a selector another role, and returns the mean time of one change, in us. */
function changeUs(inventory: Inventory, size: number): number {
  const changes = Array.from({ length: CHANGES }, (_, i) => (
    { type: "put", object: selectorAt(i * 7 % size, size, "new") } as const
  ));
  const start = performance.now();
  for (const change of changes) inventory.apply([change]);
  return (performance.now() - start) * 1000 / CHANGES;
}

export const SELECTORS_ROW: Row = {
  name: "selector-change-100000", title: "inventory of 100,000 selectors: one change, build, and resolving a resource",
  measure: async (stage) => {
    const size = stage.size(100_000, 1_000);
    const builds = Array.from({ length: stage.size(3, 1) }, () => buildCluster(size));
    const { inventory, queries } = builds.at(-1) ?? buildCluster(size);
    const resolveUs = (): number => meanUs((query) => resolve(inventory, query, SETTINGS), queries);
    const first = resolveUs();
    const [changes = [], resolved = []] = await inRounds(
      5, [async () => changeUs(inventory, size), async () => resolveUs()],
    );
    return [
      { name: "change of one selector", unit: "us", ours: changes, goal: atMost(100, "value") },
      { name: "full build", unit: "ms", ours: builds.map(({ loadMs }) => loadMs), goal: atMost(1_500, "value") },
      { name: "resolve a resource", unit: "us", ours: resolved, goal: atMost(3, "value") },
      single("resolve the first resource of a namespace", first, "us"),
    ];
  },
};
