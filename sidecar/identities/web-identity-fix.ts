import type { ServiceAccountIdentity } from "../../shared/decisions/identities/identity.ts";
import { accountOfARN } from "../../shared/decisions/kubernetes/arn.ts";
import { quote } from "../../shared/decisions/kubernetes/text.ts";

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
