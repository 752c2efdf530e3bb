import { describeIdentity, type IdentityReference } from "../../shared/core/capa-kinds.ts";
import type { RoleIdentity, ServiceAccountIdentity } from "../../shared/capa/identity.ts";
import type { RoleOwner } from "../../shared/core/role-target.ts";
import { MAX_CHAINED_SECONDS, type SessionRequest } from "../../shared/core/session.ts";
import { type RefusedAssumeRole, type RefusedToken, sentBy } from "../../shared/refusals/refused-call.ts";

/** Returns the parameters of the session of an identity. By default, a session lasts one hour. */
export function sessionRequest(
  identity: RoleIdentity | ServiceAccountIdentity, sessionName: string,
): SessionRequest {
  return {
    roleARN: identity.roleARN ?? "",
    sessionName: identity.sessionName ?? sessionName,
    durationSeconds: identity.durationSeconds ?? MAX_CHAINED_SECONDS,
    externalID: "externalID" in identity ? identity.externalID : null,
    sourceIdentity: null,
    tags: identity.tags,
    transitiveTagKeys: identity.transitiveTags,
    policy: identity.inlinePolicy,
    policyARNs: identity.policyARNs,
  };
}

/** How texts name an identity. */
export const IDENTITY_OWNER: RoleOwner = {
  noun: "identity", roleField: "spec.roleARN of the identity", durationField: "durationSeconds of the identity",
  caller: "the source of the identity",
};

/** Returns what sets the duration of the session of the identity, for the log. */
export function durationField(identity: IdentityReference): string {
  return `durationSeconds of ${describeIdentity(identity)}`;
}

type Signer = Pick<RefusedAssumeRole, "caller" | "base" | "hasPodTags" | "hasIdentityTags">;

/** Returns what explains why STS refused the role of an identity. */
export function roleCall(request: SessionRequest, signer: Signer): RefusedAssumeRole {
  return { ...signer, action: "AssumeRole", roleARN: request.roleARN, owner: IDENTITY_OWNER, sent: sentBy(request) };
}

/** Returns what explains why STS refused a token of an identity. */
export function tokenCall(
  { roleARN, namespace, name, audiences }: ServiceAccountIdentity, issuer: string,
): RefusedToken {
  const subject = `system:serviceaccount:${namespace}:${name}`;
  return { action: "AssumeRoleWithWebIdentity", roleARN: roleARN ?? "", issuer, audiences, subject };
}
