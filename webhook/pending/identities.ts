import { identityChain } from "../../shared/decisions/identities/chain.ts";
import { readIdentity, type RoleIdentity } from "../../shared/decisions/identities/identity.ts";
import { ROLE_IDENTITY } from "../../shared/decisions/identities/kinds.ts";
import type { Runtime } from "../../shared/decisions/context.ts";
import type { Inventory } from "../../shared/decisions/inventory/inventory.ts";
import type { JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import type { PendingKind, PendingWrite } from "./writes.ts";

/** Returns the functions for pending writes of AWSClusterRoleIdentities, which can form a cycle. */
export function roleIdentityWrites(runtime: Runtime): PendingKind<RoleIdentity> {
  return {
    versionIn: ({ identities }, name) => identities.get({ kind: ROLE_IDENTITY, name }, "")?.resourceVersion,
    read: (object) => {
      const value = roleIdentityOf(object, runtime);
      return { value, resourceVersion: value?.resourceVersion ?? null };
    },
  };
}

/** Returns the role identity, or null if the object is another kind. */
export function roleIdentityOf(object: JsonObject, runtime: Runtime): RoleIdentity | null {
  const identity = readIdentity(object, runtime);
  return identity?.kind === ROLE_IDENTITY ? identity : null;
}

/**
 * Returns the pending writes of the other identities in the chain of the identity, if the chain has a cycle or too many
 * roles when each pending write takes effect. Otherwise, no pending write affects the checks.
 */
export function writesInBrokenChain(
  changed: RoleIdentity, writes: readonly PendingWrite<RoleIdentity>[], inventory: Inventory,
): readonly PendingWrite<RoleIdentity>[] {
  if (writes.length === 0) return [];
  const pending = new Map(writes.flatMap(({ name, value }) => (value === null ? [] : [[name, value] as const])));
  const { broken, links } = identityChain(inventory, changed, "", { changed, pending });
  if (broken?.code !== "ERR_IDENTITY_CYCLE" && broken?.code !== "ERR_IDENTITY_DEPTH") return [];
  const names = new Set(links.map(({ name }) => name));
  return writes.filter(({ name }) => name !== changed.name && names.has(name));
}
