import type {
  AdmissionregistrationV1WebhookClientConfig as ClientConfig, V1LabelSelector, V1MutatingWebhook,
  V1MutatingWebhookConfiguration, V1ObjectMeta, V1ValidatingWebhook, V1ValidatingWebhookConfiguration,
} from "@kubernetes/client-node";
import { IGNORED_NAMESPACES, INJECT_LABEL } from "../shared/contract/annotation-keys.ts";
import { labelsOf, WEBHOOK } from "../shared/contract/installation.ts";
import { NAME_LABEL } from "../shared/formats/names.ts";
import { caInjection } from "./certificates.ts";
import {
  CHANGES_MORE_THAN_BOOKKEEPING, CHANGES_NAMESPACE, DELETES_OR_WAIVES, IS_CARM_MAP, IS_DEFINITION_OF_RESOURCES,
  IS_DEFINITION_OF_SELECTORS, MUTATES, MUTATES_CLUSTER, NOT_A_MIRROR_POD, NOT_BEING_DELETED, NOT_DELETED_AGAIN,
} from "./conditions.ts";
import {
  ackResources, CLUSTERS, configMaps, CREATE_AND_UPDATE, EVERY_WRITE, exceptNamespaces, FIELD_EXPORTS, IDENTITIES,
  IDENTITY_USES, kindDefinitions, namespaces, selectors, withStatus,
} from "./webhook-rules.ts";

/** Matches new Pods. Updates cannot change the containers of a Pod. */
const POD_RULES: Pick<V1ValidatingWebhook, "rules" | "matchConditions"> = {
  rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"], scope: "Namespaced" }],
  matchConditions: [NOT_A_MIRROR_POD],
};

type PodSelectors = Required<Pick<V1ValidatingWebhook, "namespaceSelector" | "objectSelector">>;

/**
 * Returns the selectors of Pods in the given namespaces that request a sidecar: by their own label, or by the label of
 * their Namespace. No Pod matches both. The label of a Pod matches with any value except `false`, so that the webhook
 * denies an invalid value.
 */
function podSelectors({ matchExpressions = [] }: V1LabelSelector): readonly [PodSelectors, PodSelectors] {
  const exists = { key: INJECT_LABEL, operator: "Exists" };
  const notFalse = { key: INJECT_LABEL, operator: "NotIn", values: ["false"] };
  const isUnlabeled = { key: INJECT_LABEL, operator: "DoesNotExist" };
  return [
    { namespaceSelector: { matchExpressions }, objectSelector: { matchExpressions: [exists, notFalse] } },
    {
      namespaceSelector: { matchLabels: { [INJECT_LABEL]: "true" }, matchExpressions },
      objectSelector: { matchExpressions: [isUnlabeled] },
    },
  ];
}

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
  /** Whether the API server sends Pods that request a sidecar to the webhook. Default: false. */
  readonly inject?: boolean;
  /**
   * Whether the API server sends the writes to the webhook that only AC-05 needs: deletions of clusters, and machines.
   * Default: false.
   */
  readonly reviewsIdentityUses?: boolean;
}

const API_VERSION = "admissionregistration.k8s.io/v1";

/**
 * The timeout of a webhook call, in seconds, which limits the delay of a write. A short timeout is sufficient, because
 * a decision takes less than a millisecond.
 */
const TIMEOUT_SECONDS = 3;

/** The paths whose reviews record an admitted change in the ConfigMap of pending writes, unless it is a dry run. */
const RECORDING: ReadonlySet<string> = new Set(["/validate/iamroleselectors", "/validate/identities"]);

/** Returns the settings of a webhook that do not depend on its rules. */
function webhook(
  path: string, failurePolicy: "Fail" | "Ignore", options: WebhookOptions,
): Omit<V1ValidatingWebhook, "rules"> {
  return {
    // /mutate/resources -> resources.mutate.ack-role-resolver.io
    name: [...path.split("/").slice(1).toReversed(), WEBHOOK.domain].join("."),
    clientConfig: clientConfig(path, options),
    admissionReviewVersions: ["v1"],
    sideEffects: RECORDING.has(path) ? "NoneOnDryRun" : "None",
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
    matchConditions: [MUTATES],
    namespaceSelector: exceptNamespaces(["kube-system", options.namespace]),
    reinvocationPolicy: "IfNeeded",
  };
  const clusters: V1MutatingWebhook = {
    ...webhook("/mutate/clusters", "Ignore", options),
    rules: CLUSTERS,
    matchConditions: [MUTATES_CLUSTER],
    namespaceSelector: exceptNamespaces(["kube-system", options.namespace]),
    // The webhook of CAPA can set the identityRef later.
    reinvocationPolicy: "IfNeeded",
  };
  const metadata = configurationMetadata(options);
  const pods = ofPods("/mutate/pods", options).map((one): V1MutatingWebhook => (
    // The API server calls the webhook again if the identity webhook of EKS adds credentials later.
    { ...one, reinvocationPolicy: "IfNeeded" }
  ));
  const webhooks = [ofSelectors, resources, clusters, ...pods];
  return { apiVersion: API_VERSION, kind: "MutatingWebhookConfiguration", metadata, webhooks };
}

