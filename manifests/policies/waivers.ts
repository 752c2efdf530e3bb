import type { V1MatchCondition } from "@kubernetes/client-node";
import { ACCOUNT_MAP, TEAM_MAP } from "../../shared/decisions/annotation-keys.ts";
import { SELECTOR_GROUP } from "../../shared/decisions/kubernetes/kinds.ts";
import { DELETES_OR_WAIVES } from "../conditions.ts";
import {
  ackResources, CLUSTERS, configMaps, CREATE_AND_UPDATE, FIELD_EXPORTS, IDENTITIES, kindDefinitions, onlyStatus,
  selectors, withStatus,
} from "../webhook-rules.ts";
import type { WebhookOptions } from "../webhooks.ts";
import { fieldVariables, text, texts } from "./cel.ts";
import type { Policy, PolicySettings } from "./policy.ts";
import { waiverVariables, WAIVERS } from "./requester.ts";

/** Skips ConfigMaps except CARM maps, and the CustomResourceDefinitions of other projects. */
const IS_CHECKED: V1MatchCondition = {
  name: "is-checked",
  expression: 'request.kind.kind == "ConfigMap" '
    + `? object.metadata.?name.orValue("") in ${texts([ACCOUNT_MAP, TEAM_MAP])} `
    + ': request.kind.kind != "CustomResourceDefinition" || '
    + `object.?spec.?group.orValue("").endsWith(${text(`.${SELECTOR_GROUP}`)}) || `
    + `object.metadata.?name.orValue("") == ${text(`iamroleselectors.${SELECTOR_GROUP}`)}`,
};

/**
 * Returns the policy for waivers of the kinds that have no other policy, and for waivers through the status of every
 * kind. The policies of the other kinds contain the same check.
 */
export function waiverPolicy(settings: PolicySettings, { extraGroups }: Pick<WebhookOptions, "extraGroups">): Policy {
  const ofOtherPolicies = [
    selectors(CREATE_AND_UPDATE), ackResources(extraGroups, CREATE_AND_UPDATE), ...CLUSTERS, FIELD_EXPORTS,
  ];
  return {
    name: "waivers",
    match: {
      matchPolicy: "Equivalent",
      resourceRules: [
        withStatus(kindDefinitions(CREATE_AND_UPDATE)), configMaps(CREATE_AND_UPDATE),
        withStatus({ ...IDENTITIES, operations: CREATE_AND_UPDATE }),
        ...ofOtherPolicies.map(onlyStatus),
      ],
    },
    conditions: [DELETES_OR_WAIVES, IS_CHECKED],
    variables: [...fieldVariables("annotations", "metadata.annotations", "{}"), ...waiverVariables(settings)],
    checks: [WAIVERS],
  };
}
