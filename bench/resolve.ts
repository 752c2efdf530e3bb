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
  installationNamespaces: [],
  allowedAccounts: [], controllerServiceAccounts: [], capaServiceAccounts: [],
  clusterAPIServiceAccounts: [], identitySecretNamespace: null,
  controllerUsers: [], tenantLabels: [],
  allowedEndpointHosts: [], watchNamespaces: [],
  watchSelector: null, runtime: "ack", region: "eu-west-1", controllerAccount: "111122223333", controllerRole: null,
  checkSeverities: new Map(), waiverUsers: [], waiverGroups: [],
  isWebhookInstalled: true, isInputComplete: false,
  injection: { image: null, args: [], env: [], caConfigMap: null, extraGroups: [] },
};

/** A cluster in which the number of namespaces equals the number of selectors. */
interface Cluster {
  readonly inventory: Inventory;
  readonly queries: readonly ResourceQuery[];
  readonly loadMs: number;
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
    const labels = { env: "prod", team: `t${Math.floor(i / 2)}` };
    objects.push({ apiVersion: "v1", kind: "Namespace", metadata: { name: `ns-${i}`, labels } });
    const namespaceSelector = i % 2 === 0
      ? { names: [`ns-${i}`, `ns-${(i + 1) % size}`] }
      : { labelSelector: { matchLabels: { ...labels } } };
    const resourceTypeSelector = [{ group: pick(GROUPS), version: "", kind: pick(KINDS) }];
    objects.push({
      apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector",
      metadata: { name: `s-${i}`, resourceVersion: String(i) },
      spec: { arn: `arn:aws:iam::${String(100_000_000_000 + i)}:role/r`, namespaceSelector, resourceTypeSelector },
    });
  }
  const inventory = new Inventory({ runtime: "ack", origin: "cluster" });
  const start = performance.now();
  inventory.apply(objects.map((object) => ({ type: "put", object })));
  const loadMs = performance.now() - start;
  const queries = Array.from({ length: 4096 }, () => queryOf({
    apiVersion: `${pick(GROUPS)}/v1alpha1`, kind: pick(KINDS),
    metadata: { name: "r", namespace: `ns-${Math.floor(random() * size)}` },
  }, "default"));
  return { inventory, queries, loadMs };
}

/**
 * Returns the number of selectors that match. Checks every selector, as the shipped controllers do for each resource.
 */
function scan(selectors: readonly EffectiveSelector[], inventory: Inventory, query: ResourceQuery): number {
  const labels = inventory.namespaces.labelsOf(query.namespace);
  let selecting = 0;
  for (const selector of selectors) {
    const isInNamespace = selectsNamespace(selector, query.namespace, labels);
    if (isInNamespace && selectsWithinNamespace(selector, query, query.labels)) selecting++;
  }
  return selecting;
}

/** Returns the mean time of one query in the fastest round, in us. */
function measure(work: (query: ResourceQuery) => unknown, queries: readonly ResourceQuery[], rounds: number): number {
  let best = Infinity;
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    for (const query of queries) work(query);
    best = Math.min(best, (performance.now() - start) * 1000 / queries.length);
  }
  return best;
}

/**
 * Measures `resolve` and, for comparison, a loop that checks every selector. Uses clusters of 10 and 100,000 selectors.
 */
export function run(): readonly Result[] {
  return [[10, 1], [100_000, 3]].flatMap(([size = 0, target = 0]) => {
    const { inventory, queries, loadMs } = buildCluster(size);
    const first = measure((query) => resolve(inventory, query, SETTINGS), queries, 1);
    const indexed = measure((query) => resolve(inventory, query, SETTINGS), queries, 20);
    const selectors = [...inventory.selectors.values()];
    const [sample, rounds] = size > 1000 ? [queries.slice(0, 64), 2] : [queries, 20];
    const scanned = measure((query) => scan(selectors, inventory, query), sample, rounds);
    return [
      { name: `${size} selectors: load ${size} namespaces and selectors`, value: loadMs, unit: "ms", target: null },
      { name: `${size} selectors: resolve the first resource of a namespace`, value: first, unit: "us", target: null },
      { name: `${size} selectors: resolve a resource`, value: indexed, unit: "us", target },
      { name: `${size} selectors: resolve by checking every selector`, value: scanned, unit: "us", target: null },
      { name: `${size} selectors: checking every selector / index`, value: scanned / indexed, unit: "x", target: null },
    ] satisfies readonly Result[];
  });
}
