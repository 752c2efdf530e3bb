import { identityChain } from "../identities/chain.ts";
import { describeIdentity } from "../identities/denials.ts";
import type { IdentityReference, RoleIdentity, StaticIdentity } from "../identities/identity.ts";
import { INFRASTRUCTURE_GROUP, ROLE_IDENTITY, SERVICE_ACCOUNT_IDENTITY, STATIC_IDENTITY } from "../identities/kinds.ts";
import { chainedDurationDenial, roleSessionDenial } from "../identities/role-session.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { accountOfARN } from "../kubernetes/arn.ts";
import { deny, type Denial, type RoleQuery, unknownNamespace } from "./grant.ts";

/** A request for the credentials of a CAPA identity, as an object in `namespace` uses them. */
export interface IdentityRequest extends IdentityReference {
  readonly namespace: string;
}

/** The credentials of an identity other than the controller identity. */
export interface IdentityGrant {
  readonly verdict: "identity";
  /** The identity that contains the keys that assume the first role; null for the base identity. */
  readonly source: StaticIdentity | null;
  /** The roles in the order in which they are assumed. [] if the credentials are those of `source`. */
  readonly roles: readonly RoleIdentity[];
}

/** Whether the sidecar issues credentials of CAPA identities. */
export function servesIdentities({ groups }: Pick<RoleQuery, "groups">): boolean {
  return groups.includes(INFRASTRUCTURE_GROUP);
}

/**
 * Grants the credentials of an identity if every identity of its chain allows the namespace and has valid parameters.
 * The controller identity grants the base identity.
 */
export function grantIdentity(
  inventory: Inventory, { namespace, ...reference }: IdentityRequest, query: Pick<RoleQuery, "scope" | "settings">,
): IdentityGrant | { readonly verdict: "base" } | Denial {
  if (query.scope !== null && namespace !== query.scope) {
    const message = `This sidecar serves only namespace ${query.scope} (--scope-namespace), not ${namespace}.`;
    return deny("ERR_SELECTOR_NOT_GRANTED", message);
  }
  const unknown = unknownNamespace(inventory, namespace);
  if (unknown !== null) return unknown;
  if (reference.kind === SERVICE_ACCOUNT_IDENTITY) return denyServiceAccount(reference);
  const { identities, denial } = identityChain(inventory, reference, namespace);
  if (denial !== null) return deny(denial.code, denial.message);
  const roles = identities.filter((identity) => identity.kind === ROLE_IDENTITY).toReversed();
  const source = identities.find((identity) => identity.kind === STATIC_IDENTITY) ?? null;
  if (roles.length === 0 && source === null) return { verdict: "base" };
  return denyRoles(roles, query) ?? { verdict: "identity", source, roles };
}

function denyServiceAccount(reference: IdentityReference): Denial {
  const message = `${describeIdentity(reference)} cannot be used: the sidecar does not issue credentials of this `
    + "kind. Use another kind of identity.";
  return deny("ERR_IDENTITY_KIND", message);
}

/** Returns the denial of the first role that cannot be assumed, or null. `roles` are in the order of their calls. */
function denyRoles(roles: readonly RoleIdentity[], query: Pick<RoleQuery, "settings">): Denial | null {
  for (const [i, role] of roles.entries()) {
    const isChained = i > 0;
    const found = roleSessionDenial(role) ?? accountDenial(role, query)
      ?? (isChained ? chainedDurationDenial(role) : null);
    if (found !== null) return deny(found.code, found.message);
  }
  return null;
}

function accountDenial(
  role: RoleIdentity, { settings: { allowedAccounts } }: Pick<RoleQuery, "settings">,
): Pick<Denial, "code" | "message"> | null {
  const accountID = String(accountOfARN(String(role.roleARN)));
  if (allowedAccounts.length === 0 || allowedAccounts.includes(accountID)) return null;
  const message = `The role of ${describeIdentity(role)} is in account ${accountID}, which is not in `
    + "--allowed-accounts. Use a role of an allowed account, or add the account.";
  return { code: "ERR_IDENTITY_ACCOUNT", message };
}
