import type {
  V1LabelSelector, V1MutatingWebhook, V1MutatingWebhookConfiguration, V1RuleWithOperations,
  V1ValidatingWebhook, V1ValidatingWebhookConfiguration,
} from "@kubernetes/client-node";
import { IGNORED_NAMESPACES } from "../shared/core/annotation-keys.ts";
import { CERTIFICATES, labelsOf, REACHED, WEBHOOK } from "../shared/core/installation.ts";
import { ALL_SERVICES, isLeftOut, type Kind, type Review, type Writes } from "../shared/core/kind.ts";
import type { Feature } from "../shared/core/context.ts";
import { KINDS } from "../shared/kinds.ts";
import { type Profile, PROFILES } from "../shared/core/profiles.ts";
import { NAME_LABEL } from "../shared/formats/names.ts";

/** Options that determine how the API server calls the webhook, and for which objects. */
export interface WebhookOptions {
  /** The namespace of the webhook's Service, whose Pods are not reviewed: they must start while the webhook is down. */
  readonly namespace: string;
  /** The name of the webhook's service account in this namespace. Default: that of the installation. */
  readonly serviceAccount?: string;
  /**
   * Namespaces whose resources and Pods the API server does not send to the webhook. The policies still check them.
   * Selectors, identities and what refers to them cannot be excluded. Default: none.
   */
  readonly excludedNamespaces?: readonly string[];
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
  /** The groups of ACK resources. No rule can match the suffix of a group. */
  readonly ackGroups: readonly string[];
  /** Decides the failure policies. Default: enforce. */
  readonly profile?: Profile;
  /** The enabled checks and features, of which some need reviews of their own (`Review.onlyFor`). Default: none. */
  readonly enabled?: ReadonlySet<string>;
  /** The features that the installation leaves out. Default: none. */
  readonly without?: ReadonlySet<Feature>;
}

const API_VERSION = "admissionregistration.k8s.io/v1";

/**
 * The default timeout of a webhook call, in seconds, which limits the delay of a write. A short timeout is sufficient,
 * because a decision takes less than a millisecond.
 */
export const TIMEOUT_SECONDS = 3;

// Records, because lint rejects the spread of a class instance.
type Rule = Required<Pick<V1RuleWithOperations, keyof V1RuleWithOperations>>;
type Webhook = Pick<V1ValidatingWebhook, keyof V1ValidatingWebhook>;

export const CREATE_AND_UPDATE: Writes = { operations: ["CREATE", "UPDATE"] };
export const EVERY_WRITE: Writes = { operations: ["CREATE", "UPDATE", "DELETE"] };

/** Returns the rules that match the writes of the kind, and of its subresources. */
export function rulesOf({ served }: Pick<Kind, "served">, writes: Writes, ackGroups: readonly string[] = []): Rule[] {
  const { subresources = [], excludesResource = false } = writes;
  if (served === undefined) return [];
  return served.groups.map(({ group, plurals }) => ({
    apiGroups: groupsOf(group, ackGroups),
    apiVersions: [served.version],
    resources: plurals.flatMap((plural) => (
      [...(excludesResource ? [] : [plural]), ...subresources.map((sub) => `${plural}/${sub}`)]
    )),
    operations: [...writes.operations],
    scope: served.scope,
  }));
}

/** Returns the groups for which the group of a row stands. */
export function groupsOf(group: string, ackGroups: readonly string[]): string[] {
  return group === ALL_SERVICES ? [...ackGroups] : [group];
}

/** The namespaces that a review of some namespaces leaves out, besides that of the webhook. */
const EXEMPT = { others: ["kube-system"], unprotected: [...IGNORED_NAMESPACES] } as const;

/** Returns the selector of the namespaces whose objects are reviewed, without the excluded ones. */
export function namespacesOf(
  scope: NonNullable<Review["namespaces"]> | "all",
  { namespace, ackSystemNamespace }: Pick<WebhookOptions, "namespace" | "ackSystemNamespace">,
  excluded: readonly string[] = [],
): V1LabelSelector {
  if (scope === "ack-system") {
    return { matchExpressions: [{ key: NAME_LABEL, operator: "In", values: [ackSystemNamespace] }] };
  }
  const exempt = scope === "all" ? [] : [...EXEMPT[scope], namespace];
  return { matchExpressions: [{ key: NAME_LABEL, operator: "NotIn", values: [...new Set([...exempt, ...excluded])] }] };
}

