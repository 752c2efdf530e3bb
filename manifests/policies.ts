import { CAPA } from "./capa/policies.ts";
import { CARM_MAPS } from "./carm/maps.ts";
import type { Runtime } from "../shared/core/context.ts";
import { SETTINGS } from "../shared/core/settings.ts";
import { resourcePolicy } from "./policies/resources.ts";
import {
  adoptedResourcePolicy, type FieldExportOptions, fieldExportPolicy, namespacePolicy,
} from "./policies/namespaces.ts";
import { type Policy, type PolicyLists, policyObjects, type PolicySettings } from "./policies/policy.ts";
import { selectorPolicy } from "./policies/selectors.ts";
import {
  controllerPolicy, type FeaturePolicies, type GuardedKind, serviceAccountPolicy, waiverPolicy,
} from "./policies/requesters.ts";
import type { WebhookOptions } from "./webhooks.ts";

/** The policy settings that the flags have by default. */
export const DEFAULT_POLICY_SETTINGS: PolicySettings = {
  checkSeverities: new Map(), waiverUsers: [], waiverGroups: ["system:masters"], allowedAccounts: [],
  controllerRole: null, controllerServiceAccounts: [], controllerUsers: [], allowedEndpointHosts: [],
  capaServiceAccounts: SETTINGS.capaServiceAccounts.default,
};

export interface PolicyOptions
  extends Pick<WebhookOptions, "ackGroups" | "serviceAccount" | "without">, FieldExportOptions {
  readonly runtime: Runtime;
  /** Whether the webhooks are installed too, whose failurePolicy then decides whether a policy applies. */
  readonly hasWebhooks: boolean;
}

/** What features add to the policies for requesters. */
const GUARDED: readonly GuardedKind[] = [CARM_MAPS];
/** The policies and the kinds of features. */
const FEATURES: readonly FeaturePolicies[] = [CAPA];

function featuresOf({ without }: Pick<PolicyOptions, "without">): readonly FeaturePolicies[] {
  return FEATURES.filter(({ feature }) => without?.has(feature) !== true);
}

/** Returns the policies that contain checks. */
export function checkPolicies(options: PolicyOptions, lists: PolicyLists): readonly Policy[] {
  return [
    selectorPolicy(lists, options.runtime),
    controllerPolicy(lists, options, GUARDED),
    fieldExportPolicy(lists, options),
    adoptedResourcePolicy(lists),
    resourcePolicy(lists, options),
    ...featuresOf(options).flatMap(({ policies }) => policies.map((policyOf) => policyOf(lists))),
    namespacePolicy(lists, options),
    waiverPolicy(lists, options, GUARDED),
  ];
}

/** Returns each ValidatingAdmissionPolicy, followed by its binding. */
export function admissionPolicies(options: PolicyOptions, lists: PolicyLists): readonly object[] {
  return [
    ...checkPolicies(options, lists).flatMap((policy) => policyObjects(policy, lists, options)),
    ...serviceAccountPolicy(options, featuresOf(options)),
  ];
}
