import { ADOPTED_RESOURCE, FIELD_EXPORT, RESOURCE } from "../../shared/ack/kinds.ts";
import { NAMESPACE } from "../../shared/core/namespace-kind.ts";
import { REQUIRED } from "../../shared/core/own-role-permission.ts";
import { DELETION_POLICY, firstOf } from "../../shared/core/value-types.ts";
import {
  isWaived, METADATA, type Policy, type PolicyCheck, policyCheckOf, type PolicyLists, userPattern, WAIVERS,
  waiverVariables,
} from "./policy.ts";
import { ACK_41 } from "../../shared/ack/adopted-resources.ts";
import { FE_01 } from "../../shared/ack/field-exports.ts";
import { ACCOUNT_PREFIX, SYSTEM_NAMESPACE } from "../../shared/core/protected-namespaces.ts";
import { NS_09 } from "../../shared/ack/namespace-deletion.ts";
import { NS_07, NS_08, NS_17 } from "../../shared/ack/namespace-values.ts";
import {
  ACCOUNT_MAP, DELETION_POLICY_ANNOTATION, SELECTOR_REQUIRED_ANNOTATION, TEAM_MAP,
} from "../../shared/core/annotation-keys.ts";
import { annotationPath, formatFieldPath } from "../../shared/formats/json.ts";
import { CREATE_AND_UPDATE, namespacesOf, rulesOf, type WebhookOptions } from "../webhooks.ts";
import { not, read, text, texts, type Variable } from "../../shared/formats/cel.ts";
import { metadataLimitCheck } from "./resources.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING, CHANGES_NAMESPACE, NOT_BEING_DELETED } from "../../shared/core/conditions.ts";

/** The start of a URL with one of the allowed hosts. */
const ALLOWED = '"(?i)^[a-z][a-z0-9+.-]*://([^/?#]*@)?(" + variables.allowedHosts.join("|") + ")(:[0-9]*)?([/?#]|$)"';

const ENDPOINT = policyCheckOf(NS_08, (url) => (
  `${NS_08.type.cel(url)} && (size(variables.allowedHosts) == 0 || ${firstOf(url)}.matches(${ALLOWED}))`
));

/** Runs a check only if the namespace is within its limits, which bounds the cost. NS-14 denies other namespaces. */
function bounded(check: PolicyCheck): PolicyCheck {
  return { ...check, admits: `!variables.isWithinLimits || (${check.admits})` };
}

function deletionPolicyCheck(): PolicyCheck {
  const [annotations, old] = [read("annotations"), read("annotations", "old")];
  return {
    check: NS_09,
    admits: `${annotations}.all(key, !key.endsWith(${text(`.${DELETION_POLICY_ANNOTATION}`)}) || `
      + `${annotations}[key] == "" || ${DELETION_POLICY.cel(`${annotations}[key]`)} || `
      + `key in ${old} && ${old}[key] == ${annotations}[key])`,
    path: `metadata.annotations[SERVICE.${DELETION_POLICY_ANNOTATION}]`,
    message: "the value is not a deletion policy, so controllers treat it as retain",
  };
}

/** Denies the removal of `selector-required: "true"`, and another value, by a user who is not a waiver user. */
function selectorRequiredCheck(): PolicyCheck {
  const [after, before] = [read("annotations"), read("annotations", "old")].map((annotations) => (
    `${annotations}[?${text(SELECTOR_REQUIRED_ANNOTATION)}]`
  ));
  return {
    check: NS_17,
    admits: `${after} == ${before} || ${after} == optional.of(${text(REQUIRED)}) || `
      + `!${after}.hasValue() && ${before} != optional.of(${text(REQUIRED)}) || ${read("isWaiverUser")}`,
    path: formatFieldPath(annotationPath(SELECTOR_REQUIRED_ANNOTATION)),
    message: "the requester is not a waiver user and may not remove the annotation or set it to another value",
  };
}

/** Returns the policy for Namespaces, and for the subresources through which a client can change annotations. */
export function namespacePolicy(
  lists: PolicyLists, options: Pick<WebhookOptions, "namespace" | "ackSystemNamespace">,
): Policy {
  const limit = metadataLimitCheck(NAMESPACE);
  return {
    name: "namespaces",
    namespaceSelector: namespacesOf("unprotected", options),
    rules: rulesOf(NAMESPACE, { ...CREATE_AND_UPDATE, subresources: ["status", "finalize"] }),
    conditions: [CHANGES_NAMESPACE],
    variables: [
      ...METADATA,
      { name: "allowedHosts", expression: lists.allowedHosts },
      { name: "isWithinLimits", expression: limit.admits },
      ...waiverVariables(lists),
    ],
    checks: [
      ...[policyCheckOf(NS_07), ENDPOINT, deletionPolicyCheck(), selectorRequiredCheck(), WAIVERS].map(bounded), limit,
    ],
  };
}

