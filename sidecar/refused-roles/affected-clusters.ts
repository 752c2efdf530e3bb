import { identityChain } from "../../shared/decisions/identities/chain.ts";
import { type Identity, identityKey } from "../../shared/decisions/identities/identity.ts";
import { REFERRER_KINDS } from "../../shared/decisions/identities/kinds.ts";
import { readReferrer, referenceOf } from "../../shared/decisions/identities/referrer.ts";
import type { Inventory } from "../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import { type EventSubject, resourceSubject } from "../../shared/decisions/problems/problem.ts";
import { affectedObjects, type AffectedPorts } from "./affected-objects.ts";

/**
 * Yields clusters, and other objects that use an identity, whose chain contains the identity and allows their
 * namespace. Templates use no credentials.
 */
export function affectedClusters(identity: Identity, ports: AffectedPorts): AsyncIterable<EventSubject> {
  const { inventory } = ports;
  const types = REFERRER_KINDS.flatMap(({ group, kind, isTemplate }) => {
    const version = isTemplate ? null : inventory.kinds.servedVersion(group, kind);
    return version === null ? [] : [{ group, version, kind }];
  });
  const subjectOf = (object: JsonObject): EventSubject | null => subjectIfAffected(object, identity, inventory);
  return affectedObjects(types, ports, { metadataOnly: false, subjectOf });
}

function subjectIfAffected(object: JsonObject, identity: Identity, inventory: Inventory): EventSubject | null {
  const referrer = readReferrer(object);
  const reference = referrer === null ? null : referenceOf(referrer, inventory.runtime);
  if (referrer === null || reference === null) return null;
  const { identities, denial } = identityChain(inventory, reference, referrer.namespace);
  const key = identityKey(identity);
  return denial === null && identities.some((one) => identityKey(one) === key) ? resourceSubject(referrer) : null;
}
