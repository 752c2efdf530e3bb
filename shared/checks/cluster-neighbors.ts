import { AC_00, AC_05, type ClusterChange } from "./cluster-reference.ts";
import { AC_01, AC_02, AC_03, AC_04, accountOf } from "./cluster-identity.ts";
import { compareText, countOf, listOf, printable, quote, sortedListOf } from "../formats/text.ts";
import { ACCOUNT_OF_CAPA } from "../model/identity-account.ts";
import { referenceKey } from "../model/identity.ts";
import { clusterOf, credentialsOf, type Referrer, referrerPath, taggedClusterName } from "../model/referrer.ts";
import { describeIdentity } from "../resolution/identity-denials.ts";
import { referrerName } from "../resolution/identity-users.ts";
import { controllerAccountOf } from "../resolution/resolve.ts";
import type { Fault, QuickCheck } from "./check.ts";
import { SCAN_LIMIT } from "./message-lists.ts";

const AC_06: QuickCheck<ClusterChange> = {
  id: "AC-06",
  severity: "warn",
  waivable: false,
  reason: "The objects of one Cluster, such as its control plane and its network, share AWS resources. With identities "
    + "of different accounts, CAPA creates a part of the cluster in another account.",
  fix: "use one identity for all objects of the Cluster",
  example: "kind: AWSCluster\nmetadata: {labels: {cluster.x-k8s.io/cluster-name: c}}\n"
    + "spec: {identityRef: {kind: AWSClusterRoleIdentity, name: a}} # the AWSManagedControlPlane of c names b",
  requires: ["clusters"],
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
  for (const objects of inventory.referrers.ofCluster(namespace, cluster)) {
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

const AC_07: QuickCheck<ClusterChange> = {
  id: "AC-07",
  severity: "warn",
  waivable: false,
  reason: "CAPA and the AWS cloud provider find the resources of a cluster by tags that contain its name but not its "
    + "namespace, such as `kubernetes.io/cluster/NAME`. Two clusters with the same name in one account use and delete "
    + "the resources of each other.",
  fix: "give the cluster a name that no other namespace uses, or an identity of another account",
  example: "metadata: {name: prod, namespace: team-b} # AWSCluster team-a/prod has an identity of the same account",
  requires: ["identities", "clusters"],
  *find(change): Iterable<Fault> {
    const { referrer } = change;
    const [name, account] = [taggedClusterName(referrer), accountOf(referrer, change)];
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
  const controllerAccount = controllerAccountOf(settings);
  // The inventory does not know the settings, which can state the account of CAPA.
  const isOfCAPA = controllerAccount !== null && account === `account ${controllerAccount}`;
  const found = new Set<string>();
  for (const key of isOfCAPA ? [account, ACCOUNT_OF_CAPA] : [account]) {
    for (const namespace of inventory.referrers.namespacesOfCluster(name, key)) {
      if (found.size >= SCAN_LIMIT) break;
      if (namespace !== referrer.namespace) found.add(namespace);
    }
  }
  return [...found];
}

/** The checks that run when an object that refers to a CAPA identity changes. */
export const CLUSTER_CHECKS: readonly QuickCheck<ClusterChange>[] = [
  AC_00, AC_01, AC_02, AC_03, AC_04, AC_05, AC_06, AC_07,
];
