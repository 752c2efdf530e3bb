import { REFERRERS } from "./referrers.ts";
import { isClusterAPIController } from "../core/exemptions.ts";
import {
  CLUSTER_LABEL, type ClusterPart, isClusterPart, OWNERS_PATH, readClusterPart,
} from "./cluster-parts.ts";
import { referenceKey } from "./identity.ts";
import {
  describeIdentity, identityKindOf, identityPlural, type IdentityReference, INFRASTRUCTURE_GROUP,
} from "../core/capa-kinds.ts";
import { credentialsOf, readReferrer, type Referrer, referrerPath } from "./referrer.ts";
import type { Inventory } from "../core/inventory.ts";
import type { FieldPath, JsonObject } from "../formats/json.ts";
import { subdomainFaults } from "../formats/names.ts";
import { quote } from "../formats/text.ts";
import { type CheckContext, contextOf } from "../core/check.ts";
import type { UseNeeds } from "../core/review-needs.ts";
import { objectReference } from "../formats/object-meta.ts";
import type { UsedObject } from "../core/use-rights.ts";

/** Returns the identity that a requester needs the right to `use`. Null stands for every identity. */
export function usedIdentity(identity: Readonly<Record<"kind" | "name", string>> | null): UsedObject {
  const kind = identity === null ? null : identityKindOf(identity.kind);
  const resource = kind === null ? "*" : identityPlural(kind);
  return { group: INFRASTRUCTURE_GROUP, resource, name: identity?.name ?? "" };
}

/** An identity that an object uses before or after a change, so that the requester needs the verb `use` on it. */
export interface IdentityUse {
  /** Null if the identity is unknown. The requester then needs the verb on every identity. */
  readonly identity: IdentityReference | null;
  readonly path: FieldPath;
  /** What the requester uses; for an unknown identity, a clause that states why it is unknown. */
  readonly what: string;
  /** The fix that makes an unknown identity known; null for a known identity. */
  readonly fix: string | null;
}

type UseContext = Pick<CheckContext, "inventory" | "operation" | "requester" | "settings">;

/**
 * Returns the identities that the object uses before or after the change, by the key of their access review. `old` is
 * the stored object at UPDATE. The controllers of Cluster API maintain the clusters of users, so they need a right only
 * for an identity that they choose: a new identityRef.
 */
export function identityUses(
  object: JsonObject, old: JsonObject | null, { inventory, operation, requester, settings }: UseContext,
): ReadonlyMap<string, IdentityUse> {
  const isOfClusterAPI = requester !== null && isClusterAPIController(requester, settings);
  const referrer = readReferrer(object);
  if (referrer !== null) {
    const stored = old === null ? null : readReferrer(old);
    const uses = isOfClusterAPI && operation === "DELETE" ? [] : referrerUses(referrer, stored, isOfClusterAPI);
    return byKey(uses, referrer.namespace);
  }
  if (!isClusterPart(object)) return new Map();
  const part = readClusterPart(object);
  const stored = old === null ? null : readClusterPart(old);
  return byKey(partUses(part, stored, inventory), part.namespace);
}

/** Returns what the requester uses, by the key of its access review. */
export const usesOfCluster: UseNeeds["of"] = (input, settings, inventory) => {
  const { namespace } = objectReference(input.object);
  return [...identityUses(input.object, input.old, contextOf(input, settings, inventory))]
    .map(([key, { identity }]) => [key, { ...usedIdentity(identity), namespace }]);
};

/** The key of the access review of every identity. */
export const EVERY_IDENTITY = "";

function byKey(uses: Iterable<IdentityUse>, namespace: string): Map<string, IdentityUse> {
  const found = new Map<string, IdentityUse>();
  for (const use of uses) {
    const key = use.identity === null ? EVERY_IDENTITY : referenceKey(use.identity, namespace);
    if (!found.has(key)) found.set(key, use);
  }
  return found;
}

/** Yields the identities of an object with the field identityRef. Omits a kind or a name that no identity can have. */
function* referrerUses(referrer: Referrer, stored: Referrer | null, isOfClusterAPI: boolean): Iterable<IdentityUse> {
  const [identity, path] = [credentialsOf(referrer), referrerPath(referrer)];
  const before = stored === null ? null : credentialsOf(stored);
  const isKept = before?.kind === identity.kind && before.name === identity.name;
  if (canExist(identity) && !(isOfClusterAPI && isKept)) {
    yield { identity, path, what: describeIdentity(identity), fix: null };
  }
  if (before !== null && canExist(before) && !isOfClusterAPI) {
    yield { identity: before, path, what: `${describeIdentity(before)}, which the object used`, fix: null };
  }
}

function canExist({ kind, name }: IdentityReference): boolean {
  return identityKindOf(kind) !== null && subdomainFaults(name).length === 0;
}

function* partUses(part: ClusterPart, stored: ClusterPart | null, inventory: Inventory): Iterable<IdentityUse> {
  if (!inventory.includes(REFERRERS)) {
    const what = "the webhook has not listed all clusters yet";
    yield { identity: null, path: ["metadata"], what, fix: "retry in a moment" };
  }
  for (const state of stored === null ? [part] : [part, stored]) {
    yield* clusterUses(state, inventory);
    yield* namedUses(state, inventory);
  }
  const before = new Set(stored?.owners);
  const owner = part.owners.find((one) => !before.has(one));
  if (owner === undefined) return;
  const what = `the owner ${quote(owner)} determines the Cluster`;
  yield { identity: null, path: OWNERS_PATH, what, fix: "do not set the owner, because Cluster API sets it" };
}

/** Yields the identities of the Clusters to which the object belongs. */
function* clusterUses({ clusters, isOfAWS, namespace }: ClusterPart, inventory: Inventory): Iterable<IdentityUse> {
  for (const { name, path } of clusters) {
    let isKnown = false;
    for (const [referrer] of inventory.of(REFERRERS).ofCluster(namespace, name)) {
      isKnown = true;
      if (referrer !== undefined) yield useOf(referrer, path, `, the identity of Cluster ${quote(name)}`);
    }
    if (isKnown || !isOfAWS) continue;
    const what = `no AWSCluster or control plane belongs to Cluster ${quote(name)}`;
    const fix = `first create the AWSCluster or control plane with the label ${CLUSTER_LABEL}: ${name}`;
    yield { identity: null, path, what, fix };
  }
  if (clusters.length > 0 || !isOfAWS) return;
  const what = `the label ${CLUSTER_LABEL} is missing`;
  const fix = `set the label ${CLUSTER_LABEL} to the name of its Cluster`;
  yield { identity: null, path: ["metadata", "labels"], what, fix };
}

/** Yields the identities of the objects that a Cluster names. An object that does not exist has no identity yet. */
function* namedUses({ namespace, referrers }: ClusterPart, inventory: Inventory): Iterable<IdentityUse> {
  for (const { path, ...name } of referrers) {
    const referrer = inventory.of(REFERRERS).get({ ...name, namespace });
    if (referrer !== null) yield useOf(referrer, path, `, the identity of ${name.kind} ${quote(name.name)}`);
  }
}

function useOf(referrer: Referrer, path: FieldPath, whose: string): IdentityUse {
  const identity = credentialsOf(referrer);
  return { identity, path, what: describeIdentity(identity) + whose, fix: null };
}
