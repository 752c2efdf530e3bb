import type {
  AdmissionregistrationV1WebhookClientConfig as ClientConfig, V1LabelSelector, V1MutatingWebhook,
  V1MutatingWebhookConfiguration, V1RuleWithOperations, V1ValidatingWebhook, V1ValidatingWebhookConfiguration,
} from "@kubernetes/client-node";
import { ACCOUNT_MAP, TEAM_MAP } from "../shared/decisions/annotation-keys.ts";
import { IGNORED_NAMESPACES } from "../shared/decisions/carm/maps.ts";
import { knownGroups, SELECTOR_GROUP } from "../shared/decisions/kubernetes/kinds.ts";
import { NAME_LABEL } from "../shared/decisions/kubernetes/names.ts";
import { labelsOf, WEBHOOK } from "./rbac.ts";

/** How the API server calls the webhook, and for which objects. */
export interface WebhookOptions {
  /** The namespace of the Service. Like kube-system, it is exempt from the resource webhooks. */
  readonly namespace: string;
  /** `https://HOST:PORT` of a webhook outside the cluster; null for the Service. */
  readonly url: string | null;
  /** The existing namespace of the controllers and the CARM maps. The manifests do not create it. */
  readonly ackSystemNamespace: string;
  /** PEM certificates of the CAs that the API server trusts; null if another tool injects them. */
  readonly caBundle: string | null;
  /** ACK groups besides the known ones. */
  readonly extraGroups: readonly string[];
}

const API_VERSION = "admissionregistration.k8s.io/v1";

/** Limits how long the webhook delays a write. A decision takes under a millisecond. */
const TIMEOUT_SECONDS = 3;

const CREATE_AND_UPDATE = ["CREATE", "UPDATE"];
const EVERY_WRITE = [...CREATE_AND_UPDATE, "DELETE"];

function selectors(operations: string[]): V1RuleWithOperations {
  return {
    apiGroups: [SELECTOR_GROUP],
    apiVersions: ["v1alpha1"],
    resources: ["iamroleselectors"],
    operations,
    scope: "Cluster",
  };
}

const DEFINITIONS: V1RuleWithOperations = {
  apiGroups: ["apiextensions.k8s.io"],
  apiVersions: ["v1"],
  resources: ["customresourcedefinitions"],
  operations: ["DELETE"],
  scope: "Cluster",
};

/**
 * An object that is being deleted waits only for its finalizers, and must not depend on the webhook. The condition
 * cannot fail, which would skip the webhook under `Ignore`: CREATE has no old object, and a stored object has metadata.
 */
const NOT_BEING_DELETED = {
  name: "not-being-deleted",
  expression: "oldObject == null || !has(oldObject.metadata.deletionTimestamp)",
};

/**
 * Matches the definition of IAMRoleSelector only. Reads the old object, because `request.name` is empty when a
 * collection is deleted. The condition cannot fail: a stored object has a name.
 */
const IS_DEFINITION_OF_SELECTORS = {
  name: "is-definition-of-selectors",
  expression: `oldObject != null && oldObject.metadata.name == "iamroleselectors.${SELECTOR_GROUP}"`,
};

/** Matches the definitions of ACK resources only. The condition cannot fail: a stored definition has a group. */
const IS_DEFINITION_OF_RESOURCES = {
  name: "is-definition-of-resources",
  expression: `oldObject != null && oldObject.spec.group.endsWith(".${SELECTOR_GROUP}")`,
};

/**
 * Matches the CARM maps only. It is the only condition and cannot fail: under `Fail`, a failed condition would reject
 * every ConfigMap. Reads the objects, because `request.name` is absent for a generated name or a deleted collection.
 */
const IS_CARM_MAP = {
  name: "is-carm-map",
  expression: "[object, oldObject].exists(one, one != null && has(one.metadata.name) && "
    + `one.metadata.name in ["${ACCOUNT_MAP}", "${TEAM_MAP}"])`,
};

/** Returns the settings that all webhooks share. */
function webhook(
  path: string, failurePolicy: "Fail" | "Ignore", options: WebhookOptions,
): Omit<V1ValidatingWebhook, "rules"> {
  return {
    // /mutate/resources -> resources.mutate.ack-role-resolver.io
    name: [...path.split("/").slice(1).toReversed(), WEBHOOK.domain].join("."),
    clientConfig: clientConfig(path, options),
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    timeoutSeconds: TIMEOUT_SECONDS,
    matchPolicy: "Equivalent",
    failurePolicy,
    matchConditions: [NOT_BEING_DELETED],
  };
}