export function validatingWebhooks(options: WebhookOptions): V1ValidatingWebhookConfiguration {
  const ofSelectors: V1ValidatingWebhook = {
    ...webhook("/validate/iamroleselectors", "Fail", options),
    rules: [withStatus(selectors(EVERY_WRITE))],
    matchConditions: [NOT_BEING_DELETED, CHANGES_MORE_THAN_BOOKKEEPING],
  };
  // CustomResourceDefinitions have a separate webhook, because a match condition applies to all rules of a webhook.
  const definition: V1ValidatingWebhook = {
    ...webhook("/validate/iamroleselectors", "Fail", options),
    name: `definition.iamroleselectors.validate.${WEBHOOK.domain}`,
    rules: [withStatus(kindDefinitions(EVERY_WRITE))],
    matchConditions: [NOT_BEING_DELETED, IS_DEFINITION_OF_SELECTORS, DELETES_OR_WAIVES],
  };
  const resources: V1ValidatingWebhook = {
    ...webhook("/validate/resources", "Ignore", options),
    rules: [withStatus(ackResources(options.extraGroups, EVERY_WRITE))],
    matchConditions: [NOT_DELETED_AGAIN, CHANGES_MORE_THAN_BOOKKEEPING],
    namespaceSelector: exceptNamespaces(["kube-system", options.namespace]),
  };
  const definitions: V1ValidatingWebhook = {
    ...webhook("/validate/resources", "Ignore", options),
    name: `definition.resources.validate.${WEBHOOK.domain}`,
    rules: [withStatus(kindDefinitions(EVERY_WRITE))],
    matchConditions: [NOT_DELETED_AGAIN, IS_DEFINITION_OF_RESOURCES, DELETES_OR_WAIVES],
  };
  const metadata = configurationMetadata(options);
  const webhooks = [
    ofSelectors, definition, resources, definitions, ofNamespaces(options), ofCARMMaps(options),
    ofFieldExports(options), ofIdentities(options), ofClusters(options),
    ...(options.reviewsIdentityUses === true ? [ofIdentityUses(options)] : []),
    ...ofPods("/validate/pods", options),
  ];
  return { apiVersion: API_VERSION, kind: "ValidatingWebhookConfiguration", metadata, webhooks };
}

/**
 * Returns the webhook for namespaces. Exempts the system namespaces and the namespace of the webhook, so that a faulty
 * webhook cannot block its own repair.
 */
function ofNamespaces(options: WebhookOptions): V1ValidatingWebhook {
  return {
    ...webhook("/validate/namespaces", "Ignore", options),
    rules: [namespaces(EVERY_WRITE)],
    matchConditions: [NOT_DELETED_AGAIN, CHANGES_NAMESPACE],
    namespaceSelector: exceptNamespaces([...new Set([...IGNORED_NAMESPACES, options.namespace])]),
  };
}

function ofCARMMaps(options: WebhookOptions): V1ValidatingWebhook {
  return {
    ...webhook("/validate/configmaps", "Fail", options),
    rules: [configMaps(EVERY_WRITE)],
    namespaceSelector: {
      matchExpressions: [{ key: NAME_LABEL, operator: "In", values: [options.ackSystemNamespace] }],
    },
    matchConditions: [IS_CARM_MAP, CHANGES_MORE_THAN_BOOKKEEPING],
  };
}

/**
 * Returns the webhook for FieldExports, in every namespace. The failurePolicy is Fail, because the controller writes
 * the value within seconds.
 */
function ofFieldExports(options: WebhookOptions): V1ValidatingWebhook {
  return {
    ...webhook("/validate/fieldexports", "Fail", options),
    rules: [withStatus(FIELD_EXPORTS)],
    matchConditions: [NOT_BEING_DELETED, CHANGES_MORE_THAN_BOOKKEEPING],
  };
}

/** Returns the webhook for CAPA identities. */
function ofIdentities(options: WebhookOptions): V1ValidatingWebhook {
  return {
    ...webhook("/validate/identities", "Fail", options),
    rules: [withStatus(IDENTITIES)],
    matchConditions: [NOT_BEING_DELETED, CHANGES_MORE_THAN_BOOKKEEPING],
  };
}

/** Returns the webhook for the objects that refer to CAPA identities. */
function ofClusters(options: WebhookOptions): V1ValidatingWebhook {
  return {
    ...webhook("/validate/clusters", "Ignore", options),
    rules: CLUSTERS.map(withStatus),
    matchConditions: [CHANGES_MORE_THAN_BOOKKEEPING],
    namespaceSelector: exceptNamespaces(["kube-system", options.namespace]),
  };
}

/** Returns the webhook for the writes that only AC-05 needs. */
function ofIdentityUses(options: WebhookOptions): V1ValidatingWebhook {
  return {
    ...webhook("/validate/clusters", "Ignore", options),
    name: `use.clusters.validate.${WEBHOOK.domain}`,
    rules: IDENTITY_USES,
    matchConditions: [NOT_DELETED_AGAIN, CHANGES_MORE_THAN_BOOKKEEPING],
    namespaceSelector: exceptNamespaces(["kube-system", options.namespace]),
  };
}

/** Returns the webhooks for Pods that request a sidecar. */
function ofPods(path: "/mutate/pods" | "/validate/pods", options: WebhookOptions): PodWebhook[] {
  if (options.inject !== true) return [];
  const base = { ...webhook(path, "Fail", options), ...POD_RULES };
  const [ofPod, ofNamespace] = podSelectors(exceptNamespaces(["kube-system", options.namespace]));
  return [{ ...base, ...ofPod }, { ...base, ...ofNamespace, name: `namespace.${base.name}` }];
}

type PodWebhook = Pick<V1ValidatingWebhook, keyof V1ValidatingWebhook>;
