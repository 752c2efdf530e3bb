import { parseARN, roleARNFaults } from "../formats/arn.ts";
import { quote } from "../formats/text.ts";
import type { Fault, SelectorCheck } from "./check.ts";

const PATH = ["spec", "arn"] as const;
const FIX = "write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME";

export const IRS_01: SelectorCheck = {
  id: "IRS-01",
  severity: "deny",
  waivable: false,
  reason: "Controllers ignore a selector that has no role, and report this only in their log. "
    + "The resources of the selector fall back to the controller's own account.",
  fix: FIX,
  example: "spec: {}",
  *find({ spec }): Iterable<Fault> {
    if ((spec.arn ?? "") !== "") return;
    yield { path: PATH, message: spec.arn === null ? "the role is missing" : "the role is empty", dropsSelector: true };
  },
};

export const IRS_02: SelectorCheck = {
  id: "IRS-02",
  severity: "deny",
  waivable: false,
  reason: "Controllers drop a selector whose ARN they cannot parse. "
    + "The resources of the selector fall back to the controller's own account.",
  fix: FIX,
  example: "spec: {arn: not-an-arn}",
  *find({ spec: { arn } }): Iterable<Fault> {
    if (arn === null || arn === "" || parseARN(arn) !== null) return;
    const cause = arn.startsWith("arn:")
      ? "it has fewer than six parts separated by ':'"
      : "it does not start with arn:";
    yield { path: PATH, message: `${quote(arn)} is not an ARN: ${cause}`, dropsSelector: true };
  },
};

/**
 * The role paths that AWS reserves, and the type of role under each path.
 * Sources: https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_create-service-linked-role.html and, for IAM
 * Identity Center, https://docs.aws.amazon.com/singlesignon/latest/userguide/referencingpermissionsets.html.
 */
const RESERVED_PATHS: Readonly<Record<string, string>> = {
  "role/aws-service-role/": "a service-linked role",
  "role/aws-reserved/": "a role that AWS reserves",
};

export const IRS_03: SelectorCheck = {
  id: "IRS-03",
  severity: "deny",
  waivable: false,
  reason: "Controllers accept any ARN. Later, STS rejects the role, or controllers use an empty account ID. The check "
    + "only warns about service-linked and reserved roles, which only AWS can assume.",
  fix: FIX,
  example: "spec: {arn: 'arn:aws:iam::111122223333:user/jane'}",
  *find({ spec: { arn } }): Iterable<Fault> {
    if (arn === null) return;
    const parsed = parseARN(arn);
    if (parsed === null) return;
    const faults = roleARNFaults(arn, parsed);
    if (faults.length > 0) {
      yield { path: PATH, message: `${quote(arn)} is not the ARN of an IAM role: ${faults.join("; ")}` };
      return;
    }
    for (const [path, type] of Object.entries(RESERVED_PATHS)) {
      if (!parsed.resource.startsWith(path)) continue;
      const message = `${quote(arn)} is ${type}, which only AWS can assume`;
      const fix = "create your own role whose trust policy names the controller's role";
      yield { path: PATH, message, fix, severity: "warn" };
    }
  },
};