/** Returns the settings of a webhook that do not depend on its rules. */
function webhook(
  path: string, { name, whenDown, records, conditions }: Review,
  { namespace, url, caBundle, profile = "enforce" }: WebhookOptions,
): Webhook {
  const target = url === null
    ? { service: { namespace, name: WEBHOOK.service.name, path, port: WEBHOOK.service.port } }
    : { url: `${url.replace(/\/$/, "")}${path}` };
  return {
    // /mutate/resources -> resources.mutate.ack-role-resolver.io
    name: [...(name === undefined ? [] : [name]), ...path.split("/").slice(1).toReversed(), WEBHOOK.domain].join("."),
    clientConfig: caBundle === null ? target : { ...target, caBundle: Buffer.from(caBundle).toString("base64") },
    admissionReviewVersions: ["v1"],
    sideEffects: records === true ? "NoneOnDryRun" : "None",
    timeoutSeconds: TIMEOUT_SECONDS,
    matchPolicy: "Equivalent",
    failurePolicy: PROFILES[whenDown === "Fail" ? "failurePolicy" : "otherFailurePolicy"][profile],
    matchConditions: [...conditions],
  };
}

/** Returns the kinds of an installation. */
export function kindsOf({ without }: Pick<WebhookOptions, "without">): readonly Kind[] {
  return without === undefined ? KINDS : KINDS.filter((kind) => !isLeftOut(kind, without));
}

/** Returns the webhooks of the rows whose paths start with `/mutate` or `/validate`. */
function webhooks(verb: "mutate" | "validate", options: WebhookOptions): Webhook[] {
  const all = kindsOf(options)
    .flatMap((row) => (row.reviews ?? []).map((review) => ({ row, review, path: `/${verb}/${row.path}` })))
    .filter(({ review }) => (review.mutates === true) === (verb === "mutate"))
    .filter(({ review: { onlyFor } }) => onlyFor === undefined || options.enabled?.has(onlyFor) === true);
  const byName = Map.groupBy(all, ({ review, path }) => `${review.name} ${path}`);
  return [...byName.values()].flatMap((ofName) => ofName.slice(0, 1).flatMap(({ row, review, path }) => {
    const rules = ofName.flatMap((one) => rulesOf(one.row, one.review, options.ackGroups));
    const excluded = row.isExcludable === true ? options.excludedNamespaces ?? [] : [];
    const isLimited = review.namespaces !== undefined || excluded.length > 0;
    const namespaceSelector = namespacesOf(review.namespaces ?? "all", options, excluded);
    const one = { ...webhook(path, review, options), rules, ...(isLimited && { namespaceSelector }) };
    return review.optIn === undefined ? [one] : byLabel(one, review.optIn);
  }));
}

/**
 * Returns the webhooks for the objects that request a review: by their own label, or by the label of their Namespace.
 * No object matches both. The label of an object matches with any value except `false`, so that the webhook denies an
 * invalid value.
 */
function byLabel(one: Webhook, key: string): Webhook[] {
  const exists = { key, operator: "Exists" };
  const notFalse = { key, operator: "NotIn", values: ["false"] };
  const isUnlabeled = { key, operator: "DoesNotExist" };
  return [
    { ...one, objectSelector: { matchExpressions: [exists, notFalse] } },
    {
      ...one, name: `namespace.${one.name}`,
      namespaceSelector: {
        matchLabels: { [key]: "true" }, matchExpressions: one.namespaceSelector?.matchExpressions ?? [],
      },
      objectSelector: { matchExpressions: [isUnlabeled] },
    },
  ];
}

/**
 * Returns the webhook with which `certs manage` learns whether the API server reaches this one: the API server sends
 * only updates of its Lease in a dry run.
 */
export function reachedWebhook(options: WebhookOptions): Webhook {
  const expression = `has(request.dryRun) && request.dryRun && request.name == "${CERTIFICATES}"`;
  const conditions = [{ name: "asks-whether-reached", expression }];
  const review: Review = { operations: ["UPDATE"], whenDown: "Ignore", conditions };
  return {
    ...webhook(REACHED.path, review, options), failurePolicy: "Ignore",
    rules: [{
      apiGroups: ["coordination.k8s.io"], apiVersions: ["v1"], resources: ["leases"], operations: ["UPDATE"],
      scope: "Namespaced",
    }],
    namespaceSelector: { matchExpressions: [{ key: NAME_LABEL, operator: "In", values: [options.namespace] }] },
  };
}

const metadata = { name: WEBHOOK.configuration, labels: labelsOf("webhook") };

export function mutatingWebhooks(options: WebhookOptions): V1MutatingWebhookConfiguration {
  // The API server calls the webhook again if another webhook changes the object later, such as that of CAPA or EKS.
  const all = webhooks("mutate", options).map((one): V1MutatingWebhook => ({ ...one, reinvocationPolicy: "IfNeeded" }));
  return {
    apiVersion: API_VERSION, kind: "MutatingWebhookConfiguration", metadata, webhooks: all,
  };
}

export function validatingWebhooks(options: WebhookOptions): V1ValidatingWebhookConfiguration {
  return {
    apiVersion: API_VERSION, kind: "ValidatingWebhookConfiguration", metadata,
    webhooks: webhooks("validate", options),
  };
}
