import type { Runtime } from "../shared/contract/context.ts";
import { SETTINGS } from "../shared/contract/settings.ts";
import { clusterPolicy, resourcePolicy } from "./policies/resources.ts";
import { type FieldExportOptions, fieldExportPolicy, namespacePolicy } from "./policies/namespaces.ts";
import {
  besideWebhook, type Policy, type PolicyLists, policyObjects, type PolicySettings, type SelectorFailurePolicy,
} from "./policies/policy.ts";
import { selectorPolicy } from "./policies/selectors.ts";
import { controllerPolicy, serviceAccountPolicy, waiverPolicy } from "./policies/trust.ts";
import type { WebhookOptions } from "./webhooks.ts";

/** The policy settings that the flags have by default. */
export const DEFAULT_POLICY_SETTINGS: PolicySettings = {
  checkSeverities: new Map(), waiverUsers: [], waiverGroups: ["system:masters"], allowedAccounts: [],
  controllerRole: null, controllerServiceAccounts: [], controllerUsers: [], allowedEndpointHosts: [],
  capaServiceAccounts: SETTINGS.capaServiceAccounts.default,
};

export interface PolicyOptions extends Pick<WebhookOptions, "ackGroups" | "serviceAccount">, FieldExportOptions {
  readonly runtime: Runtime;
  /** The failurePolicy of the webhooks for selectors. `Ignore` if the policies are installed without the webhooks. */
  readonly failurePolicy: SelectorFailurePolicy;
}

/** Returns the policies that contain checks. */
export function checkPolicies(options: PolicyOptions, lists: PolicyLists): readonly Policy[] {
  return [
    selectorPolicy(lists, options.runtime),
    controllerPolicy(lists, options),
    fieldExportPolicy(lists, options),
    resourcePolicy(lists, options),
    clusterPolicy(lists, options),
    namespacePolicy(lists, options),
    waiverPolicy(lists, options),
  ].flatMap((policy) => besideWebhook(policy, options.failurePolicy) ?? []);
}

/** Returns each ValidatingAdmissionPolicy, followed by its binding. */
export function admissionPolicies(options: PolicyOptions, lists: PolicyLists): readonly object[] {
  return [
    ...checkPolicies(options, lists).flatMap((policy) => policyObjects(policy, lists)),
    ...serviceAccountPolicy(options),
  ];
}
