import { ACCOUNT_MAP, TEAM_MAP } from "../../shared/contract/annotation-keys.ts";
import { FE_02 } from "../../shared/checks/size-limits.ts";
import { ACCOUNT_PREFIX, FE_01, SYSTEM_NAMESPACE } from "../../shared/checks/field-exports.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING, NOT_BEING_DELETED } from "../conditions.ts";
import { FIELD_EXPORTS } from "../webhook-rules.ts";
import type { WebhookOptions } from "../webhooks.ts";
import { fieldVariables, not, read, text, texts, type Variable } from "./cel.ts";
import type { Policy, PolicySettings } from "./policy.ts";
import { isWaived, usernameOf, userPattern, waiverVariables, WAIVERS } from "./requester.ts";
import { metadataLimitCheck } from "./resources.ts";

export type FieldExportOptions = Pick<WebhookOptions, "namespace" | "ackSystemNamespace"> & {
  /** Null or "" if nothing reads the Secrets of static identities. */
  readonly identitySecretNamespace?: string | null;
};

const TARGET = read("target");
/** The start of a pattern of service accounts. */
const PATTERN_PREFIX = userPattern(ACCOUNT_PREFIX).slice(0, -1);

/** The variable `isProtected`: whether the controller would write into a protected namespace (ownerOfNamespace). */
function protectionVariable(settings: PolicySettings, options: FieldExportOptions): Variable {
  const { namespace, ackSystemNamespace, identitySecretNamespace } = options;
  const { controllerServiceAccounts, capaServiceAccounts, controllerUsers } = settings;
  const named = texts([namespace, ackSystemNamespace, identitySecretNamespace ?? "", SYSTEM_NAMESPACE]);
  const ofAccounts = [controllerServiceAccounts, capaServiceAccounts].map((accounts) => (
    `${texts(accounts.map(usernameOf))}.exists(user, user.startsWith(${text(ACCOUNT_PREFIX)} + ${TARGET} + ":"))`
  ));
  const ofPatterns = texts(controllerUsers.map(userPattern))
    + `.filter(pattern, pattern.startsWith(${text(PATTERN_PREFIX)}))`
    + `.map(pattern, pattern.substring(${PATTERN_PREFIX.length}).split(":")[0])`
    + `.exists(part, !part.matches(${text(String.raw`^(\.\*)*\$?$`)}) && `
    + `${TARGET}.matches("^" + part + "$"))`;
  return { name: "isProtected", expression: [`${TARGET} in ${named}`, ...ofAccounts, ofPatterns].join(" || ") };
}

const CARM_MAPS = texts([ACCOUNT_MAP, TEAM_MAP]);
const HAS_SAME_SPEC = "oldObject != null && has(object.spec) && has(oldObject.spec) && object.spec == oldObject.spec";

/** Returns the policy for FieldExports. Exempts no requester. */
export function fieldExportPolicy(settings: PolicySettings, options: FieldExportOptions): Policy {
  return {
    name: "fieldexports",
    match: { matchPolicy: "Equivalent", resourceRules: [FIELD_EXPORTS] },
    conditions: [NOT_BEING_DELETED, CHANGES_MORE_THAN_BOOKKEEPING],
    variables: [
      ...fieldVariables("annotations", "metadata.annotations", "{}"),
      ...fieldVariables("labels", "metadata.labels", "{}"),
      { name: "named", expression: 'object.?spec.?to.?namespace.orValue("")' },
      // Without a namespace, the controller writes into the namespace of the FieldExport.
      { name: "target", expression: `${read("named")} == "" ? request.namespace : ${read("named")}` },
      protectionVariable(settings, options),
      ...waiverVariables(settings),
    ],
    checks: [
      {
        check: FE_01,
        admits: `${not(`${read("isProtected")} || object.?spec.?to.?name.orValue("") in ${CARM_MAPS}`)} || `
          + `${HAS_SAME_SPEC} || ${isWaived(FE_01)}`,
        path: "spec.to",
        message: "the controller would write into a namespace of controllers or of the webhook, or into a CARM map",
      },
      metadataLimitCheck(FE_02),
      WAIVERS,
    ],
  };
}
