import type { SteadyClock } from "../../shared/clock.ts";
import {
  type Identity, identityKey, type RoleIdentity, type ServiceAccountIdentity,
} from "../../shared/model/identity.ts";
import { describeIdentity } from "../../shared/resolution/identity-denials.ts";
import { BoundedMap } from "../../shared/server/bounded-map.ts";
import { UpstreamSTSError } from "../sts-upstream/errors.ts";
import type { RoleGrant } from "../../shared/resolution/grant.ts";
import { accountOfARN, parseARN } from "../../shared/formats/arn.ts";
import { quote } from "../../shared/formats/text.ts";

/** An identity whose role STS rejected. */
export interface RefusedRole {
  readonly identity: RoleIdentity | ServiceAccountIdentity;
  /** Returns sentences that describe the fix; "" if the fix is unknown. */
  readonly fix: () => Promise<string>;
}

/** The error of a chain in which STS rejected the role of one identity. */
export class RefusedRoleError extends UpstreamSTSError {
  /** The identity whose role STS rejected, which can be a source of the requested identity. */
  readonly identity: RoleIdentity;

  constructor(identity: RoleIdentity, cause: UpstreamSTSError) {
    super(`${describeIdentity(identity)} cannot be assumed: ${cause.message}`, cause);
    this.identity = identity;
  }
}

interface RefusedIdentitiesPorts {
  readonly clock: Pick<SteadyClock, "steady">;
  /** Whether the inventory contains the identity without a change. */
  readonly isCurrent: (identity: Identity) => boolean;
}

interface Refusal {
  readonly identity: Identity;
  /** The steady time of the last rejected call. */
  readonly atMs: number;
}

/** How long an identity counts as refused after a rejected call, in ms. By default, an Event lives as long. */
const REFUSED_MS = 60 * 60_000;
const MAX_IDENTITIES = 10_000;

/**
 * The identities whose role STS rejected in the last call. An identity is removed when its role is assumed or when it
 * changes, and one hour after the last call, because its role may never be requested again.
 */
export class RefusedIdentities {
  readonly #ports: RefusedIdentitiesPorts;
  /** By the key of the identity. */
  readonly #refused = new BoundedMap<string, Refusal>(MAX_IDENTITIES);

  constructor(ports: RefusedIdentitiesPorts) {
    this.#ports = ports;
  }

  add(identity: Identity): void {
    this.#refused.set(identityKey(identity), { identity, atMs: this.#ports.clock.steady() });
  }

  remove(identity: Identity): void {
    this.#refused.delete(identityKey(identity));
  }

  has(identity: Identity): boolean {
    const refusal = this.#refused.get(identityKey(identity));
    return refusal !== undefined && this.#isCurrent(refusal);
  }

  get size(): number {
    for (const [key, refusal] of this.#refused) if (!this.#isCurrent(refusal)) this.#refused.delete(key);
    return this.#refused.size;
  }

  #isCurrent({ identity, atMs }: Refusal): boolean {
    const { clock, isCurrent } = this.#ports;
    return clock.steady() - atMs < REFUSED_MS && isCurrent(identity);
  }
}

/** Returns a fix that describes the required trust policy. The fix omits the external ID, which can be confidential. */
export function trustPolicyFix({ roleARN, extras }: RoleGrant, identity: string | null): string {
  const hasSourceIdentity = extras.sourceIdentity !== null;
  return fixText({ ...extras, roleARN, hasSourceIdentity, caller: identity, of: "selector", field: "spec.arn" });
}

/** Returns the fix for the role of an identity. `caller` is the ARN of its source; null if the ARN is unknown. */
export function identityTrustPolicyFix(identity: RoleIdentity, caller: string | null): string {
  const roleARN = identity.roleARN ?? "";
  return fixText({
    ...identity, roleARN, hasSourceIdentity: false, caller, of: "identity", field: "spec.roleARN",
  });
}

