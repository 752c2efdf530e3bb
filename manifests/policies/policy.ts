import { withOtherChecks } from "../../shared/judges.ts";
import type { FieldRule } from "../../shared/core/field-rule.ts";
import type {
  V1LabelSelector, V1MatchCondition, V1RuleWithOperations, V1ValidatingAdmissionPolicy,
  V1ValidatingAdmissionPolicyBinding,
} from "@kubernetes/client-node";
import { type CheckEntry, findingSentences } from "../../shared/core/check.ts";
import { WAIVER_01 } from "../../shared/core/waiver.ts";
import { WAIVER_ANNOTATION } from "../../shared/core/annotation-keys.ts";
import type { DecisionSettings } from "../../shared/core/context.ts";
import { labelsOf, WEBHOOK } from "../../shared/core/installation.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { parseARN } from "../../shared/formats/arn.ts";
import { annotationPath, formatFieldPath } from "../../shared/formats/json.ts";
import { compareText } from "../../shared/formats/text.ts";
import {
  derivedVariables, fieldVariables, not, quoted, read, text, texts, trimmed, type Variable,
} from "../../shared/formats/cel.ts";

/** The settings of the webhook that also determine the policies. Both must have the same values. */
export type PolicySettings = Pick<
  DecisionSettings,
  | "checkSeverities" | "waiverUsers" | "waiverGroups" | "allowedAccounts" | "controllerRole"
  | "controllerServiceAccounts" | "controllerUsers" | "capaServiceAccounts" | "allowedEndpointHosts"
>;

/**
 * The lists in the policies that depend on settings, as CEL. Nothing else in a policy depends on settings, so that the
 * chart can render the same policies: `_policies.tpl` computes the lists from its values like `listsOf`.
 */
export type PolicyLists = Readonly<Record<
  | "disabledChecks" | "waiverUsers" | "waiverGroups" | "allowedAccounts" | "allowedPartitions"
  | "controllerServiceAccounts" | "controllerUsers" | "capaServiceAccounts" | "allowedHosts",
  string
>>;

/** Returns the lists of the settings. */
export function listsOf(settings: PolicySettings): PolicyLists {
  const { waiverUsers, waiverGroups, allowedAccounts, controllerRole } = settings;
  const partition = parseARN(controllerRole ?? "")?.partition;
  return {
    disabledChecks: texts(disabledIDs(settings)),
    waiverUsers: texts(waiverUsers), waiverGroups: texts(waiverGroups),
    allowedAccounts: texts(allowedAccounts), allowedPartitions: texts(partition === undefined ? [] : [partition]),
    controllerServiceAccounts: texts(settings.controllerServiceAccounts.map(usernameOf)),
    controllerUsers: texts(settings.controllerUsers.map(userPattern)),
    capaServiceAccounts: texts(settings.capaServiceAccounts.map(usernameOf)),
    allowedHosts: texts(settings.allowedEndpointHosts.map(quoted)),
  };
}

/** Returns the user name of a service account `NAMESPACE/NAME`. */
function usernameOf(account: string): string {
  return `system:serviceaccount:${account.replace("/", ":")}`;
}

/** Returns the regular expression of a pattern of user names, in which `*` stands for any characters. */
export function userPattern(pattern: string): string {
  return `(?s)^${pattern.split("*").map(quoted).join(".*")}$`;
}

/** A check that a policy covers. */
export interface PolicyCheck {
  readonly check: CheckEntry;
  /** A CEL expression that is true if the check denies nothing. */
  readonly admits: string;
  /** The path of the field, as in the messages of the webhook. */
  readonly path: string;
  /** Like the message of a fault, but without the value of the user: starts in lower case and has no full stop. */
  readonly message: string;
  /** Default: the fix of the check. */
  readonly fix?: string;
}

/**
 * Returns the part of a policy that holds a rule. It denies no unchanged text. A field of the spec is the variable of
 * the same name.
 */
