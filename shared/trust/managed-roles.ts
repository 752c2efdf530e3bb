import type { IAMData } from "./iam-data.ts";
import type { IAMRole } from "./iam-objects.ts";
import { trustedBy } from "./trusted.ts";

/** The path of service-linked roles, which IAM reserves for services. */
const SERVICE_LINKED = /^arn:[^:]*:iam::[0-9]{12}:role\/aws-service-role\/([^/]+)\//;
/** The path of the roles that IAM Identity Center creates for permission sets. */
const IDENTITY_CENTER = /^arn:[^:]*:iam::[0-9]{12}:role\/aws-reserved\/sso\.amazonaws\.com\//;

/**
 * Returns what to do about a role whose trust policy the account cannot edit; null for other roles. Sources:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_update-role-trust-policy.html, and
 * https://docs.aws.amazon.com/singlesignon/latest/userguide/referencingpermissionsets.html
 */
export function fixOfManagedRole(roleARN: string): string | null {
  const [, service] = SERVICE_LINKED.exec(roleARN) ?? [];
  if (service !== undefined) return `only ${service} can change this service-linked role; pass it with --intended`;
  if (!IDENTITY_CENTER.test(roleARN)) return null;
  return "only IAM Identity Center can change this role; change its assignments there, or pass it with --intended";
}

/** Whether a role is certainly a service-linked one: IAM has stored it, and it lets in only services. */
export function isServiceLinked({ arn, trust, isStored }: IAMRole, data: IAMData): boolean {
  if (!isStored || trust === null || !SERVICE_LINKED.test(arn)) return false;
  const { policy } = data.parse(trust, "trust");
  return policy !== null && trustedBy(policy).every(({ kind }) => kind === "service");
}