function clientConfig(path: string, { namespace, url, caBundle }: WebhookOptions): ClientConfig {
  const target = url === null
    ? { service: { namespace, name: WEBHOOK.service.name, path, port: WEBHOOK.service.port } }
    : { url: `${url.replace(/\/$/, "")}${path}` };
  return caBundle === null ? target : { ...target, caBundle: Buffer.from(caBundle).toString("base64") };
}

export function mutatingWebhooks(options: WebhookOptions): V1MutatingWebhookConfiguration {
  const ofSelectors: V1MutatingWebhook = {
    ...webhook("/mutate/iamroleselectors", "Fail", options),
    rules: [selectors(CREATE_AND_UPDATE)],
    // Runs again if another webhook changes the object afterwards.
    reinvocationPolicy: "IfNeeded",
  };
  const resources: V1MutatingWebhook = {
    ...webhook("/mutate/resources", "Ignore", options),
    rules: [ackResources(options.extraGroups, CREATE_AND_UPDATE)],
    namespaceSelector: exceptNamespaces(["kube-system", options.namespace]),
    reinvocationPolicy: "IfNeeded",
  };
  const metadata = { name: WEBHOOK.configuration, labels: labelsOf("webhook") };
  const webhooks = [ofSelectors, resources];
  return { apiVersion: API_VERSION, kind: "MutatingWebhookConfiguration", metadata, webhooks };
}

export function validatingWebhooks(options: WebhookOptions): V1ValidatingWebhookConfiguration {
  const ofSelectors: V1ValidatingWebhook = {
    ...webhook("/validate/iamroleselectors", "Fail", options),
    rules: [selectors(EVERY_WRITE)],
  };
  // A separate webhook, because a match condition applies to all rules of a webhook.
  const definition: V1ValidatingWebhook = {
    ...webhook("/validate/iamroleselectors", "Fail", options),
    name: `definition.iamroleselectors.validate.${WEBHOOK.domain}`,
    rules: [DEFINITIONS],
    matchConditions: [NOT_BEING_DELETED, IS_DEFINITION_OF_SELECTORS],
  };
  const resources: V1ValidatingWebhook = {
    ...webhook("/validate/resources", "Ignore", options),
    rules: [ackResources(options.extraGroups, EVERY_WRITE)],
    namespaceSelector: exceptNamespaces(["kube-system", options.namespace]),
  };
  const definitions: V1ValidatingWebhook = {
    ...webhook("/validate/resources", "Ignore", options),
    name: `definition.resources.validate.${WEBHOOK.domain}`,
    rules: [DEFINITIONS],
    matchConditions: [NOT_BEING_DELETED, IS_DEFINITION_OF_RESOURCES],
  };
  const metadata = { name: WEBHOOK.configuration, labels: labelsOf("webhook") };
  const webhooks = [ofSelectors, definition, resources, definitions, ofNamespaces(options), ofCARMMaps(options)];
  return { apiVersion: API_VERSION, kind: "ValidatingWebhookConfiguration", metadata, webhooks };
}

/** Exempts the system namespaces and the webhook's own, so that a faulty webhook cannot block its repair. */
function ofNamespaces(options: WebhookOptions): V1ValidatingWebhook {
  return {
    ...webhook("/validate/namespaces", "Ignore", options),
    rules: [
      { apiGroups: [""], apiVersions: ["v1"], resources: ["namespaces"], operations: EVERY_WRITE, scope: "Cluster" },
    ],
    namespaceSelector: exceptNamespaces([...new Set([...IGNORED_NAMESPACES, options.namespace])]),
  };
}

function ofCARMMaps(options: WebhookOptions): V1ValidatingWebhook {
  return {
    ...webhook("/validate/configmaps", "Fail", options),
    rules: [
      { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: EVERY_WRITE, scope: "Namespaced" },
    ],
    namespaceSelector: {
      matchExpressions: [{ key: NAME_LABEL, operator: "In", values: [options.ackSystemNamespace] }],
    },
    matchConditions: [IS_CARM_MAP],
  };
}

function exceptNamespaces(values: string[]): V1LabelSelector {
  return { matchExpressions: [{ key: NAME_LABEL, operator: "NotIn", values }] };
}

/**
 * Lists complete group names, because a rule cannot match a suffix. The resource `*` excludes subresources such as
 * status.
 */
function ackResources(extraGroups: readonly string[], operations: string[]): V1RuleWithOperations {
  return { apiGroups: knownGroups(extraGroups), apiVersions: ["*"], resources: ["*"], operations, scope: "Namespaced" };
}
