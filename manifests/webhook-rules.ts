import type { V1LabelSelector, V1RuleWithOperations } from "@kubernetes/client-node";
import { PART_KINDS } from "../shared/contract/cluster-parts.ts";
import {
  IDENTITY_KINDS, identityPlural, INFRASTRUCTURE_GROUP, pluralsByGroup, REFERRER_KINDS,
} from "../shared/contract/capa-kinds.ts";
import { knownGroups, SELECTOR_GROUP } from "../shared/contract/ack-groups.ts";
import { NAME_LABEL } from "../shared/formats/names.ts";

// The kinds and operations for which the API server calls a webhook or evaluates a policy.

type Rule = Required<Pick<V1RuleWithOperations, keyof V1RuleWithOperations>>;

export const CREATE_AND_UPDATE = ["CREATE", "UPDATE"];
export const EVERY_WRITE = [...CREATE_AND_UPDATE, "DELETE"];

export function selectors(operations: string[]): Rule {
  return {
    apiGroups: [SELECTOR_GROUP],
    apiVersions: ["v1alpha1"],
    resources: ["iamroleselectors"],
    operations,
    scope: "Cluster",
  };
}

/** FieldExports, in every version: a controller acts on each of them. No check applies to their deletion. */
export const FIELD_EXPORTS: Rule = {
  apiGroups: [SELECTOR_GROUP],
  apiVersions: ["*"],
  resources: ["fieldexports"],
  operations: CREATE_AND_UPDATE,
  scope: "Namespaced",
};

/**
 * Returns the rule, which then also matches the subresource `status`. The API server lets a client change annotations,
 * such as a waiver, through the status of a CustomResourceDefinition, and ignores this change for custom resources
 * (k8s.io/apiextensions-apiserver pkg/registry).
 */
export function withStatus(rule: Rule): Rule {
  return { ...rule, resources: rule.resources.flatMap((one) => [one, `${one}/status`]) };
}

/** Returns the rule, which then matches only updates of the subresource `status`. */
export function onlyStatus(rule: Rule): Rule {
  return { ...rule, resources: rule.resources.map((one) => `${one}/status`), operations: ["UPDATE"] };
}

export function kindDefinitions(operations: string[]): Rule {
  return {
    apiGroups: ["apiextensions.k8s.io"],
    apiVersions: ["v1"],
    resources: ["customresourcedefinitions"],
    operations,
    scope: "Cluster",
  };
}

/** Matches namespaces, and the subresources of Namespace through which a client can change labels and annotations. */
export function namespaces(operations: string[]): Rule {
  return {
    apiGroups: [""],
    apiVersions: ["v1"],
    resources: ["namespaces", "namespaces/status", "namespaces/finalize"],
    operations,
    scope: "Cluster",
  };
}

export function configMaps(operations: string[]): Rule {
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
export function ackResources(extraGroups: readonly string[], operations: string[]): Rule {
  return { apiGroups: knownGroups(extraGroups), apiVersions: ["*"], resources: ["*"], operations, scope: "Namespaced" };
}

/** CAPA identities. */
export const IDENTITIES: Rule = {
  apiGroups: [INFRASTRUCTURE_GROUP],
  apiVersions: ["*"],
  resources: IDENTITY_KINDS.map(identityPlural).toSorted(),
  operations: EVERY_WRITE,
  scope: "*",
};

/** The objects that refer to CAPA identities. Only AC-05 applies to their deletion. */
export const CLUSTERS: Rule[] = rulesOf(REFERRER_KINDS, CREATE_AND_UPDATE);

function rulesOf(kinds: Parameters<typeof pluralsByGroup>[0], operations: string[]): Rule[] {
  return pluralsByGroup(kinds).map(({ group, plurals }) => ({
    apiGroups: [group],
    apiVersions: ["*"],
    resources: plurals,
    operations,
    scope: "Namespaced",
  }));
}

/**
 * The writes that only AC-05 reviews: deletions of the objects that refer to CAPA identities, and all writes of the
 * objects that use the identity of their Cluster.
 */
export const IDENTITY_USES: Rule[] = [
  ...rulesOf(REFERRER_KINDS, ["DELETE"]), ...rulesOf(PART_KINDS, EVERY_WRITE),
];

/** Returns the selector of all namespaces except those with the given names. */
export function exceptNamespaces(values: string[]): V1LabelSelector {
  return { matchExpressions: [{ key: NAME_LABEL, operator: "NotIn", values }] };
}
