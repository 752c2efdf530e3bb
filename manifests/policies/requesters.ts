import { IRS_24 } from "../../shared/decisions/checks/selectors/trust.ts";
import { SELECTOR_GROUP } from "../../shared/decisions/kubernetes/kinds.ts";
import { NAME_LABEL } from "../../shared/decisions/kubernetes/names.ts";
import { ACCOUNT_MAP, TEAM_MAP } from "../../shared/decisions/annotation-keys.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING, NOT_BEING_DELETED } from "../conditions.ts";
import { DEFINITIONS, type WebhookOptions } from "../webhooks.ts";
import { fieldVariables, not, texts } from "./cel.ts";
import type { Policy, PolicySettings } from "./policy.ts";
import { isController, waiverVariables, WAIVERS } from "./requester.ts";

/** Returns the policy that denies ACK controllers each write of an IAMRoleSelector. Null if no controller is known. */
export function controllerPolicy(settings: PolicySettings): Policy | null {
  const expression = isController(settings);
  if (expression === null) return null;
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
      admits: not(expression),
      path: "spec",
      message: "the requester is an ACK controller, and ACK controllers must not write selectors",
    }],
  };
}

/**
 * Returns the policy for waivers of CustomResourceDefinitions and CARM maps. The policies of the other kinds contain
 * the same check.
 */
export function waiverPolicy(settings: PolicySettings, { ackSystemNamespace }: WebhookOptions): Policy {
  return {
    name: "waivers",
    match: {
      matchPolicy: "Equivalent",
      namespaceSelector: { matchExpressions: [{ key: NAME_LABEL, operator: "In", values: [ackSystemNamespace] }] },
      resourceRules: [
        {
          apiGroups: DEFINITIONS.apiGroups ?? [], apiVersions: DEFINITIONS.apiVersions ?? [],
          resources: DEFINITIONS.resources ?? [], operations: ["CREATE", "UPDATE"], scope: "Cluster",
        },
        {
          apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE", "UPDATE"],
          scope: "Namespaced",
        },
      ],
    },
    conditions: [{
      name: "is-definition-or-carm-map",
      expression: 'request.kind.kind == "ConfigMap" '
        + `? object.metadata.?name.orValue("") in ${texts([ACCOUNT_MAP, TEAM_MAP])} `
        + `: object.?spec.?group.orValue("").endsWith(".${SELECTOR_GROUP}") || `
        + `object.metadata.?name.orValue("") == "iamroleselectors.${SELECTOR_GROUP}"`,
    }],
    variables: [...fieldVariables("annotations", "metadata.annotations", "{}"), ...waiverVariables(settings)],
    checks: [WAIVERS],
  };
}
