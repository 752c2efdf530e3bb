import { ownRolePermission } from "../core/own-role-permission.ts";
import type { ChainLink } from "../core/resolution.ts";
import { IDENTITIES } from "./identities.ts";
import { REFERRERS } from "./referrers.ts";
import { isUnknownAccount, referenceKey } from "./identity.ts";
import { clusterAccount, indexedAccounts } from "./cluster-account.ts";
import { referrerName } from "./identity-chain.ts";
import {
  ACCOUNT_OF_CAPA, CONTROLLER_IDENTITY, CONTROLLER_IDENTITY_NAME, describeIdentity, identityKindOf,
  type IdentityReference,
} from "../core/capa-kinds.ts";
import { by, remove, repairsOf, set } from "../core/repair.ts";
import { ownIdentity, refusedRepairs, unknownRepairs } from "./reference-repairs.ts";
import { clusterOf, credentialsOf, type Referrer, referrerPath, taggedClusterName } from "./referrer.ts";
import type { Inventory } from "../core/inventory.ts";
import { compareText, countOf, listOf, printable, quote, sortedListOf } from "../formats/text.ts";
import type { Fault, QuickCheck } from "../core/check.ts";
import type { ClusterChange } from "./cluster-reference.ts";
import { SCAN_LIMIT } from "../core/fault-texts.ts";
import { NEEDS } from "../core/requirements.ts";
import { CAPA_NEEDS } from "./requirements.ts";

function isSameReference(a: IdentityReference | null, b: IdentityReference | null): boolean {
  return a?.kind === b?.kind && a?.name === b?.name;
}

export const AC_01: QuickCheck<ClusterChange> = {
  id: "AC-01",
  severity: "deny",
  waivable: true,
  reason:
    "CAPA can neither reconcile nor delete a cluster whose identity, or its source, does not exist. The check only "
    + "warns about a new cluster, because users create clusters and identities in any order.",
  fix: "create the identity, or change identityRef",
  example: "spec: {identityRef: {kind: AWSClusterRoleIdentity, name: no-such-identity}}",
  requires: [CAPA_NEEDS.identities],
  *find(change): Iterable<Fault> {
    const { referrer, resolution, stored } = change;
    const { code, chain = [] } = resolution;
    const index = chain.findIndex(({ allowed }) => !allowed);
    const link = chain[index];
    if (code !== "ERR_IDENTITY_UNKNOWN" || link === undefined) return;
    const isChanged = stored !== null && !isSameReference(stored.written, referrer.written);
    const severity = isChanged ? {} : { severity: "warn" as const };
    const { fix, message } = unknownFault(chain, index, referrer);
    const repairs = unknownRepairs(change, link, chain[index - 1]);
    yield { path: referrerPath(referrer), message, ...(repairs.length === 0 ? { fix } : { repairs }), ...severity };
  },
};

/** Returns the fault of an identity of the chain that does not exist. */
function unknownFault(
  chain: readonly ChainLink[], index: number, { written }: Referrer,
): Required<Pick<Fault, "fix" | "message">> {
  const link = chain[index];
  const field = index === 0 ? "identityRef" : "sourceIdentityRef";
  if (link?.kind === CONTROLLER_IDENTITY && link.name !== CONTROLLER_IDENTITY_NAME) {
    const fix = `set the name in ${field} to ${CONTROLLER_IDENTITY_NAME}`;
    return { message: `${link.reason}, not ${quote(link.name)}`, fix };
  }
  const which = index > 0 && link?.kind === CONTROLLER_IDENTITY
    ? ", which CAPA creates only for a cluster that refers to it itself" : "";
  const fix = `create the identity${which}, or ${index === 0 && written === null ? "set" : "change"} ${field}`;
  return { message: `${linkText(chain, index)} does not exist`, fix };
}

/** Returns the name of an identity of the chain, and of the identity whose source it is. */
function linkText(chain: readonly ChainLink[], index: number): string {
  const texts = chain.slice(Math.max(0, index - 1), index + 1).map(describeIdentity).toReversed();
  return texts.length === 2 ? `${texts.join(", the source of ")},` : texts.join("");
}

const ALLOW_FIX = "use an identity that allows the namespace, or ask the owner of the identity to allow it";
const KIND_FIX = "use another kind of identity; for an AWSServiceAccountIdentity, set --runtime extended if your "
  + "controller supports this kind";
const SOURCE_KIND_FIX = "use another identity, or correct the kind in sourceIdentityRef";

