import type {
  AdmissionregistrationV1WebhookClientConfig as ClientConfig, V1LabelSelector, V1MutatingWebhook,
  V1MutatingWebhookConfiguration, V1RuleWithOperations, V1ValidatingWebhook, V1ValidatingWebhookConfiguration,
} from "@kubernetes/client-node";
import { ACCOUNT_MAP, TEAM_MAP } from "../shared/decisions/annotation-keys.ts";
import { IGNORED_NAMESPACES } from "../shared/decisions/carm/maps.ts";
import { knownGroups } from "../shared/decisions/kubernetes/ack-groups.ts";
import { SELECTOR_GROUP } from "../shared/decisions/kubernetes/kinds.ts";
import { NAME_LABEL } from "../shared/decisions/kubernetes/names.ts";
import { labelsOf, WEBHOOK } from "./naming.ts";

/** How the API server reaches the webhook, and for which objects. */
export interface WebhookOptions {
  /** The namespace of the Service; its own objects, like kube-system's, are never held up. */
  readonly namespace: string;
  /** `https://HOST:PORT` of a webhook outside the cluster, in place of the Service; null for the Service. */
  readonly url: string | null;
  /** Where the CARM maps are. It has to be there: it holds the controllers, so it is not made here. */
  readonly ackSystemNamespace: string;
  /** PEM of the CAs that its certificate is believed by; null when something else puts them in. */
  readonly caBundle: string | null;
  /** ACK groups beside the known ones. */
  readonly extraGroups: readonly string[];
}

const API_VERSION = "admissionregistration.k8s.io/v1";

/** The longest that a write of anybody may wait for us: the decisions take well under a millisecond. */
const TIMEOUT_SECONDS = 3;

const CREATE_AND_UPDATE = ["CREATE", "UPDATE"];
const EVERY_WRITE = [...CREATE_AND_UPDATE, "DELETE"];

function selectors(operations: string[]): V1RuleWithOperations {
  return { apiGroups: [SELECTOR_GROUP], apiVersions: ["v1alpha1"], resources: ["iamroleselectors"], operations, scope: "Cluster" };
}

const DEFINITIONS: V1RuleWithOperations = {
  apiGroups: ["apiextensions.k8s.io"],
  apiVersions: ["v1"],
  resources: ["customresourcedefinitions"],
  operations: ["DELETE"],
  scope: "Cluster",
};

/**
 * An object on its way out only waits for its finalizers, and must not wait for us besides: the server skips it too, but can
 * only while it runs. It cannot fail, which under `Ignore` would skip the webhook unseen: at CREATE there is no old object, and
 * a stored one has metadata.
 */
const NOT_BEING_DELETED = {
  name: "not-being-deleted",
  expression: "oldObject == null || !has(oldObject.metadata.deletionTimestamp)",
};

/**
 * No other definition waits for us. By the old object and not by `request.name`, which is empty where a collection is deleted;
 * what is stored has a name, so it cannot fail either.
 */
const IS_DEFINITION_OF_SELECTORS = {
  name: "is-definition-of-selectors",
  expression: `oldObject != null && oldObject.metadata.name == "iamroleselectors.${SELECTOR_GROUP}"`,
};

/** Only those of ACK resources wait for us; what is stored has a group, so it cannot fail either. */
const IS_DEFINITION_OF_RESOURCES = {
  name: "is-definition-of-resources",
  expression: `oldObject != null && oldObject.spec.group.endsWith(".${SELECTOR_GROUP}")`,
};

/**
 * No other ConfigMap waits for us. The only condition, and one that cannot fail, since under `Fail` a failure would hold up them all.
 * By the objects and not by `request.name`, which is absent where the name is generated or a collection is deleted.
 */
const IS_CARM_MAP = {
  name: "is-carm-map",
  expression: `[object, oldObject].exists(one, one != null && has(one.metadata.name) && one.metadata.name in ["${ACCOUNT_MAP}", "${TEAM_MAP}"])`,
};

/** What each of our webhooks has in common. */
function webhook(path: string, failurePolicy: "Fail" | "Ignore", options: WebhookOptions): Omit<V1ValidatingWebhook, "rules"> {
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
    // Another webhook may change the object after us: look again then.
    reinvocationPolicy: "IfNeeded",
  };
  const resources: V1MutatingWebhook = {
    ...webhook("/mutate/resources", "Ignore", options),
    rules: [ackResources(options.extraGroups, CREATE_AND_UPDATE)],
    namespaceSelector: otherNamespaces(options),
    reinvocationPolicy: "IfNeeded",
  };
  const metadata = { name: WEBHOOK.configuration, labels: labelsOf("webhook") };
  return { apiVersion: API_VERSION, kind: "MutatingWebhookConfiguration", metadata, webhooks: [ofSelectors, resources] };
}

export function validatingWebhooks(options: WebhookOptions): V1ValidatingWebhookConfiguration {
  const ofSelectors: V1ValidatingWebhook = {
    ...webhook("/validate/iamroleselectors", "Fail", options),
    rules: [selectors(EVERY_WRITE)],
  };
  // A webhook of its own, since its condition holds for all rules of one.
  const definition: V1ValidatingWebhook = {
    ...webhook("/validate/iamroleselectors", "Fail", options),
    name: `definition.iamroleselectors.validate.${WEBHOOK.domain}`,
    rules: [DEFINITIONS],
    matchConditions: [NOT_BEING_DELETED, IS_DEFINITION_OF_SELECTORS],
  };
  const resources: V1ValidatingWebhook = {
    ...webhook("/validate/resources", "Ignore", options),
    rules: [ackResources(options.extraGroups, EVERY_WRITE)],
    namespaceSelector: otherNamespaces(options),
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

/** The cluster's own namespaces and ours are left alone: who could not write those could not mend anything. */
function ofNamespaces(options: WebhookOptions): V1ValidatingWebhook {
  return {
    ...webhook("/validate/namespaces", "Ignore", options),
    rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["namespaces"], operations: EVERY_WRITE, scope: "Cluster" }],
    namespaceSelector: { matchExpressions: [{ key: NAME_LABEL, operator: "NotIn", values: [...new Set([...IGNORED_NAMESPACES, options.namespace])] }] },
  };
}

function ofCARMMaps(options: WebhookOptions): V1ValidatingWebhook {
  return {
    ...webhook("/validate/configmaps", "Fail", options),
    rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: EVERY_WRITE, scope: "Namespaced" }],
    namespaceSelector: { matchExpressions: [{ key: NAME_LABEL, operator: "In", values: [options.ackSystemNamespace] }] },
    matchConditions: [IS_CARM_MAP],
  };
}

/** All but kube-system and our own. */
function otherNamespaces({ namespace }: WebhookOptions): V1LabelSelector {
  return { matchExpressions: [{ key: NAME_LABEL, operator: "NotIn", values: ["kube-system", namespace] }] };
}

/** A rule takes whole names of groups or `*`, no suffix. `*` of the resources leaves subresources out, status among them. */
function ackResources(extraGroups: readonly string[], operations: string[]): V1RuleWithOperations {
  return { apiGroups: knownGroups(extraGroups), apiVersions: ["*"], resources: ["*"], operations, scope: "Namespaced" };
}
