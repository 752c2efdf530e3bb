import { IDENTITIES } from "./identities.ts";
import { identityChain, referringNamespace } from "./identity-chain.ts";
import type { Identity, RoleIdentity, ServiceAccountIdentity, StaticIdentity } from "./identity.ts";
import {
  describeIdentity, type IdentityReference, INFRASTRUCTURE_GROUP, ROLE_IDENTITY, SERVICE_ACCOUNT_IDENTITY,
  STATIC_IDENTITY,
} from "../core/capa-kinds.ts";
import { chainedDurationDenial, roleSessionDenial, serviceAccountDenial } from "./role-session.ts";
import type { Inventory } from "../core/inventory.ts";
import { accountOfARN } from "../formats/arn.ts";
import { type Denial, deny, type RoleQuery, unknownNamespace } from "../core/grant.ts";
import { allowsNamespace, requirementsOf } from "./allowed-namespaces.ts";

/** A request for the credentials of a CAPA identity, as an object in `namespace` uses them. */
interface IdentityRequest extends IdentityReference {
  readonly namespace: string;
}

/** The credentials of an identity other than the controller identity. */
export interface IdentityGrant {
  readonly verdict: "identity";
  /**
   * The identity that contains the keys that assume the first role; null for the base identity. A service account
   * identity is not the source of any role.
   */
  readonly source: StaticIdentity | ServiceAccountIdentity | null;
  /** The roles in the order in which they are assumed. [] if the credentials are those of `source`. */
  readonly roles: readonly RoleIdentity[];
}

/** Returns the identity whose credentials are granted; null for those of the base identity. */
export function identityOfGrant({ source, roles }: IdentityGrant): Identity | null {
  return roles.at(-1) ?? source;
}

/** The settings of decisions on identities. */
export interface IdentityQuery extends Pick<RoleQuery, "scope" | "settings"> {
  /** The audiences for which the sidecar may request tokens of ServiceAccounts. */
  readonly allowedAudiences: readonly string[];
}

/** Whether the sidecar issues credentials of CAPA identities. */
export function servesIdentities({ groups }: Pick<RoleQuery, "groups">): boolean {
  return groups.includes(INFRASTRUCTURE_GROUP);
}

/**
 * Grants the credentials of an identity if every identity of its chain allows the namespace and has valid parameters.
 * The controller identity grants the base identity. A service account identity is granted with each runtime, because
 * the client of the sidecar is not shipped CAPA, which does not have this kind.
 */
export function grantIdentity(
  inventory: Inventory, { namespace, ...reference }: IdentityRequest, query: IdentityQuery,
): IdentityGrant | { readonly verdict: "base" } | Denial {
  if (query.scope !== null && namespace !== query.scope) {
    const message = `This sidecar serves only namespace ${query.scope} (--scope-namespace), not ${namespace}.`;
    return deny("ERR_SELECTOR_NOT_GRANTED", message);
  }
  const unknown = unknownNamespace(inventory, namespace);
  if (unknown !== null) return unknown;
  const { identities, denial, links } = identityChain(inventory, reference, namespace);
  if (denial === null) return grantChain(identities, query);
  return unlistedKind(inventory, links.at(-1)?.kind, denial) ?? deny(denial.code, denial.message);
}

/**
 * Returns a temporary denial if the kind of a missing identity has not been listed: its CustomResourceDefinition is
 * new, or has changed. A kind that is not listed is never treated as empty.
 */
function unlistedKind(inventory: Inventory, kind: string | undefined, { code }: Pick<Denial, "code">): Denial | null {
  const isUnlisted = inventory.unlisted(IDENTITIES).has(`${kind}.${INFRASTRUCTURE_GROUP}`);
  if (code !== "ERR_IDENTITY_UNKNOWN" || !isUnlisted) return null;
  const message = `The identities of kind ${kind} are not listed yet. Retry in a moment. If the error persists, `
    + "/readyz states its cause.";
  return deny("ERR_NOT_READY", message);
}

/** Grants an allowed chain. `identities` starts with the requested identity. */
function grantChain(identities: readonly Identity[], query: IdentityQuery): ReturnType<typeof grantIdentity> {
  const [requested] = identities;
  if (requested?.kind === SERVICE_ACCOUNT_IDENTITY) {
    return denyAccount(requested, query) ?? { verdict: "identity", source: requested, roles: [] };
  }
  const roles = identities.filter((identity) => identity.kind === ROLE_IDENTITY).toReversed();
  const source = identities.find((identity) => identity.kind === STATIC_IDENTITY) ?? null;
  if (roles.length === 0 && source === null) return { verdict: "base" };
  return denyRoles(roles, query) ?? { verdict: "identity", source, roles };
}

function denyAccount(account: ServiceAccountIdentity, query: IdentityQuery): Denial | null {
  const found = serviceAccountDenial(account, query.allowedAudiences) ?? accountDenial(account, query);
  return found === null ? null : deny(found.code, found.message);
}

/** Returns the denial of the first role that cannot be assumed, or null. `roles` are in the order of their calls. */
function denyRoles(roles: readonly RoleIdentity[], query: IdentityQuery): Denial | null {
  for (const [i, role] of roles.entries()) {
    const isChained = i > 0;
    const found = roleSessionDenial(role) ?? accountDenial(role, query)
      ?? (isChained ? chainedDurationDenial(role) : null);
    if (found !== null) return deny(found.code, found.message);
  }
  return null;
}

function accountDenial(
  role: RoleIdentity | ServiceAccountIdentity, { settings: { allowedAccounts } }: IdentityQuery,
): Pick<Denial, "code" | "message"> | null {
  const accountID = String(accountOfARN(String(role.roleARN)));
  if (allowedAccounts.length === 0 || allowedAccounts.includes(accountID)) return null;
  const message = `The role of ${describeIdentity(role)} is in account ${accountID}, which is not in `
    + "--allowed-accounts. Use a role of an allowed account, or add the account.";
  return { code: "ERR_IDENTITY_ACCOUNT", message };
}

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
