import { describeIdentity } from "../core/capa-kinds.ts";
import { ofChange } from "../core/binding.ts";
import type { Check, Fault, QuickCheck, ScanningCheck } from "../core/check.ts";
import { SCAN_LIMIT } from "../core/fault-texts.ts";
import type { Inventory } from "../core/inventory.ts";
import { by, restoreEntries } from "../core/repair.ts";
import type { Extra } from "../core/judge.ts";
import { NAMESPACE_DELETION, namespaceChange, type NamespaceChange } from "../core/namespace-change.ts";
import { NAMESPACE } from "../core/namespace-kind.ts";
import type { ChainLink } from "../core/resolution.ts";
import { isSameLabels, type Labels } from "../formats/label-selector.ts";
import { paced, type Paced } from "../formats/paced.ts";
import { compareText, countOf, listOf, printable, sortedListOf } from "../formats/text.ts";
import { identityChain, referrerName } from "./identity-chain.ts";
import { isOfTemplate, referenceOf, type Referrer } from "./referrer.ts";
import { REFERRERS } from "./referrers.ts";
import { CAPA_NEEDS } from "./requirements.ts";

const OBJECTS_BETWEEN_PAUSES = 200;

export const NS_12: ScanningCheck<NamespaceChange> = {
  id: "NS-12",
  severity: "deny",
  waivable: true,
  reason: "The selector of an identity reads the labels of the namespace. CAPA neither reconciles nor deletes a "
    + "cluster whose namespace an identity of its chain does not allow.",
  fix: "keep the labels that the identities select, or first add the namespace to allowedNamespaces.list of the "
    + "identities",
  example: "metadata: {labels: {team: b}} # was team: a, which the identity of a cluster in the namespace selects",
  requires: [CAPA_NEEDS.identities, CAPA_NEEDS.clusters],
  on: ["UPDATE"],
  ofChange: true,
  *scan({ inventory, name, stored, state }): Paced<readonly Fault[]> {
    if (stored === null || isSameLabels(stored.labels, state.labels)) return [];
    const losing: string[] = [];
    // Copies the objects, because the inventory may change during a pause.
    yield* paced([...inventory.of(REFERRERS).inNamespace(name)], OBJECTS_BETWEEN_PAUSES, (user) => {
      const link = lostLink(inventory, user, { before: stored.labels, after: state.labels });
      if (link !== undefined) losing.push(`${referrerName(user)} (${describeIdentity(link)})`);
      return losing.length < SCAN_LIMIT;
    });
    if (losing.length === 0) return [];
    const list = listOf(losing.toSorted(compareText), losing.length, SCAN_LIMIT);
    const count = countOf(losing.length, "object", SCAN_LIMIT);
    const message = printable(`with the new labels, an identity no longer allows the namespace for ${count}: ${list}`);
    const path = ["metadata", "labels"];
    return [{ path, message, repairs: by(...restoreEntries(path, stored.labels, state.labels)) }];
  },
};

interface LabelChange {
  readonly before: Labels;
  readonly after: Labels;
}

/** Returns the identity that allows the namespace of the object only before the change, or undefined. */
function lostLink(inventory: Inventory, user: Referrer, { before, after }: LabelChange): ChainLink | undefined {
  const reference = referenceOf(user, inventory.runtime);
  if (reference === null) return undefined;
  const chain = identityChain(inventory, reference, user.namespace, { labels: after });
  if (identityChain(inventory, reference, user.namespace, { labels: before }).denial !== null) return undefined;
  return chain.links.find(({ allowed }) => !allowed);
}

/** NS-13 for the objects of Cluster API in a namespace. */
export const NS_13_OF_CLUSTERS: QuickCheck<NamespaceChange> = {
  ...NAMESPACE_DELETION,
  requires: [CAPA_NEEDS.clusters],
  *find({ inventory, name }): Iterable<Fault> {
    const objects = [...inventory.of(REFERRERS).inNamespace(name)].filter((one) => !isOfTemplate(one));
    if (objects.length === 0) return;
    const list = sortedListOf(objects.map(referrerName));
    const count = countOf(objects.length, "object");
    const message = printable(`the deletion of the namespace also deletes ${count} of Cluster API: ${list}`);
    const fix = "do not change the namespace's labels or the identities until the namespace is deleted";
    yield { path: ["metadata", "name"], message, fix };
  },
};

const OF_NAMESPACES: readonly Check<NamespaceChange>[] = [NS_12, NS_13_OF_CLUSTERS];

/** What a change of a Namespace does to the clusters in it. */
export const CAPA_OF_NAMESPACES: Extra = {
  of: NAMESPACE, checks: OF_NAMESPACES, bind: ofChange(OF_NAMESPACES, namespaceChange),
};