export function policyCheckOf(rule: FieldRule, isAllowed: (value: string) => string = rule.type.cel): PolicyCheck {
  const [at = []] = rule.at;
  const step = at.at(-1);
  const key = typeof step === "object" ? text(step.key) : null;
  const [value, old] = (["", "old"] as const).map((state) => (
    key === null ? read(formatFieldPath(at.slice(-1)), state) : `${read("annotations", state)}[${key}]`
  ));
  const wasThere = key === null ? "oldObject != null" : `${key} in ${read("annotations", "old")}`;
  const isJudged = [
    ...(key === null ? [] : [`${key} in ${read("annotations")}`]),
    ...(rule.within === undefined ? [] : [rule.within.cel(`${value}`)]),
    not(`${wasThere} && ${old} == ${value}`),
  ];
  const admits = `${not(isJudged.join(" && "))} || ${isAllowed(`${value}`)}`;
  return { check: rule, admits, path: formatFieldPath(at), message: rule.policySays };
}

export interface Policy {
  /** The name of the policy without the domain. */
  readonly name: string;
  readonly rules: V1RuleWithOperations[];
  readonly namespaceSelector?: V1LabelSelector;
  readonly conditions: readonly V1MatchCondition[];
  readonly variables: readonly Variable[];
  readonly checks: readonly PolicyCheck[];
  /**
   * The validating webhook that denies the same objects with all their faults. While its failurePolicy is `Fail`, the
   * policy does not apply: the API server would return the denial of the policy alone.
   */
  readonly repeats?: string;
}

const API_VERSION = "admissionregistration.k8s.io/v1";

/** Whether the failurePolicy in force of a validating webhook, in the parameter of its policy, is not `Fail`. */
function mayBeSkipped(webhook: string): V1MatchCondition {
  const fails = `one.name == ${text(webhook)} && one.failurePolicy == "Fail"`;
  return { name: "webhook-may-be-skipped", expression: not(`params.?webhooks.orValue([]).exists(one, ${fails})`) };
}

/**
 * Returns the ValidatingAdmissionPolicy and its binding. The policy has one validation for all checks, because the API
 * server returns the message of the first failed validation only. Beside webhooks, the parameter of a policy that
 * repeats one of them is their configuration. Without the configuration, such a policy does not apply.
 */
export function policyObjects(
  { name, rules, namespaceSelector, conditions, variables, checks, repeats }: Policy,
  { disabledChecks }: PolicyLists, { hasWebhooks }: { readonly hasWebhooks: boolean },
): readonly [V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding] {
  const ofChecks = checks.map(({ check, admits }) => ({ name: variableOf(check), expression: admits }));
  const followed = hasWebhooks && repeats !== undefined ? [mayBeSkipped(repeats)] : [];
  const paramRef = { name: WEBHOOK.configuration, parameterNotFoundAction: "Allow" };
  return policyWithBinding(name, {
    ...(followed.length > 0 && { paramKind: { apiVersion: API_VERSION, kind: "ValidatingWebhookConfiguration" } }),
    failurePolicy: "Fail",
    matchConstraints: {
      matchPolicy: "Equivalent", ...(namespaceSelector && { namespaceSelector }), resourceRules: rules,
    },
    matchConditions: [...followed, ...conditions],
    variables: [
      { name: "disabledChecks", expression: disabledChecks },
      ...variables, ...ofChecks, { name: "denials", expression: denialsOf(checks) },
    ],
    validations: [{
      expression: "size(variables.denials) == 0",
      messageExpression: 'variables.denials.join(" ")',
      message: `the object is not valid; the checks ${checks.map(({ check }) => check.id).join(", ")} list the rules`,
      reason: "Invalid",
    }],
  }, followed.length > 0 ? { paramRef } : {});
}

/** Returns a policy and a binding that denies what the policy does not admit. */
export function policyWithBinding(
  name: string, spec: NonNullable<V1ValidatingAdmissionPolicy["spec"]>,
  parameter: Pick<NonNullable<V1ValidatingAdmissionPolicyBinding["spec"]>, "paramRef"> = {},
): readonly [V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding] {
  const metadata = { name: `${name}.${WEBHOOK.domain}`, labels: labelsOf("webhook") };
  return [
    { apiVersion: API_VERSION, kind: "ValidatingAdmissionPolicy", metadata, spec },
    {
      apiVersion: API_VERSION,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata,
      spec: { policyName: metadata.name, ...parameter, validationActions: ["Deny"] },
    },
  ];
}

