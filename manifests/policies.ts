import type { Runtime } from "../shared/contract/context.ts";
import { SETTINGS } from "../shared/contract/settings.ts";
import { clusterPolicy, resourcePolicy } from "./policies/resources.ts";
import { controllerPolicy, waiverPolicy } from "./policies/waivers.ts";
import { type FieldExportOptions, fieldExportPolicy } from "./policies/field-exports.ts";
import { namespacePolicy } from "./policies/namespaces.ts";
import {
  besideWebhook, type Policy, policyObjects, type PolicySettings, type SelectorFailurePolicy,
} from "./policies/policy.ts";
import { selectorPolicy } from "./policies/selectors.ts";
import { serviceAccountPolicy } from "./policies/service-account.ts";
import type { WebhookOptions } from "./webhooks.ts";

/** The policy settings that the flags have by default. */
export const DEFAULT_POLICY_SETTINGS: PolicySettings = {
  checkSeverities: new Map(), waiverUsers: [], waiverGroups: ["system:masters"], allowedAccounts: [],
  controllerRole: null, controllerServiceAccounts: [], controllerUsers: [], allowedEndpointHosts: [],
  capaServiceAccounts: SETTINGS.capaServiceAccounts.default,
};

export interface PolicyOptions extends Omit<WebhookOptions, "injectCA">, FieldExportOptions {
  readonly runtime: Runtime;
  /** The failurePolicy of the webhooks for selectors. `Ignore` if the policies are installed without the webhooks. */
  readonly failurePolicy: SelectorFailurePolicy;
}

/** Returns the policies that contain checks. */
export function checkPolicies(options: PolicyOptions, settings: PolicySettings): readonly Policy[] {
  return [
    selectorPolicy(settings, options.runtime),
    controllerPolicy(settings, options),
    fieldExportPolicy(settings, options),
    resourcePolicy(settings, options),
    clusterPolicy(settings, options),
    namespacePolicy(settings, options.namespace),
    waiverPolicy(settings, options),
  ].flatMap((policy) => besideWebhook(policy, options.failurePolicy) ?? []);
}

/** Returns each ValidatingAdmissionPolicy, followed by its binding. */
export function admissionPolicies(options: PolicyOptions, settings: PolicySettings): readonly object[] {
  return [
    ...checkPolicies(options, settings).flatMap((policy) => policyObjects(policy, settings)),
    ...serviceAccountPolicy(options),
  ];
}
