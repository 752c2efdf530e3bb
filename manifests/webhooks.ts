import type {
  AdmissionregistrationV1WebhookClientConfig as ClientConfig, V1LabelSelector, V1MutatingWebhook,
  V1MutatingWebhookConfiguration, V1ObjectMeta, V1RuleWithOperations, V1ValidatingWebhook,
  V1ValidatingWebhookConfiguration,
} from "@kubernetes/client-node";
import { ACCOUNT_MAP, TEAM_MAP, WAIVER_ANNOTATION } from "../shared/decisions/annotation-keys.ts";
import { IGNORED_NAMESPACES } from "../shared/decisions/carm/maps.ts";
import { knownGroups, SELECTOR_GROUP } from "../shared/decisions/kubernetes/kinds.ts";
import { NAME_LABEL } from "../shared/decisions/kubernetes/names.ts";
import { caInjection } from "./certificates.ts";
import { labelsOf, WEBHOOK } from "./rbac.ts";

/** Options that determine how the API server calls the webhook, and for which objects. */
export interface WebhookOptions {
  /** The namespace of the webhook's Service. The resource webhooks exempt this namespace and kube-system. */
  readonly namespace: string;
  /**
   * The URL `https://HOST:PORT` of a webhook that runs outside the cluster. If the URL is null, the API server calls
   * the webhook's Service.
   */
  readonly url: string | null;
  /** The namespace of the controllers and the CARM maps. The namespace must exist: the manifests do not create it. */
  readonly ackSystemNamespace: string;
  /**
   * The PEM certificates of the CAs that the API server trusts for the webhook. The value is null if another tool
   * injects the certificates.
   */
  readonly caBundle: string | null;
  /** Whether cert-manager injects the caBundle. */
  readonly injectCA: boolean;
  /** ACK groups that are unknown to this release but that the webhook also handles. */
  readonly extraGroups: readonly string[];
}

const API_VERSION = "admissionregistration.k8s.io/v1";

/**
 * The timeout of a webhook call, in seconds, which limits the delay of a write. A short timeout is sufficient, because
 * a decision takes less than a millisecond.
 */
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
  operations: EVERY_WRITE,
  scope: "Cluster",
};

/**
 * Skips a DELETE of an object that is already being deleted, because such a request changes nothing. The webhook
 * receives each UPDATE of such an object, because controllers use the object until its last finalizer is removed. The
 * expression cannot fail: a stored object has metadata. A failed expression would skip a webhook whose failurePolicy is
 * `Ignore`.
 */
const NOT_DELETED_AGAIN = {
  name: "not-deleted-again",
  expression: 'request.operation != "DELETE" || oldObject == null || !has(oldObject.metadata.deletionTimestamp)',
};

const CHANGES_CONTENT = ["spec", "metadata.labels", "metadata.annotations"].map((field) => (
  `has(object.${field}) != has(oldObject.${field}) || has(object.${field}) && object.${field} != oldObject.${field}`
)).join(" || ");

/**
 * Skips DELETE requests like NOT_DELETED_AGAIN, and skips an UPDATE of an object that is being deleted if the spec,
 * labels and annotations stay the same. The last finalizer can then be removed while the webhook is down. The API
 * server limits the cost of the comparison. If the expression fails, the failurePolicy `Fail` rejects the request.
 */
const NOT_BEING_DELETED = {
  name: "not-being-deleted",
  expression: "oldObject == null || !has(oldObject.metadata.deletionTimestamp) || "
    + `request.operation == "UPDATE" && (${CHANGES_CONTENT})`,
};

/**
 * Matches only the CustomResourceDefinition of IAMRoleSelector. Reads the objects, because `request.name` is empty if a
 * client deletes a collection. The expression cannot fail.
 */
const IS_DEFINITION_OF_SELECTORS = {
  name: "is-definition-of-selectors",
  expression: "[object, oldObject].exists(one, one != null && has(one.metadata.name) && "
    + `one.metadata.name == "iamroleselectors.${SELECTOR_GROUP}")`,
};

/** Matches only CustomResourceDefinitions of ACK resources. The expression cannot fail. */
const IS_DEFINITION_OF_RESOURCES = {
  name: "is-definition-of-resources",
  expression: "[object, oldObject].exists(one, one != null && has(one.spec.group) && "
    + `one.spec.group.endsWith(".${SELECTOR_GROUP}"))`,
};

const WAIVER = `metadata.annotations["${WAIVER_ANNOTATION}"]`;
const HAS_WAIVER = `metadata.annotations) && "${WAIVER_ANNOTATION}" in `;

/**
 * Matches each deletion, and each write that adds or changes a waiver annotation. The webhook does not receive other
 * writes of CustomResourceDefinitions, which can be larger than 1 MB. The expression cannot fail.
 */