/** Returns the ids of the checks that do not deny because of a setting. A policy denies only, and never warns. */
function disabledIDs({ checkSeverities }: Pick<PolicySettings, "checkSeverities">): readonly string[] {
  const disabled = [...withOtherChecks(checkSeverities)].filter(([, severity]) => severity !== "deny");
  return disabled.map(([id]) => id).toSorted(compareText);
}

/** Returns the CEL list of the messages of all failed checks. No setting disables a check that is `fixed`. */
function denialsOf(checks: readonly PolicyCheck[]): string {
  const messages = checks.map(({ check, path, message, fix }) => {
    const line = `${check.id} ${path}: ${findingSentences({ message, fix: fix ?? check.fix })}`;
    const isDisabled = check.fixed === true ? "" : `${text(check.id)} in ${read("disabledChecks")} || `;
    return `${isDisabled}${read(variableOf(check))} ? "" : ${text(line)}`;
  });
  return `[\n  ${messages.join(",\n  ")}\n].filter(message, message != "")`;
}

/** Returns the name of the variable of a check, such as `IRS_03`. */
function variableOf({ id }: CheckEntry): string {
  return id.replaceAll("-", "_");
}

/** The variables of the labels and annotations. */
export const METADATA: readonly Variable[] = [
  ...fieldVariables("annotations", "metadata.annotations", "{}"), ...fieldVariables("labels", "metadata.labels", "{}"),
];

const USER = 'request.userInfo.?username.orValue("")';
const GROUPS = "request.userInfo.?groups.orValue([])";

/** Returns an expression: whether the user is one of the ACK controllers that the settings name. */
export function isController({ controllerServiceAccounts, controllerUsers }: PolicyLists): string {
  return `${USER} in ${controllerServiceAccounts} || ${controllerUsers}.exists(pattern, ${USER}.matches(pattern))`;
}

/** Returns an expression: whether the user is a service account of CAPA. */
export function isCAPA({ capaServiceAccounts }: PolicyLists): string {
  return `${USER} in ${capaServiceAccounts}`;
}

/**
 * Returns the variable `isExempt`, which is true for controllers that the webhook only warns, and a function that
 * exempts them from a check. WAIVER-01 exempts nobody.
 */
export function exemption(isExempt: string): {
  readonly variable: Variable;
  readonly unlessExempt: (check: PolicyCheck) => PolicyCheck;
} {
  return {
    variable: { name: "isExempt", expression: isExempt },
    unlessExempt: (check) => ({ ...check, admits: `${read("isExempt")} || (${check.admits})` }),
  };
}

/**
 * Returns the variables that `WAIVERS` and `isWaived` read: `waivers` lists the first 100 ids in the waiver annotation.
 * The appended commas separate the 100th id from the rest, which contains a comma.
 */
export function waiverVariables(lists: PolicyLists): readonly Variable[] {
  const isListed = `${USER} in ${lists.waiverUsers} || ${GROUPS}.exists(group, group in ${lists.waiverGroups})`;
  const isExcluded = `${isController(lists)} || ${isCAPA(lists)}`;
  const limit = LIMITS.listedEntries.value;
  return [
    ...derivedVariables("waivers", (state) => {
      const listed = `(${read("annotations", state)}[?${text(WAIVER_ANNOTATION)}].orValue("") + ",,")`
        + `.split(",", ${limit + 1})`;
      return `${listed}.filter(id, !id.contains(",")).map(id, ${trimmed("id")})`;
    }),
    { name: "isWaiverUser", expression: `(${isListed}) && ${not(isExcluded)}` },
  ];
}

/** Denies an id that a user who is not a waiver user adds to the waiver annotation. */
export const WAIVERS: PolicyCheck = {
  check: WAIVER_01,
  admits: `${read("waivers")}.all(id, id == "" || id in ${read("waivers", "old")}) || ${read("isWaiverUser")}`,
  path: formatFieldPath(annotationPath(WAIVER_ANNOTATION)),
  message: "the requester is a controller or not a waiver user, and may not waive checks",
};

/** Returns an expression: whether the check is waived by a waiver user. */
export function isWaived({ id }: CheckEntry): string {
  return `${text(id)} in ${read("waivers")} && ${read("isWaiverUser")}`;
}