interface RequiredTrust extends Pick<RoleIdentity, "externalID" | "tags"> {
  readonly roleARN: string;
  readonly hasSourceIdentity: boolean;
  /** The ARN that assumes the role; null for the base identity of the sidecar before STS has verified it. */
  readonly caller: string | null;
  /** The object that contains the role, and the field of the role. */
  readonly of: "selector" | "identity";
  readonly field: string;
}

function fixText({ roleARN, externalID, tags, hasSourceIdentity, caller, of, field }: RequiredTrust): string {
  const actions = ["sts:AssumeRole"];
  if (tags.length > 0) actions.push("sts:TagSession");
  if (hasSourceIdentity) actions.push("sts:SetSourceIdentity");
  const unknown = of === "selector" ? "the base identity of the sidecar" : "the source of the identity";
  const principal = caller === null ? unknown : principalOf(caller);
  const condition = externalID === null ? "" : `, on condition that sts:ExternalId is the external ID of the ${of}`;
  return (
    `in the trust policy of ${roleARN}, allow ${actions.join(", ")} to ${principal}${condition}; ` +
    `or correct ${field} of the ${of}`
  );
}

/**
 * Returns the principal that a trust policy must name to allow the caller. For a role session, this is the role: the
 * name of a session, such as `aws-sdk-js-session-1790000000000`, changes with each start, and the policy would then
 * stop working. The ARN of a session does not contain the path of the role.
 */
function principalOf(caller: string): string {
  const { partition, service, accountID, resource } = parseARN(caller) ?? NO_ARN;
  const [type, name] = resource.split("/", 2);
  if (service !== "sts" || type !== "assumed-role" || name === undefined) return caller;
  return `arn:${partition}:iam::${accountID}:role/${name} (insert the path of the role, if it has one)`;
}

const NO_ARN = { partition: "", service: "", accountID: "", resource: "" };

/** What the fixes name. All fields are texts for messages. */
interface Facts {
  readonly roleARN: string;
  readonly provider: string;
  readonly audiences: string;
  /** The conditions of the trust policy. */
  readonly claims: string;
}

function accessDenied({ roleARN, provider, claims }: Facts): string {
  return `In the trust policy of ${roleARN}, allow sts:AssumeRoleWithWebIdentity to ${provider}, on condition that `
    + `${claims}.`;
}

function expiredToken(): string {
  return "The sidecar requests a new token for each call. Synchronize the clock of the API server.";
}

/**
 * The fix for each error code that is specific to the action:
 * https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
 */
const FIXES: ReadonlyMap<string, (facts: Facts) => string> = new Map([
  ["AccessDenied", accessDenied],
  ["AccessDeniedException", accessDenied],
  ["ExpiredToken", expiredToken],
  ["ExpiredTokenException", expiredToken],
  ["IDPRejectedClaim", ({ roleARN, provider, claims }) =>
    `Compare the token with the trust policy of ${roleARN} and with the audiences of ${provider}: ${claims}.`],
  ["InvalidIdentityToken", ({ roleARN, provider, audiences }) =>
    `In account ${accountOfARN(roleARN) ?? ""}, create ${provider}, with the audience ${audiences}. STS must be able `
      + "to read the public keys of the issuer."],
  ["IDPCommunicationError", ({ provider }) =>
    `STS must be able to read the public keys of ${provider}. The sidecar retries with a new token.`],
]);

/**
 * Returns the fix for an error of AssumeRoleWithWebIdentity; "" if the error is not specific to this action. `issuer`
 * is the issuer of the token; "" if it is unknown.
 */
export function webIdentityFix(identity: ServiceAccountIdentity, stsCode: string, issuer: string): string {
  const { namespace, name, roleARN } = identity;
  const audiences = identity.audiences.map(quote).join(" or ");
  const claims = `sub is system:serviceaccount:${namespace}:${name} and aud is ${audiences}`;
  const provider = `the OIDC provider of the ${issuer === "" ? "cluster" : `issuer ${quote(issuer)}`}`;
  return FIXES.get(stsCode)?.({ roleARN: roleARN ?? "", provider, audiences, claims }) ?? "";
}
