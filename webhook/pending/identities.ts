import { identityChain } from "../../shared/decisions/identities/chain.ts";
import { readIdentity, type RoleIdentity } from "../../shared/decisions/identities/identity.ts";
import { ROLE_IDENTITY } from "../../shared/decisions/identities/kinds.ts";
import type { Runtime } from "../../shared/decisions/context.ts";
import type { Inventory } from "../../shared/decisions/inventory/inventory.ts";
import { field, type JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import type { PendingKind } from "./write.ts";
import { type PendingWrite, possibleStates } from "./writes.ts";

/** Returns the functions for pending writes of AWSClusterRoleIdentities, which can form a cycle. */
export function roleIdentityWrites(runtime: Runtime): PendingKind<RoleIdentity> {
  return {
    kind: ROLE_IDENTITY,
    stateIn: ({ identities }, name) => identities.get({ kind: ROLE_IDENTITY, name }, "") ?? undefined,
    read: (object) => roleIdentityOf(object, runtime),
    reduce: (object) => {
      const { apiVersion, kind, metadata, spec } = object;
      return {
        apiVersion, kind, metadata: { name: field(metadata, "name") },
        spec: { sourceIdentityRef: field(spec, "sourceIdentityRef"), roleARN: field(spec, "roleARN") },
      };
    },
    widen: ({ spec, ...object }) => ({ ...object, spec: { sourceIdentityRef: field(spec, "sourceIdentityRef") } }),
  };
}

/** Returns the role identity, or null if the object is another kind. */
export function roleIdentityOf(object: JsonObject, runtime: Runtime): RoleIdentity | null {
  const identity = readIdentity(object, runtime);
  return identity?.kind === ROLE_IDENTITY ? identity : null;
}

/**
 * Returns the pending writes of the other identities in the chain of the identity, if the chain has a cycle or too many
 * roles when the pending writes take effect. Otherwise, no pending write affects the checks.
 */
export function writesInBrokenChain(
  changed: RoleIdentity, writes: readonly PendingWrite<RoleIdentity>[], inventory: Inventory,
): readonly PendingWrite<RoleIdentity>[] {
  const names = new Set(possibleStates(writes).flatMap(({ writes: pending }) => {
    const { broken, links } = identityChain(inventory, changed, "", { changed, pending });
    const isBroken = broken?.code === "ERR_IDENTITY_CYCLE" || broken?.code === "ERR_IDENTITY_DEPTH";
    return isBroken ? links.map(({ name }) => name) : [];
  }));
  return writes.filter(({ name }) => name !== changed.name && names.has(name));
}
