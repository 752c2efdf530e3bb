import { identitySubject } from "../../shared/capa/identities.ts";
import { type Identity, identityKey } from "../../shared/capa/identity.ts";
import { identityChain } from "../../shared/capa/identity-chain.ts";
import { readReferrer, referenceOf } from "../../shared/capa/referrer.ts";
import { describeIdentity, REFERRER_KINDS } from "../../shared/core/capa-kinds.ts";
import { resourceSubject } from "../../shared/core/event-subjects.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import type { JsonObject } from "../../shared/formats/json.ts";
import type { EventSubject } from "../../shared/formats/object-meta.ts";
import type { RefusedObject, Search } from "../role-events.ts";
import type { RefusedRole } from "./refused-identities.ts";

/** Returns the identity whose role STS rejected, for an Event. Never rejects. */
export async function refusedIdentity({ identity, error }: RefusedRole, inventory: Inventory): Promise<RefusedObject> {
  return {
    subject: identitySubject(identity, inventory), object: describeIdentity(identity), error: await error(),
    users: () => clustersOf(identity, inventory),
  };
}

/**
 * Finds clusters, and other objects that use an identity, whose chain contains the identity and allows their namespace.
 * Templates use no credentials.
 */
function clustersOf(identity: Identity, inventory: Inventory): Search {
  const types = REFERRER_KINDS.flatMap(({ group, kind, isTemplate }) => {
    const version = isTemplate ? null : inventory.kinds.servedVersion(group, kind);
    return version === null ? [] : [{ group, version, kind }];
  });
  return { types, metadataOnly: false, subjectOf: (object) => subjectIfAffected(object, identity, inventory) };
}

function subjectIfAffected(object: JsonObject, identity: Identity, inventory: Inventory): EventSubject | null {
  const referrer = readReferrer(object);
  const reference = referrer === null ? null : referenceOf(referrer, inventory.runtime);
  if (referrer === null || reference === null) return null;
  const { identities, denial } = identityChain(inventory, reference, referrer.namespace);
  const key = identityKey(identity);
  return denial === null && identities.some((one) => identityKey(one) === key) ? resourceSubject(referrer) : null;
}
