import { allowsNamespace } from "../identities/allowed-namespaces.ts";
import { identityChain, referringNamespace } from "../identities/chain.ts";
import type { Identity, RoleIdentity } from "../identities/identity.ts";
import { SERVICE_ACCOUNT_IDENTITY } from "../identities/kinds.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { grantIdentity, type IdentityGrant } from "./by-identity.ts";
import type { RoleQuery } from "./grant.ts";

/**
 * Returns the chain of the role identity, from the identity to the source of the credentials. Returns null if a
 * reference of the chain cannot be followed.
 */
export function completeChain(
  inventory: Inventory, { kind, name }: Pick<RoleIdentity, "kind" | "name">,
): readonly Identity[] | null {
  const { identities, broken } = identityChain(inventory, { kind, name }, "");
  return broken === null ? identities : null;
}

/**
 * Grants the role of the identity to the first namespace that may use it: `--scope-namespace`, or else any namespace of
 * the inventory. Returns null if no namespace may use the identity, or if its chain or its parameters are not valid.
 */
export function grantToAnyNamespace(
  inventory: Inventory, { kind, name }: Pick<RoleIdentity, "kind" | "name">,
  query: Pick<RoleQuery, "scope" | "settings">,
): IdentityGrant | null {
  const chain = completeChain(inventory, { kind, name });
  if (chain === null) return null;
  const namespaces = query.scope === null ? inventory.namespaces.names : [query.scope];
  for (const namespace of namespaces) {
    if (!allowsAll(chain, inventory, namespace)) continue;
    // No chain of a role identity contains a token, so no audience is needed.
    const grant = grantIdentity(inventory, { kind, name, namespace }, { ...query, allowedAudiences: [] });
    return grant.verdict === "identity" ? grant : null;
  }
  return null;
}

/** Whether every identity of the chain allows the namespace. */
function allowsAll(chain: readonly Identity[], inventory: Inventory, name: string): boolean {
  const namespace = referringNamespace(inventory, name);
  return chain.every((identity) => (
    identity.kind !== SERVICE_ACCOUNT_IDENTITY && allowsNamespace(identity.allowedNamespaces, namespace).allowed
  ));
}
