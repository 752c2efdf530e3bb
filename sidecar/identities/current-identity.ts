import { isDeepStrictEqual } from "node:util";
import type { Identity } from "../../shared/decisions/identities/identity.ts";
import type { Inventory } from "../../shared/decisions/inventory/inventory.ts";

interface Identities {
  readonly identities: Pick<Inventory["identities"], "get">;
}

/** Whether the inventory contains the identity, and no change of it except for its metadata. */
export function isCurrentIdentity({ identities }: Identities, identity: Identity): boolean {
  const current = identities.get(identity, identity.namespace);
  return isDeepStrictEqual({ ...current, resourceVersion: null }, { ...identity, resourceVersion: null });
}
