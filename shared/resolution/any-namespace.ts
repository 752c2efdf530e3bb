import { allowsNamespace, requirementsOf } from "../model/allowed-namespaces.ts";
import { identityChain, referringNamespace } from "./identity-chain.ts";
import type { Identity, RoleIdentity } from "../model/identity.ts";
import { SERVICE_ACCOUNT_IDENTITY } from "../contract/capa-kinds.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { grantIdentity, type IdentityGrant } from "./grant-by-identity.ts";
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

/** The number of label requirements that one search evaluates. The limit bounds the search for a hostile identity. */
const MAX_STEPS = 300_000;

/**
 * Grants the role of the identity to the first namespace that may use it: `--scope-namespace`, or else any namespace of
 * the inventory. Returns null if no namespace may use the identity, or if its chain or its parameters are not valid.
 * Tries fewer namespaces if the selectors of the chain have many requirements.
 */
export function grantToAnyNamespace(
  inventory: Inventory, { kind, name }: Pick<RoleIdentity, "kind" | "name">,
  query: Pick<RoleQuery, "scope" | "settings">,
): IdentityGrant | null {
  const chain = completeChain(inventory, { kind, name });
  if (chain === null) return null;
  const namespaces = query.scope === null ? inventory.namespaces.names : [query.scope];
  // No source of a role identity is a service account identity.
  const rules = chain.filter((one) => one.kind !== SERVICE_ACCOUNT_IDENTITY).map((one) => one.allowedNamespaces);
  const stepsEach = rules.reduce((sum, rule) => sum + 1 + requirementsOf(rule), 0);
  let steps = 0;
  for (const namespace of namespaces) {
    if (steps > MAX_STEPS) return null;
    steps += stepsEach;
    const referring = referringNamespace(inventory, namespace);
    if (!rules.every((rule) => allowsNamespace(rule, referring).allowed)) continue;
    // No chain of a role identity contains a token, so no audience is needed.
    const grant = grantIdentity(inventory, { kind, name, namespace }, { ...query, allowedAudiences: [] });
    return grant.verdict === "identity" ? grant : null;
  }
  return null;
}