const DELETES_OR_WAIVES = {
  name: "deletes-or-waives",
  expression: `object == null || has(object.${HAS_WAIVER}object.metadata.annotations && !(oldObject != null && `
    + `has(oldObject.${HAS_WAIVER}oldObject.metadata.annotations && object.${WAIVER} == oldObject.${WAIVER})`,
};

/**
 * Matches only the CARM maps. The expression must not fail: a failed expression with the failurePolicy `Fail` would
 * reject every ConfigMap. Reads the objects, because `request.name` is missing if the name is generated or a client
 * deletes a collection.
 */
const IS_CARM_MAP = {
  name: "is-carm-map",
  expression: "[object, oldObject].exists(one, one != null && has(one.metadata.name) && "
    + `one.metadata.name in ["${ACCOUNT_MAP}", "${TEAM_MAP}"])`,
};

/** Returns the settings of a webhook that do not depend on its rules. */
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
    matchConditions: [failurePolicy === "Fail" ? NOT_BEING_DELETED : NOT_DELETED_AGAIN],
  };
}

function clientConfig(path: string, { namespace, url, caBundle }: WebhookOptions): ClientConfig {
  const target = url === null
    ? { service: { namespace, name: WEBHOOK.service.name, path, port: WEBHOOK.service.port } }
    : { url: `${url.replace(/\/$/, "")}${path}` };
  return caBundle === null ? target : { ...target, caBundle: Buffer.from(caBundle).toString("base64") };
}

function configurationMetadata({ namespace, injectCA }: WebhookOptions): V1ObjectMeta {
  const metadata = { name: WEBHOOK.configuration, labels: labelsOf("webhook") };
  return injectCA ? { ...metadata, annotations: caInjection(namespace) } : metadata;
}

export function mutatingWebhooks(options: WebhookOptions): V1MutatingWebhookConfiguration {
  const ofSelectors: V1MutatingWebhook = {
    ...webhook("/mutate/iamroleselectors", "Fail", options),
    rules: [selectors(CREATE_AND_UPDATE)],
    // The API server calls the webhook again if another webhook changes the object later.
    reinvocationPolicy: "IfNeeded",
  };
  const resources: V1MutatingWebhook = {
    ...webhook("/mutate/resources", "Ignore", options),
    rules: [ackResources(options.extraGroups, CREATE_AND_UPDATE)],
    namespaceSelector: exceptNamespaces(["kube-system", options.namespace]),
    reinvocationPolicy: "IfNeeded",
  };
  const metadata = configurationMetadata(options);
  const webhooks = [ofSelectors, resources];
  return { apiVersion: API_VERSION, kind: "MutatingWebhookConfiguration", metadata, webhooks };
}

export function validatingWebhooks(options: WebhookOptions): V1ValidatingWebhookConfiguration {
  const ofSelectors: V1ValidatingWebhook = {
    ...webhook("/validate/iamroleselectors", "Fail", options),
    rules: [selectors(EVERY_WRITE)],
  };
  // CustomResourceDefinitions have a separate webhook, because a match condition applies to all rules of a webhook.
  const definition: V1ValidatingWebhook = {
    ...webhook("/validate/iamroleselectors", "Fail", options),
    name: `definition.iamroleselectors.validate.${WEBHOOK.domain}`,
    rules: [DEFINITIONS],
    matchConditions: [NOT_BEING_DELETED, IS_DEFINITION_OF_SELECTORS, DELETES_OR_WAIVES],
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
    matchConditions: [NOT_DELETED_AGAIN, IS_DEFINITION_OF_RESOURCES, DELETES_OR_WAIVES],
  };
  const metadata = configurationMetadata(options);
  const webhooks = [ofSelectors, definition, resources, definitions, ofNamespaces(options), ofCARMMaps(options)];
  return { apiVersion: API_VERSION, kind: "ValidatingWebhookConfiguration", metadata, webhooks };
}

/** Namespaces, and the subresources of Namespace through which a client can change labels and annotations. */
const NAMESPACES = ["namespaces", "namespaces/status", "namespaces/finalize"];

/**
 * Returns the webhook for namespaces. Exempts the system namespaces and the namespace of the webhook, so that a faulty
 * webhook cannot block its own repair.
 */
function ofNamespaces(options: WebhookOptions): V1ValidatingWebhook {
  return {
    ...webhook("/validate/namespaces", "Ignore", options),
    rules: [
      { apiGroups: [""], apiVersions: ["v1"], resources: NAMESPACES, operations: EVERY_WRITE, scope: "Cluster" },
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
 * Returns the rule that matches ACK resources. Lists complete group names, because a rule cannot match the suffix of a
 * group. The resource `*` does not include subresources such as status.
 */
function ackResources(extraGroups: readonly string[], operations: string[]): V1RuleWithOperations {
  return { apiGroups: knownGroups(extraGroups), apiVersions: ["*"], resources: ["*"], operations, scope: "Namespaced" };
}
