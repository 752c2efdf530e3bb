import type { V1LabelSelector, V1RuleWithOperations } from "@kubernetes/client-node";
import {
  IDENTITY_KINDS, identityPlural, INFRASTRUCTURE_GROUP, pluralsByGroup, REFERRER_KINDS,
} from "../shared/decisions/identities/kinds.ts";
import { knownGroups, SELECTOR_GROUP } from "../shared/decisions/kubernetes/kinds.ts";
import { NAME_LABEL } from "../shared/decisions/kubernetes/names.ts";

// The kinds and operations for which the API server calls a webhook or evaluates a policy.

export const CREATE_AND_UPDATE = ["CREATE", "UPDATE"];
export const EVERY_WRITE = [...CREATE_AND_UPDATE, "DELETE"];

export function selectors(operations: string[]): V1RuleWithOperations {
  return {
    apiGroups: [SELECTOR_GROUP],
    apiVersions: ["v1alpha1"],
    resources: ["iamroleselectors"],
    operations,
    scope: "Cluster",
  };
}

export function kindDefinitions(operations: string[]): V1RuleWithOperations {
  return {
    apiGroups: ["apiextensions.k8s.io"],
    apiVersions: ["v1"],
    resources: ["customresourcedefinitions"],
    operations,
    scope: "Cluster",
  };
}

/** Matches namespaces, and the subresources of Namespace through which a client can change labels and annotations. */
export function namespaces(operations: string[]): V1RuleWithOperations {
  return {
    apiGroups: [""],
    apiVersions: ["v1"],
    resources: ["namespaces", "namespaces/status", "namespaces/finalize"],
    operations,
    scope: "Cluster",
  };
}

export function configMaps(operations: string[]): V1RuleWithOperations {
  return {
    apiGroups: [""],
    apiVersions: ["v1"],
    resources: ["configmaps"],
    operations,
    scope: "Namespaced",
  };
}

/**
 * Returns the rule that matches ACK resources. Lists complete group names, because a rule cannot match the suffix of a
 * group. The resource `*` does not include subresources such as status.
 */
export function ackResources(extraGroups: readonly string[], operations: string[]): V1RuleWithOperations {
  return { apiGroups: knownGroups(extraGroups), apiVersions: ["*"], resources: ["*"], operations, scope: "Namespaced" };
}

/** CAPA identities. */
export const IDENTITIES: V1RuleWithOperations = {
  apiGroups: [INFRASTRUCTURE_GROUP],
  apiVersions: ["*"],
  resources: IDENTITY_KINDS.map(identityPlural).toSorted(),
  operations: EVERY_WRITE,
  scope: "*",
};

/** The objects that refer to CAPA identities. No check applies to their deletion. */
export const CLUSTERS: V1RuleWithOperations[] = pluralsByGroup(REFERRER_KINDS).map(({ group, plurals }) => ({
  apiGroups: [group],
  apiVersions: ["*"],
  resources: plurals,
  operations: CREATE_AND_UPDATE,
  scope: "Namespaced",
}));

/** Returns the selector of all namespaces except those with the given names. */
export function exceptNamespaces(values: string[]): V1LabelSelector {
  return { matchExpressions: [{ key: NAME_LABEL, operator: "NotIn", values }] };
}