export type FieldExportOptions = Pick<WebhookOptions, "namespace" | "ackSystemNamespace"> & {
  /** Null or "" if nothing reads the Secrets of static identities. */
  readonly identitySecretNamespace?: string | null;
};

const TARGET = read("target");
/** The start of a pattern of service accounts. */
const PATTERN_PREFIX = userPattern(ACCOUNT_PREFIX).slice(0, -1);

/** The variable `isProtected`: whether the controller would write into a protected namespace (ownerOfNamespace). */
function protectionVariable(lists: PolicyLists, options: FieldExportOptions): Variable {
  const { namespace, ackSystemNamespace, identitySecretNamespace } = options;
  const named = texts([namespace, ackSystemNamespace, identitySecretNamespace ?? "", SYSTEM_NAMESPACE]);
  const ofAccounts = [lists.controllerServiceAccounts, lists.capaServiceAccounts].map((accounts) => (
    `${accounts}.exists(user, user.startsWith(${text(ACCOUNT_PREFIX)} + ${TARGET} + ":"))`
  ));
  const ofPatterns = lists.controllerUsers
    + `.filter(pattern, pattern.startsWith(${text(PATTERN_PREFIX)}))`
    + `.map(pattern, pattern.substring(${PATTERN_PREFIX.length}).split(":")[0])`
    + `.exists(part, !part.matches(${text(String.raw`^(\.\*)*\$?$`)}) && `
    + `${TARGET}.matches("^" + part + "$"))`;
  return { name: "isProtected", expression: [`${TARGET} in ${named}`, ...ofAccounts, ofPatterns].join(" || ") };
}

const CARM_MAPS = texts([ACCOUNT_MAP, TEAM_MAP]);
const HAS_SAME_SPEC = "oldObject != null && has(object.spec) && has(oldObject.spec) && object.spec == oldObject.spec";

/** Returns the policy for FieldExports. Exempts no requester. */
export function fieldExportPolicy(lists: PolicyLists, options: FieldExportOptions): Policy {
  return {
    name: "fieldexports",
    rules: rulesOf(FIELD_EXPORT, CREATE_AND_UPDATE),
    conditions: [NOT_BEING_DELETED, CHANGES_MORE_THAN_BOOKKEEPING],
    variables: [
      ...METADATA,
      { name: "named", expression: 'object.?spec.?to.?namespace.orValue("")' },
      // Without a namespace, the controller writes into the namespace of the FieldExport.
      { name: "target", expression: `${read("named")} == "" ? request.namespace : ${read("named")}` },
      protectionVariable(lists, options),
      ...waiverVariables(lists),
    ],
    checks: [
      {
        check: FE_01,
        admits: `${not(`${read("isProtected")} || object.?spec.?to.?name.orValue("") in ${CARM_MAPS}`)} || `
          + `${HAS_SAME_SPEC} || ${isWaived(FE_01)}`,
        path: "spec.to",
        message: "the controller would write into a namespace of controllers or of the webhook, or into a CARM map",
      },
      metadataLimitCheck(FIELD_EXPORT),
      WAIVERS,
    ],
  };
}

const CREATED_NAMESPACE = 'object.?spec.?kubernetes.?metadata.?namespace.orValue("")';

/** Returns the policy for AdoptedResources. Exempts no requester. */
export function adoptedResourcePolicy(lists: PolicyLists): Policy {
  return {
    name: "adoptedresources",
    rules: rulesOf(ADOPTED_RESOURCE, CREATE_AND_UPDATE),
    conditions: [NOT_BEING_DELETED, CHANGES_MORE_THAN_BOOKKEEPING],
    variables: [...METADATA, ...waiverVariables(lists)],
    checks: [
      {
        check: ACK_41,
        admits: `${CREATED_NAMESPACE} in ["", request.namespace] || ${HAS_SAME_SPEC} || ${isWaived(ACK_41)}`,
        path: "spec.kubernetes.metadata.namespace",
        message: "the controller would create the resource in a namespace other than that of the AdoptedResource",
      },
      metadataLimitCheck(RESOURCE),
      WAIVERS,
    ],
  };
}
