import type { RoleGrant } from "../../shared/decisions/grants/grant.ts";
import type { RoleIdentity } from "../../shared/decisions/identities/identity.ts";

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
  const principal = caller ?? (of === "selector" ? "the base identity of the sidecar" : "the source of the identity");
  const condition = externalID === null ? "" : `, on condition that sts:ExternalId is the external ID of the ${of}`;
  return (
    `in the trust policy of ${roleARN}, allow ${actions.join(", ")} to ${principal}${condition}; ` +
    `or correct ${field} of the ${of}`
  );
}
