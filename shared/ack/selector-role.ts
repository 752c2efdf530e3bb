import { quote } from "../formats/text.ts";
import type { Fault } from "../core/check.ts";
import { checkOf } from "../core/field-rule.ts";
import { roleRepairs } from "../core/role-repairs.ts";
import { ARN, FILLED, ROLE_ARN } from "../core/value-types.ts";

const AT = [["spec", "arn"]] as const;
const FIX = "write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME";

const NONE: readonly never[] = [];

export const IRS_01 = checkOf({
  id: "IRS-01",
  severity: "deny",
  reason: "Controllers ignore a selector that has no role, and report this only in their log. "
    + "The resources of the selector fall back to the controller's own account.",
  fix: FIX,
  example: "spec: {}",
  at: AT,
  type: FILLED,
  missing: "the role is missing",
  says: () => "the role is empty",
  policySays: "the role is missing or empty",
  dropsSelector: true,
});

export const IRS_02 = checkOf({
  id: "IRS-02",
  severity: "deny",
  reason: "Controllers drop a selector whose ARN they cannot parse. "
    + "The resources of the selector fall back to the controller's own account.",
  fix: FIX,
  example: "spec: {arn: not-an-arn}",
  at: AT,
  type: ARN,
  within: FILLED,
  says: (value, faults) => `${value} is not an ARN: ${faults}`,
  policySays: "the value is not an ARN",
  dropsSelector: true,
  repairs: (value, path) => roleRepairs(path, value),
});

export const IRS_03 = checkOf({
  id: "IRS-03",
  severity: "deny",
  reason: "Controllers accept any ARN. Later, STS rejects the role, or controllers use an empty account ID. The check "
    + "only warns about service-linked and reserved roles, which only AWS can assume.",
  fix: FIX,
  example: "spec: {arn: 'arn:aws:iam::111122223333:user/jane'}",
  at: AT,
  type: ROLE_ARN,
  within: ARN,
  says: (value, faults) => `${value} is not the ARN of an IAM role: ${faults}`,
  policySays: "the value is not the ARN of an IAM role",
  repairs: (value, path) => roleRepairs(path, value),
}, reservedFaults);

/**
 * The role paths that AWS reserves, and the type of role under each path.
 * Sources: https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_create-service-linked-role.html and, for IAM
 * Identity Center, https://docs.aws.amazon.com/singlesignon/latest/userguide/referencingpermissionsets.html.
 */
const RESERVED_PATHS: ReadonlyMap<string, string> = new Map([
  ["aws-service-role", "a service-linked role"],
  ["aws-reserved", "a role that AWS reserves"],
]);
const FIRST_PATH_SEGMENT = /^[^/]+:role\/([^/]+)\//;

/** Warns about a role that only AWS can assume. */
function reservedFaults(arn: string): readonly Omit<Fault, "path">[] {
  const [, segment = ""] = FIRST_PATH_SEGMENT.exec(arn) ?? [];
  const type = RESERVED_PATHS.get(segment);
  if (type === undefined) return NONE;
  const message = `${quote(arn)} is ${type}, which only AWS can assume`;
  const fix = "create your own role whose trust policy names the controller's role";
  return [{ message, fix, severity: "warn" }];
}
