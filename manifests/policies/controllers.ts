import { IRS_24 } from "../../shared/decisions/checks/selectors/trust.ts";
import { SELECTOR_GROUP } from "../../shared/decisions/kubernetes/kinds.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING, NOT_BEING_DELETED } from "../conditions.ts";
import { not } from "./cel.ts";
import type { Policy, PolicySettings } from "./policy.ts";
import { isController } from "./requester.ts";

/** Returns the policy that denies ACK controllers each write of an IAMRoleSelector. */
export function controllerPolicy(settings: PolicySettings): Policy {
  return {
    name: "controllers",
    match: {
      matchPolicy: "Equivalent",
      resourceRules: [{
        apiGroups: [SELECTOR_GROUP], apiVersions: ["v1alpha1"], resources: ["iamroleselectors"],
        operations: ["CREATE", "UPDATE", "DELETE"], scope: "Cluster",
      }],
    },
    conditions: [NOT_BEING_DELETED, CHANGES_MORE_THAN_BOOKKEEPING],
    variables: [],
    checks: [{
      check: IRS_24,
      admits: not(isController(settings)),
      path: "spec",
      message: "the requester is an ACK controller, and ACK controllers must not write selectors",
    }],
  };
}
