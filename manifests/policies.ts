import type { Runtime } from "../shared/core/context.ts";
import { SETTINGS } from "../shared/core/settings.ts";
import { clusterPolicy, resourcePolicy } from "./policies/resources.ts";
import {
  adoptedResourcePolicy, type FieldExportOptions, fieldExportPolicy, namespacePolicy,
} from "./policies/namespaces.ts";
import { type Policy, type PolicyLists, policyObjects, type PolicySettings } from "./policies/policy.ts";
import { selectorPolicy } from "./policies/selectors.ts";
import { PROTECTED_MAPS } from "./carm/protected-maps.ts";
import {
  controllerPolicy, PROTECTED_SELECTORS, type ProtectedKind, serviceAccountPolicy, waiverPolicy,
} from "./policies/trust.ts";
import type { WebhookOptions } from "./webhooks.ts";

/** The policy settings that the flags have by default. */
export const DEFAULT_POLICY_SETTINGS: PolicySettings = {
  checkSeverities: new Map(), waiverUsers: [], waiverGroups: ["system:masters"], allowedAccounts: [],
  controllerRole: null, controllerServiceAccounts: [], controllerUsers: [], allowedEndpointHosts: [],
  capaServiceAccounts: SETTINGS.capaServiceAccounts.default,
};

export interface PolicyOptions extends Pick<WebhookOptions, "ackGroups" | "serviceAccount">, FieldExportOptions {
  readonly runtime: Runtime;
  /** Whether the webhooks are installed too, whose failurePolicy then decides whether a policy applies. */
  readonly hasWebhooks: boolean;
}

const PROTECTED: readonly ProtectedKind[] = [PROTECTED_SELECTORS, PROTECTED_MAPS];

/** Returns the policies that contain checks. */
export function checkPolicies(options: PolicyOptions, lists: PolicyLists): readonly Policy[] {
  return [
    selectorPolicy(lists, options.runtime),
    controllerPolicy(lists, options, PROTECTED),
    fieldExportPolicy(lists, options),
    adoptedResourcePolicy(lists),
    resourcePolicy(lists, options),
    clusterPolicy(lists),
    namespacePolicy(lists, options),
    waiverPolicy(lists, options),
  ];
}

/** Returns each ValidatingAdmissionPolicy, followed by its binding. */
export function admissionPolicies(options: PolicyOptions, lists: PolicyLists): readonly object[] {
  return [
    ...checkPolicies(options, lists).flatMap((policy) => policyObjects(policy, lists, options)),
    ...serviceAccountPolicy(options),
  ];
}
