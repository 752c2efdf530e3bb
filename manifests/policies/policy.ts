import type {
  V1MatchCondition, V1MatchResources, V1ValidatingAdmissionPolicy,
  V1ValidatingAdmissionPolicyBinding,
} from "@kubernetes/client-node";
import { type CheckEntry, findingSentences } from "../../shared/checks/check.ts";
import type { DecisionSettings } from "../../shared/contract/context.ts";
import { labelsOf, WEBHOOK } from "../../shared/contract/installation.ts";
import { compareText } from "../../shared/formats/text.ts";
import { read, text, texts, type Variable } from "./cel.ts";

/** The settings of the webhook that also determine the policies. Both must have the same values. */
export type PolicySettings = Pick<
  DecisionSettings,
  | "checkSeverities" | "waiverUsers" | "waiverGroups" | "allowedAccounts" | "controllerRole"
  | "controllerServiceAccounts" | "controllerUsers" | "capaServiceAccounts" | "allowedEndpointHosts"
>;

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
  /** Whether the check limits who may switch checks off. Its policy denies even where the webhook denies too. */
  readonly protectsWebhook?: true;
}

export interface Policy {
  /** The name of the policy without the domain. */
  readonly name: string;
  readonly match: V1MatchResources;
  readonly conditions: readonly V1MatchCondition[];
  readonly variables: readonly Variable[];
  readonly checks: readonly PolicyCheck[];
  /**
   * Whether the policy only repeats what the webhook denies with all other faults of the object. With the failurePolicy
   * `Fail` of the webhook, such checks are left out: the API server would return the denial of the policy alone.
   */
  readonly repeatsWebhook?: true;
}

/** What the API server does with a write of a selector while the webhook is down. */
export type SelectorFailurePolicy = "Fail" | "Ignore";

/** Returns the policy with the checks that it contains beside webhooks of this failurePolicy; null if it has none. */
export function besideWebhook(policy: Policy, failurePolicy: SelectorFailurePolicy): Policy | null {
  if (failurePolicy === "Ignore" || policy.repeatsWebhook !== true) return policy;
  const checks = policy.checks.filter(({ protectsWebhook }) => protectsWebhook === true);
  return checks.length === 0 ? null : { ...policy, checks };
}

const API_VERSION = "admissionregistration.k8s.io/v1";

/**
 * Returns the ValidatingAdmissionPolicy and its binding. The policy has one validation for all checks, because the API
 * server returns the message of the first failed validation only. The settings change only lists in the expressions, so
 * that the Helm chart can render the same policies from its values.
 */
export function policyObjects(
  { name, match, conditions, variables, checks }: Policy, settings: Pick<PolicySettings, "checkSeverities">,
): readonly [V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding] {
  const ofChecks = checks.map(({ check, admits }) => ({ name: variableOf(check), expression: admits }));
  return policyWithBinding(name, {
    failurePolicy: "Fail",
    matchConstraints: match,
    matchConditions: [...conditions],
    variables: [
      { name: "disabledChecks", expression: texts(disabledChecks(settings)) },
      ...variables, ...ofChecks, { name: "denials", expression: denialsOf(checks) },
    ],
    validations: [{
      expression: "size(variables.denials) == 0",
      messageExpression: 'variables.denials.join(" ")',
      message: `the object is not valid; the checks ${checks.map(({ check }) => check.id).join(", ")} list the rules`,
      reason: "Invalid",
    }],
  });
}

/** Returns a policy and a binding that denies what the policy does not admit. */
export function policyWithBinding(
  name: string, spec: NonNullable<V1ValidatingAdmissionPolicy["spec"]>,
): readonly [V1ValidatingAdmissionPolicy, V1ValidatingAdmissionPolicyBinding] {
  const metadata = { name: `${name}.${WEBHOOK.domain}`, labels: labelsOf("webhook") };
  return [
    { apiVersion: API_VERSION, kind: "ValidatingAdmissionPolicy", metadata, spec },
    {
      apiVersion: API_VERSION,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata,
      spec: { policyName: metadata.name, validationActions: ["Deny"] },
    },
  ];
}

/** Returns the ids of the checks that `--check` sets to warn or off. A policy denies only, and never warns. */
function disabledChecks({ checkSeverities }: Pick<PolicySettings, "checkSeverities">): readonly string[] {
  const disabled = [...checkSeverities].filter(([, severity]) => severity !== "deny").map(([id]) => id);
  return disabled.toSorted(compareText);
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
