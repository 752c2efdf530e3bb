import { SERVICE_ACCOUNT_IDENTITY } from "../core/capa-kinds.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { ClusterUsage, IdentityUsage } from "../core/cluster-usage.ts";
import type { JsonObject } from "../formats/json.ts";
import { type Paced, paced } from "../formats/paced.ts";
import { compareText } from "../formats/text.ts";
import type { Inventory } from "../core/inventory.ts";
import { referenceKey } from "./identity.ts";
import { clusterOf, credentialsOf, isOfTemplate, readReferrer } from "./referrer.ts";
import { clusterAccount } from "./cluster-account.ts";

const MAX_COUNTED = 100;
const REFERRERS_BETWEEN_PAUSES = 200;

interface Counted<Item> {
  readonly item: Item;
  readonly clusters: Set<string>;
}

/** Counts the clusters of the objects that have an identityRef, for each identity and for each account. */
export function* clusterUsage(
  objects: readonly JsonObject[], inventory: Inventory, settings: DecisionSettings,
): Paced<ClusterUsage> {
  const referrers = objects.flatMap((object) => readReferrer(object) ?? []).filter(({ name }) => name !== null);
  const clusters = new Set<string>();
  const identities = new Map<string, Counted<Omit<IdentityUsage, "clusters">>>();
  const accounts = new Map<string, Counted<{ readonly account: string }>>();
  yield* paced(referrers, REFERRERS_BETWEEN_PAUSES, (referrer) => {
    if (isOfTemplate(referrer)) return true;
    const cluster = JSON.stringify([referrer.namespace, clusterOf(referrer) ?? referrer.name]);
    clusters.add(cluster);
    const { kind, name } = credentialsOf(referrer);
    const namespace = kind === SERVICE_ACCOUNT_IDENTITY ? referrer.namespace : null;
    count(identities, referenceKey({ kind, name }, referrer.namespace), { kind, name, namespace }, cluster);
    const account = clusterAccount(referrer, inventory, settings) ?? "an unknown account";
    count(accounts, account, { account }, cluster);
    return true;
  });
  const byIdentity = Array.from(identities.values(), ({ item, clusters: { size } }) => ({ ...item, clusters: size }));
  const byAccount = Array.from(accounts.values(), ({ item, clusters: { size } }) => ({ ...item, clusters: size }));
  return {
    clusters: clusters.size,
    byIdentity: mostUsed(byIdentity, ({ kind, namespace, name }) => `${kind} ${namespace ?? ""} ${name}`),
    byAccount: mostUsed(byAccount, ({ account }) => account),
    omittedIdentities: Math.max(0, byIdentity.length - MAX_COUNTED),
    omittedAccounts: Math.max(0, byAccount.length - MAX_COUNTED),
  };
}

function count<Item>(counts: Map<string, Counted<Item>>, key: string, item: Item, cluster: string): void {
  const counted = counts.get(key) ?? { item, clusters: new Set<string>() };
  counted.clusters.add(cluster);
  counts.set(key, counted);
}

function mostUsed<Item extends { readonly clusters: number }>(
  items: readonly Item[], nameOf: (item: Item) => string,
): readonly Item[] {
  const sorted = items.toSorted((a, b) => b.clusters - a.clusters || compareText(nameOf(a), nameOf(b)));
  return sorted.slice(0, MAX_COUNTED);
}
