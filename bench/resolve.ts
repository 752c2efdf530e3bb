import type { DecisionSettings } from "../shared/decisions/context.ts";
import { Inventory } from "../shared/decisions/inventory/inventory.ts";
import { queryOf, type ResourceQuery } from "../shared/decisions/kubernetes/ack-resource.ts";
import type { JsonObject } from "../shared/decisions/kubernetes/json.ts";
import { resolve } from "../shared/decisions/resolution/resolve.ts";
import {
  type EffectiveSelector, selectsNamespace, selectsWithinNamespace,
} from "../shared/decisions/selectors/effective.ts";
import { randomFrom } from "./random.ts";
import type { Result } from "./result.ts";

const SEED = 20_260_801;
const GROUPS = ["s3.services.k8s.aws", "sqs.services.k8s.aws", "sns.services.k8s.aws", "ec2.services.k8s.aws"];
const KINDS = ["Bucket", "Queue", "Topic", "Instance"];
const SETTINGS: DecisionSettings = {
  mode: "selectors", teamLevelCARM: false, serviceLevelCARM: false, ackSystemNamespace: "ack-system",
  allowedAccounts: [], controllerServiceAccounts: [], tenantLabels: [], allowedEndpointHosts: [], watchNamespaces: [], watchSelector: null, runtime: "ack", region: "eu-west-1", controllerAccount: "111122223333", controllerRole: null,
  checkSeverities: new Map(), waiverUsers: [], waiverGroups: [],
};

/** One size of cluster, as many namespaces as selectors. */
interface Cluster {
  readonly inventory: Inventory;
  readonly queries: readonly ResourceQuery[];
  readonly loadMs: number;
}

/**
 * Half of the selectors name one or two namespaces, half select a team's label beside one that every namespace carries; at most 4 of
 * them can select in any namespace. The questions go over namespaces in no order, and every fourth asks for one never asked before.
 */
function buildCluster(size: number): Cluster {
  const random = randomFrom(SEED);
  const pick = (items: readonly string[]): string => items[Math.floor(random() * items.length)] ?? "";
  const objects: JsonObject[] = [];
  for (let i = 0; i < size; i++) {
    objects.push({ apiVersion: "v1", kind: "Namespace", metadata: { name: `ns-${i}`, labels: { env: "prod", team: `t${Math.floor(i / 2)}` } } });
    const namespaceSelector = i % 2 === 0
      ? { names: [`ns-${i}`, `ns-${(i + 1) % size}`] }
      : { labelSelector: { matchLabels: { env: "prod", team: `t${Math.floor(i / 2)}` } } };
    const resourceTypeSelector = [{ group: pick(GROUPS), version: "", kind: pick(KINDS) }];
    objects.push({
      apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name: `s-${i}`, resourceVersion: String(i) },
      spec: { arn: `arn:aws:iam::${String(100_000_000_000 + i)}:role/r`, namespaceSelector, resourceTypeSelector },
    });
  }
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  const start = performance.now();
  inventory.apply(objects.map((object) => ({ type: "put", object })));
  const loadMs = performance.now() - start;
  const queries = Array.from({ length: 4096 }, () => queryOf({
    apiVersion: `${pick(GROUPS)}/v1alpha1`, kind: pick(KINDS), metadata: { name: "r", namespace: `ns-${Math.floor(random() * size)}` },
  }, "default"));
  return { inventory, queries, loadMs };
}

/** What the shipped controllers do: look at every selector for every resource. */
function scan(selectors: readonly EffectiveSelector[], inventory: Inventory, query: ResourceQuery): number {
  const labels = inventory.namespaceLabels(query.namespace);
  let selecting = 0;
  for (const selector of selectors) {
    if (selectsNamespace(selector, query.namespace, labels) && selectsWithinNamespace(selector, query, query.labels)) selecting++;
  }
  return selecting;
}

/** The mean of the best of several rounds, in us: what the code costs where nothing else runs. */
function measure(ask: (query: ResourceQuery) => unknown, queries: readonly ResourceQuery[], rounds: number): number {
  let best = Infinity;
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    for (const query of queries) ask(query);
    best = Math.min(best, (performance.now() - start) * 1000 / queries.length);
  }
  return best;
}

/** `resolve` over 10 and over 100,000 selectors, against a scan of them all in the same run. */
export function run(): readonly Result[] {
  return [[10, 1], [100_000, 3]].flatMap(([size = 0, target = 0]) => {
    const { inventory, queries, loadMs } = buildCluster(size);
    const first = measure((query) => resolve(inventory, query, SETTINGS), queries, 1);
    const indexed = measure((query) => resolve(inventory, query, SETTINGS), queries, 20);
    const selectors = [...inventory.selectors.values()];
    const scanned = measure((query) => scan(selectors, inventory, query), queries.slice(0, size > 1000 ? 64 : 4096), size > 1000 ? 2 : 20);
    return [
      { name: `${size} selectors: loaded with as many namespaces`, value: loadMs, unit: "ms", target: null },
      { name: `${size} selectors: a resource resolved in a namespace not asked before`, value: first, unit: "us", target: null },
      { name: `${size} selectors: a resource resolved`, value: indexed, unit: "us", target },
      { name: `${size} selectors: the same by looking at each selector`, value: scanned, unit: "us", target: null },
      { name: `${size} selectors: scan over index`, value: scanned / indexed, unit: "x", target: null },
    ] satisfies readonly Result[];
  });
}
