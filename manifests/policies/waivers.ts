import type { V1MatchCondition } from "@kubernetes/client-node";
import { CM_15 } from "../../shared/checks/carm-map-checks.ts";
import { IRS_24 } from "../../shared/checks/selector-trust.ts";
import { SELECTOR_GROUP } from "../../shared/contract/ack-groups.ts";
import { ACCOUNT_MAP, TEAM_MAP } from "../../shared/contract/annotation-keys.ts";
import { NAME_LABEL } from "../../shared/formats/names.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING, DELETES_OR_WAIVES, IS_CARM_MAP, NOT_BEING_DELETED } from "../conditions.ts";
import {
  ackResources, CLUSTERS, configMaps, CREATE_AND_UPDATE, EVERY_WRITE, FIELD_EXPORTS, IDENTITIES, kindDefinitions,
  onlyStatus, selectors, withStatus,
} from "../webhook-rules.ts";
import type { WebhookOptions } from "../webhooks.ts";
import { fieldVariables, not, text, texts } from "./cel.ts";
import type { Policy, PolicyCheck, PolicySettings } from "./policy.ts";
import { isController, WAIVERS, waiverVariables } from "./requester.ts";

const OF_MAPS = 'request.kind.kind == "ConfigMap"';

/** Returns the policy that denies ACK controllers each write of an IAMRoleSelector or a CARM map. */
export function controllerPolicy(
  settings: PolicySettings, { ackSystemNamespace }: Pick<WebhookOptions, "ackSystemNamespace">,
): Policy {
  const admits = not(isController(settings));
  const check = (entry: PolicyCheck["check"], isOther: string, objects: string, path: string): PolicyCheck => ({
    check: entry,
    admits: `${isOther} || ${admits}`,
    path,
    message: `the requester is an ACK controller, and ACK controllers must not write ${objects}`,
  });
  return {
    name: "controllers",
    match: {
      matchPolicy: "Equivalent",
      // Does not apply to selectors, which are in no namespace.
      namespaceSelector: { matchExpressions: [{ key: NAME_LABEL, operator: "In", values: [ackSystemNamespace] }] },
      resourceRules: [selectors(EVERY_WRITE), configMaps(EVERY_WRITE)],
    },
    conditions: [
      { name: "is-selector-or-carm-map", expression: `!(${OF_MAPS}) || ${IS_CARM_MAP.expression}` },
      // Controllers read a map until its last finalizer is removed.
      { name: NOT_BEING_DELETED.name, expression: `${OF_MAPS} || ${NOT_BEING_DELETED.expression}` },
      CHANGES_MORE_THAN_BOOKKEEPING,
    ],
    variables: [],
    checks: [
      check(IRS_24, OF_MAPS, "selectors", "spec"),
      check(CM_15, not(OF_MAPS), "CARM maps", "data"),
    ],
  };
}

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
