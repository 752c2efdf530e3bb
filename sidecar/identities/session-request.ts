import type { RoleIdentity, ServiceAccountIdentity } from "../../shared/model/identity.ts";
import { MAX_CHAINED_SECONDS, type SessionRequest } from "../../shared/model/session.ts";

export interface IdentitySessionOptions {
  /** The session name of an identity that has no session name. */
  readonly sessionName: string;
  /** The Region of STS; null for a custom endpoint. */
  readonly region: string | null;
}

/** Returns the parameters of the session of an identity. By default, a session lasts one hour. */
export function sessionRequest(
  identity: RoleIdentity | ServiceAccountIdentity, { sessionName }: IdentitySessionOptions,
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
