import { completeChain, grantToAnyNamespace, type IdentityGrant } from "../../shared/capa/grant-by-identity.ts";
import { IDENTITIES } from "../../shared/capa/identities.ts";
import type { Identity, RoleIdentity } from "../../shared/capa/identity.ts";
import { ROLE_IDENTITY } from "../../shared/core/capa-kinds.ts";
import type { RoleQuery } from "../../shared/core/grant.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import type { ProbedRoles, ProbeTarget } from "../probe/probed-roles.ts";
import { RefusedRoleError } from "./refused-identities.ts";

interface ProbedIdentitiesPorts {
  readonly inventory: Inventory;
  readonly query: Pick<RoleQuery, "scope" | "settings">;
  /** Rejects with RefusedRoleError if STS rejects a role of the chain. */
  readonly assume: (grant: IdentityGrant) => Promise<unknown>;
  /** Whether STS rejected the role of the identity in the last call. */
  readonly isRefused: (identity: Identity) => boolean;
}

/** Returns the roles of the AWSClusterRoleIdentities whose chain is complete, for check CI-35. */
export function probedIdentities({ inventory, query, assume, isRefused }: ProbedIdentitiesPorts): ProbedRoles {
  const ids = new ObjectIDs();
  return {
    check: "CI-35",
    of: "identity",
    // A namespace that may use the identity can be created, and the role of a source or an access key can be repaired.
    retries: true,
    *roles() {
      for (const identity of inventory.of(IDENTITIES).all()) {
        if (identity.kind !== ROLE_IDENTITY) continue;
        const chain = completeChain(inventory, identity);
        yield [identity.name, chain === null ? null : chain.map((link) => ids.of(link)).join(" ")];
      }
    },
    target(name) {
      const grant = grantToAnyNamespace(inventory, { kind: ROLE_IDENTITY, name }, query);
      const role = grant?.roles.at(-1);
      return grant === null || role === undefined ? null : targetOf(role, grant);
    },
  };

  function targetOf(role: RoleIdentity, grant: IdentityGrant): ProbeTarget {
    const roleARN = role.roleARN ?? "";
    return {
      roleARN,
      isBlocked: grant.roles.some((source) => source !== role && isRefused(source)),
      assume: () => assume(grant),
      isRejected: (error) => !(error instanceof RefusedRoleError) || error.identity.name === role.name,
    };
  }
}

/** Numbers objects. A changed identity is a different object, and has another number. */
class ObjectIDs {
  readonly #ids = new WeakMap<object, number>();
  #last = 0;

  of(object: object): number {
    const id = this.#ids.get(object) ?? ++this.#last;
    this.#ids.set(object, id);
    return id;
  }
}
