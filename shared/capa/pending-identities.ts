import {
  CAPA_VERSION, identityPlural, INFRASTRUCTURE_GROUP, isCAPAKind, ROLE_IDENTITY,
} from "../core/capa-kinds.ts";
import type { Runtime } from "../core/context.ts";
import type { Inventory } from "../core/inventory.ts";
import { type NamedChange, possibleStates } from "../core/pending-changes.ts";
import type { PendingKind } from "../core/review-needs.ts";
import { field, type JsonObject } from "../formats/json.ts";
import { IDENTITIES } from "./identities.ts";
import { identityChain } from "./identity-chain.ts";
import { readIdentity, type RoleIdentity } from "./identity.ts";

/** How admitted changes of AWSClusterRoleIdentities are compared, which can form a cycle. */
export function pendingIdentities(runtime: Runtime): PendingKind<RoleIdentity> {
  const read = (object: JsonObject): RoleIdentity | null => {
    const identity = readIdentity(object, runtime);
    return identity?.kind === ROLE_IDENTITY ? identity : null;
  };
  return {
    kind: ROLE_IDENTITY,
    path: `/apis/${INFRASTRUCTURE_GROUP}/${CAPA_VERSION}/${identityPlural(ROLE_IDENTITY)}`,
    isListed: true,
    stateIn: (inventory, name) => inventory.of(IDENTITIES).get({ kind: ROLE_IDENTITY, name }, "") ?? undefined,
    read,
    reduce(object) {
      const { apiVersion, kind, metadata, spec } = object;
      return {
        apiVersion, kind, metadata: { name: field(metadata, "name") },
        spec: { sourceIdentityRef: field(spec, "sourceIdentityRef"), roleARN: field(spec, "roleARN") },
      };
    },
    widen: ({ spec, ...object }) => ({ ...object, spec: { sourceIdentityRef: field(spec, "sourceIdentityRef") } }),
    compare({ object, operation }, inventory) {
      const changed = operation === "DELETE" ? null : read(object);
      return changed === null ? null : {
        related: (writes) => inBrokenChain(changed, writes, inventory),
        // oxlint-disable-next-line require-yield -- identities are few
        * atRisk() {
          return isCAPAKind;
        },
        inputWith: (pending) => ({ pendingIdentities: pending }),
      };
    },
  };
}

/**
 * Returns the pending changes of the other identities in the chain of the identity, if the chain has a cycle or too
 * many roles when the changes take effect. Otherwise, no pending change affects the checks.
 */
function inBrokenChain<Write extends NamedChange<RoleIdentity>>(
  changed: RoleIdentity, writes: readonly Write[], inventory: Inventory,
): readonly Write[] {
  const names = new Set(possibleStates(writes).flatMap(({ writes: pending }) => {
    const { broken, links } = identityChain(inventory, changed, "", { changed, pending });
    const isBroken = broken?.code === "ERR_IDENTITY_CYCLE" || broken?.code === "ERR_IDENTITY_DEPTH";
    return isBroken ? links.map(({ name }) => name) : [];
  }));
  return writes.filter(({ name }) => name !== changed.name && names.has(name));
}
