import type { RoleGrant } from "../shared/decisions/grants/grant.ts";

/** Returns a fix that describes the required trust policy. The fix omits the external ID, which is a secret. */
export function trustPolicyFix({ roleARN, extras }: RoleGrant, identity: string | null): string {
  const { externalID, sourceIdentity, tags } = extras;
  const actions = ["sts:AssumeRole"];
  if (tags.length > 0) actions.push("sts:TagSession");
  if (sourceIdentity !== null) actions.push("sts:SetSourceIdentity");
  const principal = identity ?? "the base identity of the sidecar";
  const condition = externalID === null ? "" : ", on condition that sts:ExternalId is the external ID of the selector";
  return (
    `in the trust policy of ${roleARN}, allow ${actions.join(", ")} to ${principal}${condition}; ` +
    "or correct spec.arn of the selector"
  );
}