/** The fixes of the codes that AC-02 reports. */
const FIXES: ReadonlyMap<unknown, string> = new Map([
  ["ERR_IDENTITY_KIND", KIND_FIX],
  ["ERR_IDENTITY_NAMESPACE", ALLOW_FIX],
  ["ERR_IDENTITY_SELECTOR", ALLOW_FIX],
  ["ERR_IDENTITY_CYCLE", "use another identity, or change sourceIdentityRef of an identity in the cycle"],
  ["ERR_IDENTITY_DEPTH", "use another identity, or change sourceIdentityRef so that fewer roles form the chain"],
  ["ERR_IDENTITY_SECRET", "use another identity, whose secretRef is the name of a Secret in the namespace of CAPA"],
]);

export const AC_02: QuickCheck<ClusterChange> = {
  id: "AC-02",
  severity: "deny",
  reason: "CAPA refuses the identity only later, and reports it only in its log.",
  fix: ALLOW_FIX,
  example: "metadata: {namespace: team-b}\n"
    + "spec: {identityRef: {kind: AWSClusterRoleIdentity, name: team-a}} # allowedNamespaces: {list: [team-a]}",
  requires: [CAPA_NEEDS.identities],
  *find(change): Iterable<Fault> {
    const { referrer, resolution, inventory } = change;
    const { code, chain = [] } = resolution;
    const index = chain.findIndex(({ allowed }) => !allowed);
    const link = chain[index];
    const fix = index > 0 && code === "ERR_IDENTITY_KIND" ? SOURCE_KIND_FIX : FIXES.get(code);
    // AC-00 reports an unknown kind in the reference of the object itself.
    const isUnknownKind = referrer.written !== null && identityKindOf(referrer.written.kind) === null;
    if (fix === undefined || link === undefined || isUnknownKind) return;
    const where = `cannot be used in namespace ${referrer.namespace}`;
    const message = printable(`${linkText(chain, index)} ${where}: ${link.reason}`);
    const isWarning = isUndecided(link, referrer.namespace, inventory);
    const fault = { path: referrerPath(referrer), message, fix, ...repairsOf(refusedRepairs(change)) };
    yield isWarning ? { ...fault, severity: "warn" } : fault;
  },
};

/**
 * Whether the selector of the identity could not be evaluated, because the inventory does not contain the Namespace:
 * manifests often lack it, and a watch reports a new Namespace with a delay.
 */
function isUndecided(link: IdentityReference, namespace: string, inventory: Inventory): boolean {
  const identity = inventory.namespaces.has(namespace) ? null : inventory.of(IDENTITIES).get(link, namespace);
  const allowed = identity !== null && "allowedNamespaces" in identity ? identity.allowedNamespaces : null;
  return allowed?.type === "some" && allowed.selector !== null;
}

export const AC_03: QuickCheck<ClusterChange> = {
  id: "AC-03",
  severity: "warn",
  reason: "A cluster without identityRef uses the credentials of CAPA, which often have too many rights.",
  fix: "set identityRef",
  example: "kind: AWSCluster\nspec: {region: eu-west-1}",
  *find(change): Iterable<Fault> {
    const { referrer } = change;
    if (referrer.written !== null) return;
    const message = "identityRef is missing: CAPA uses its own credentials";
    const permission = ownRolePermission(AC_03, change, referrer.namespace);
    yield { path: referrerPath(referrer), message, fix: AC_03.fix, ...permission, ...repairsOf(ownIdentity(change)) };
  },
};

export const AC_04: QuickCheck<ClusterChange> = {
  id: "AC-04",
  severity: "deny",
  waivable: true,
  reason:
    "CAPA allows a change of identityRef, and after its removal uses its own account. CAPA then creates the cluster "
    + "again in the other account, and no longer finds the resources in the old account. The check only warns if the "
    + "account of a Secret is unknown, because both may be the same account. A sidecar with "
    + "--identity-secret-namespace records the account of a static identity when it issues its credentials.",
  fix: "keep identityRef. To move the cluster, delete it and create it again",
  example: "# an update from\nspec: {identityRef: {kind: AWSClusterRoleIdentity, name: team-a}}\n# to\nspec: {}",
  requires: [NEEDS.storedObject, CAPA_NEEDS.identities],
  ofChange: true,
  *find({ referrer, stored, inventory, settings }): Iterable<Fault> {
    if (stored === null || isSameReference(stored.written, referrer.written)) return;
    const [from, to] = [clusterAccount(stored, inventory, settings), clusterAccount(referrer, inventory, settings)];
    if (from === null || to === null || from === to) return;
    const what = referrer.written === null ? "identityRef is removed" : "identityRef changes";
    const path = referrerPath(referrer);
    const repairs = by(stored.written === null ? remove(path) : set(path, stored.written));
    const fault = { path, message: `${what}: the cluster moves from ${from} to ${to}`, fix: AC_04.fix, repairs };
    if ([from, to].some(isUnknownAccount)) yield { ...fault, ...COMPARE };
    else yield [from, to].includes(ACCOUNT_OF_CAPA) ? { ...fault, fix: STATE } : fault;
  },
};

