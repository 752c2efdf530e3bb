import { identityChain } from "../../shared/decisions/identities/chain.ts";
import { type Identity, identityKey } from "../../shared/decisions/identities/identity.ts";
import { REFERRER_KINDS } from "../../shared/decisions/identities/kinds.ts";
import { readReferrer, referenceOf } from "../../shared/decisions/identities/referrer.ts";
import type { Inventory } from "../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import { type EventSubject, resourceSubject } from "../../shared/decisions/problems/problem.ts";
import type { SendPorts } from "../../shared/inventory/cluster/send-request.ts";
import { MAX_AFFECTED } from "./affected-resources.ts";
import { listedObjects } from "./listed-objects.ts";

interface AffectedClusterPorts extends SendPorts {
  readonly inventory: Inventory;
}

/**
 * Yields up to 20 clusters, and other objects that use an identity, whose chain contains the identity and allows their
 * namespace. Templates use no credentials. Skips a kind that is not installed or that cannot be listed.
 */
export async function* affectedClusters(
  identity: Identity, ports: AffectedClusterPorts,
): AsyncIterable<EventSubject> {
  const { kinds } = ports.inventory;
  let found = 0;
  for (const { group, kind, isTemplate } of REFERRER_KINDS) {
    const version = kinds.servedVersion(group, kind);
    if (isTemplate || version === null) continue;
    // Pages are read in sequence.
    // oxlint-disable-next-line no-await-in-loop
    for await (const object of listedObjects({ group, version, kind }, ports, { metadataOnly: false })) {
      const subject = subjectIfAffected(object, identity, ports.inventory);
      if (subject === null) continue;
      yield subject;
      if (++found === MAX_AFFECTED) return;
    }
  }
}

function subjectIfAffected(object: JsonObject, identity: Identity, inventory: Inventory): EventSubject | null {
  const referrer = readReferrer(object);
  const reference = referrer === null ? null : referenceOf(referrer, inventory.runtime);
  if (referrer === null || reference === null) return null;
  const { identities, denial } = identityChain(inventory, reference, referrer.namespace);
  const key = identityKey(identity);
  const isUser = denial === null && identities.some((one) => identityKey(one) === key);
  return isUser ? resourceSubject(referrer) : null;
}
