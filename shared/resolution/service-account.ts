import { subdomainFaults } from "../formats/names.ts";
import { quote } from "../formats/text.ts";
import { describeIdentity } from "./identity-denials.ts";
import type { ServiceAccountIdentity } from "../model/identity.ts";
import { sessionFaults } from "./role-session.ts";

/** Denies an AWSServiceAccountIdentity for which no token may be requested, or whose session STS would reject. */
interface ServiceAccountDenial {
  readonly code: "ERR_IDENTITY_AUDIENCE" | "ERR_IDENTITY_SESSION";
  readonly message: string;
}

/** The API server accepts these lifetimes of a token: k8s.io/kubernetes pkg/apis/authentication/validation. */
export const EXPIRATION_LIMITS = { min: 600, max: 2 ** 32 } as const;
export const MAX_AUDIENCES = 10;

/** Returns the denial of the identity, or null. A token of another audience can be a credential of another service. */
export function serviceAccountDenial(
  identity: ServiceAccountIdentity, allowedAudiences: readonly string[],
): ServiceAccountDenial | null {
  const other = identity.audiences.find((audience) => !allowedAudiences.includes(audience));
  if (other !== undefined) return audienceDenial(identity, other);
  const faults = [
    ...nameFaults(identity), ...sessionFaults(identity), ...tagFaults(identity), ...tokenFaults(identity),
  ];
  if (faults.length === 0) return null;
  const message = `${describeIdentity(identity)} does not have valid parameters for AssumeRoleWithWebIdentity: `
    + `${faults.join("; ")}. Correct the fields of the identity.`;
  return { code: "ERR_IDENTITY_SESSION", message };
}

function audienceDenial(identity: ServiceAccountIdentity, audience: string): ServiceAccountDenial {
  const message = `The audience ${quote(audience)} of ${describeIdentity(identity)} is not in --allowed-audiences. `
    + "Remove it from spec.audiences. Allow an audience only if no other service, such as the API server, accepts "
    + "tokens with it.";
  return { code: "ERR_IDENTITY_AUDIENCE", message };
}

/** The name is also the name of the ServiceAccount, which is part of the path of a request. */
function nameFaults({ name }: ServiceAccountIdentity): string[] {
  return subdomainFaults(name).length === 0 ? [] : [`${quote(name)} is not the name of a ServiceAccount`];
}

/** The session tags of AssumeRoleWithWebIdentity are part of the token, and the API server writes no tags. */
function tagFaults({ tags, transitiveTags }: ServiceAccountIdentity): string[] {
  if (tags.length === 0 && transitiveTags.length === 0) return [];
  return ["tags and transitiveTags cannot be sent with a token of a ServiceAccount"];
}

function tokenFaults({ audiences, expirationSeconds }: ServiceAccountIdentity): string[] {
  const { min, max } = EXPIRATION_LIMITS;
  const faults: string[] = [];
  if (audiences.length > MAX_AUDIENCES) {
    faults.push(`audiences has ${audiences.length} values, more than ${MAX_AUDIENCES}`);
  }
  if (expirationSeconds < min || expirationSeconds > max) {
    faults.push(`expirationSeconds ${expirationSeconds} is not ${min} to ${max}`);
  }
  return faults;
}
