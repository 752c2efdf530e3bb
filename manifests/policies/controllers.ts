import { CM_15 } from "../../shared/decisions/checks/configmaps/place.ts";
import { IRS_24 } from "../../shared/decisions/checks/selectors/trust.ts";
import { NAME_LABEL } from "../../shared/decisions/kubernetes/names.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING, IS_CARM_MAP, NOT_BEING_DELETED } from "../conditions.ts";
import { configMaps, EVERY_WRITE, selectors } from "../webhook-rules.ts";
import type { WebhookOptions } from "../webhooks.ts";
import { not } from "./cel.ts";
import type { Policy, PolicyCheck, PolicySettings } from "./policy.ts";
import { isController } from "./requester.ts";

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
