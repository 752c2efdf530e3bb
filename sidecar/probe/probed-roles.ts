import { IDENTITIES } from "../../shared/capa/identities.ts";
import { completeChain, grantToAnyNamespace, type IdentityGrant } from "../../shared/capa/grant-by-identity.ts";
import type { Grant, RoleGrant, RoleQuery } from "../../shared/core/grant.ts";
import type { Identity, RoleIdentity } from "../../shared/capa/identity.ts";
import { ROLE_IDENTITY } from "../../shared/core/capa-kinds.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import type { EffectiveSelector } from "../../shared/core/effective-selector.ts";
import { RefusedRoleError } from "../refused-roles/refused-identities.ts";
import type { UpstreamSTSError } from "../sts-upstream/errors.ts";

/** The roles that one check probes. Each role belongs to an object, and is probed under the name of the object. */
export interface ProbedRoles {
  readonly check: "IRS-27" | "CI-35";
  /** The kind of the objects, in log lines. */
  readonly of: "selector" | "identity";
  /** Yields the name of each object, and a key that changes if its role may change; null if it has no usable role. */
  roles(): Iterable<readonly [name: string, key: string | null]>;
  /** Returns the role of the object, or null if the sidecar does not grant it now. */
  target(name: string): ProbeTarget | null;
}

export interface ProbeTarget {
  readonly roleARN: string;
  /** Whether the role cannot be assumed because STS rejected the role of its source. */
  readonly isBlocked: boolean;
  /** Returns a cached session, or requests a new one at the lowest priority. */
  assume(): Promise<unknown>;
  /** Whether the error is about this role, and not about the role of its source. */
  isRejected(error: UpstreamSTSError): boolean;
}

interface ProbedSelectorsPorts {
  readonly selectors: () => Iterable<EffectiveSelector>;
  /** Decides whether the selector grants its role to the controller of this sidecar. */
  readonly grantOf: (selector: string) => Grant;
  /** Rejects with UpstreamSTSError if STS rejects the call. */
  readonly assume: (grant: RoleGrant) => Promise<unknown>;
}

/** Returns the roles of the selectors, for check IRS-27. */
export function probedSelectors({ selectors, grantOf, assume }: ProbedSelectorsPorts): ProbedRoles {
  /** Without the selectors that have no usable role: a namespace of theirs can be created. */
  const keys = new WeakMap<EffectiveSelector, string>();
  const keyOf = (name: string): string | null => {
    const grant = grantOf(name);
    return grant.verdict === "role" ? JSON.stringify([grant.roleARN, grant.extras]) : null;
  };
  return {
    check: "IRS-27",
    of: "selector",
    *roles() {
      for (const selector of selectors()) {
        const key = keys.get(selector) ?? keyOf(selector.name);
        if (key !== null) keys.set(selector, key);
        yield [selector.name, key];
      }
    },
    target(name) {
      const grant = grantOf(name);
      if (grant.verdict !== "role") return null;
      return { roleARN: grant.roleARN, isBlocked: false, assume: () => assume(grant), isRejected: () => true };
    },
  };
}

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
