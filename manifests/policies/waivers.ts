import { ACCOUNT_MAP, TEAM_MAP } from "../../shared/decisions/annotation-keys.ts";
import { SELECTOR_GROUP } from "../../shared/decisions/kubernetes/kinds.ts";
import { NAME_LABEL } from "../../shared/decisions/kubernetes/names.ts";
import { configMaps, CREATE_AND_UPDATE, kindDefinitions } from "../webhook-rules.ts";
import type { WebhookOptions } from "../webhooks.ts";
import { fieldVariables, texts } from "./cel.ts";
import type { Policy, PolicySettings } from "./policy.ts";
import { waiverVariables, WAIVERS } from "./requester.ts";

/**
 * Returns the policy for waivers of CustomResourceDefinitions and CARM maps. The policies of the other kinds contain
 * the same check.
 */
export function waiverPolicy(
  settings: PolicySettings, { ackSystemNamespace }: Pick<WebhookOptions, "ackSystemNamespace">,
): Policy {
  return {
    name: "waivers",
    match: {
      matchPolicy: "Equivalent",
      namespaceSelector: { matchExpressions: [{ key: NAME_LABEL, operator: "In", values: [ackSystemNamespace] }] },
      resourceRules: [kindDefinitions(CREATE_AND_UPDATE), configMaps(CREATE_AND_UPDATE)],
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