const STATE = "keep identityRef. If CAPA uses the same account, state it with --controller-account, or waive this";
const COMPARE = {
  severity: "warn",
  fix: "make sure that both are one account: aws sts get-caller-identity, or use a sidecar, which records it",
} as const;

export const AC_06: QuickCheck<ClusterChange> = {
  id: "AC-06",
  severity: "warn",
  reason: "The objects of one Cluster, such as its control plane and its network, share AWS resources. With identities "
    + "of different accounts, CAPA creates a part of the cluster in another account.",
  fix: "use one identity for all objects of the Cluster",
  example: "kind: AWSCluster\nmetadata: {labels: {cluster.x-k8s.io/cluster-name: c}}\n"
    + "spec: {identityRef: {kind: AWSClusterRoleIdentity, name: a}} # the AWSManagedControlPlane of c names b",
  requires: [CAPA_NEEDS.clusters],
  *find(change): Iterable<Fault> {
    const { referrer } = change;
    const cluster = clusterOf(referrer);
    if (cluster === null) return;
    const others = siblingsWithOtherIdentity(change, cluster);
    if (others.length === 0) return;
    const names = others.map((one) => `${describeIdentity(credentialsOf(one))} (${referrerName(one)})`);
    const count = countOf(names.length, "other identity", SCAN_LIMIT);
    const list = listOf(names.toSorted(compareText), names.length, SCAN_LIMIT);
    const message = printable(`Cluster ${quote(cluster)} also uses ${count}: ${list}`);
    yield { path: referrerPath(referrer), message };
  },
};

/** Returns one other object of the Cluster for each other identity, at most `SCAN_LIMIT` objects. */
function siblingsWithOtherIdentity({ referrer, inventory }: ClusterChange, cluster: string): Referrer[] {
  const { group, kind, namespace, name } = referrer;
  const own = keyOf(referrer);
  const siblings: Referrer[] = [];
  for (const objects of inventory.of(REFERRERS).ofCluster(namespace, cluster)) {
    // The set may contain the stored state of the checked object.
    for (const one of objects) {
      if (keyOf(one) === own) break;
      if (one.group === group && one.kind === kind && one.name === name) continue;
      siblings.push(one);
      break;
    }
    if (siblings.length >= SCAN_LIMIT) break;
  }
  return siblings;
}

function keyOf(referrer: Referrer): string {
  return referenceKey(credentialsOf(referrer), referrer.namespace);
}

export const AC_07: QuickCheck<ClusterChange> = {
  id: "AC-07",
  severity: "warn",
  reason:
    "The resources of a cluster are found by tags with its name, but without its namespace. Two clusters with the "
    + "same name in one account use and delete the resources of each other.",
  fix: "give the cluster a name that no other namespace uses, or an identity of another account",
  example: "metadata: {name: prod, namespace: team-b} # AWSCluster team-a/prod has an identity of the same account",
  requires: [CAPA_NEEDS.identities, CAPA_NEEDS.clusters],
  *find(change): Iterable<Fault> {
    const { referrer, inventory, settings } = change;
    const [name, account] = [taggedClusterName(referrer), clusterAccount(referrer, inventory, settings)];
    if (name === null || account === null) return;
    const namespaces = otherNamespaces(change, name, account);
    if (namespaces.length === 0) return;
    const count = countOf(namespaces.length, "other namespace", SCAN_LIMIT);
    const list = namespaces.length < SCAN_LIMIT
      ? sortedListOf(namespaces) : listOf(namespaces, namespaces.length, SCAN_LIMIT);
    const message = `${account} also contains the cluster ${quote(name)} of ${count}: ${list}`;
    yield { path: ["metadata", "name"], message: printable(message) };
  },
};

/** Returns the other namespaces with a cluster of this name in the account, at most `SCAN_LIMIT`. */
function otherNamespaces({ referrer, inventory, settings }: ClusterChange, name: string, account: string): string[] {
  const found = new Set<string>();
  for (const key of indexedAccounts(account, inventory, settings)) {
    if (found.size >= SCAN_LIMIT) break;
    for (const namespace of inventory.of(REFERRERS).namespacesOfCluster(name, key)) {
      if (found.size >= SCAN_LIMIT) break;
      if (namespace !== referrer.namespace) found.add(namespace);
    }
  }
  return [...found];
}
