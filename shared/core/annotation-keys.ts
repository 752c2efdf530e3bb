// Source of all ACK names: aws-controllers-k8s/runtime v0.62.0, apis/core/v1alpha1/annotations.go and
// pkg/runtime/cache/account.go.

/** Namespaces whose annotations CARM ignores. Source: aws-controllers-k8s/runtime pkg/runtime/cache/namespace.go. */
export const IGNORED_NAMESPACES: ReadonlySet<string> = new Set(["kube-system", "kube-public", "kube-node-lease"]);

/** The names of the CARM ConfigMaps. */
export const ACCOUNT_MAP = "ack-role-account-map";
export const TEAM_MAP = "ack-role-team-map";

export const ACK_PREFIX = "services.k8s.aws/";

export const OWNER_ACCOUNT_ANNOTATION = `${ACK_PREFIX}owner-account-id`;
export const TEAM_ANNOTATION = `${ACK_PREFIX}team-id`;
export const PROPOSED_TEAM_ANNOTATION = `${ACK_PREFIX}owner-team-id`;
export const REGION_ANNOTATION = `${ACK_PREFIX}region`;
export const DEFAULT_REGION_ANNOTATION = `${ACK_PREFIX}default-region`;
export const DELETION_POLICY_ANNOTATION = `${ACK_PREFIX}deletion-policy`;
export const ADOPTED_ANNOTATION = `${ACK_PREFIX}adopted`;
export const READ_ONLY_ANNOTATION = `${ACK_PREFIX}read-only`;
export const ADOPTION_POLICY_ANNOTATION = `${ACK_PREFIX}adoption-policy`;
export const ADOPTION_FIELDS_ANNOTATION = `${ACK_PREFIX}adoption-fields`;
export const IGNORE_FIELD_DRIFT_ANNOTATION = `${ACK_PREFIX}ignore-field-drift`;
export const ENDPOINT_URL_ANNOTATION = `${ACK_PREFIX}endpoint-url`;

/** The annotations that controllers read on a resource. */
export const RESOURCE_ANNOTATIONS: ReadonlySet<string> = new Set([
  ADOPTED_ANNOTATION, DELETION_POLICY_ANNOTATION, READ_ONLY_ANNOTATION, ADOPTION_POLICY_ANNOTATION,
  ADOPTION_FIELDS_ANNOTATION, IGNORE_FIELD_DRIFT_ANNOTATION, REGION_ANNOTATION,
]);

/** The annotations that controllers read on a namespace, except the deletion policy of each service. */
export const NAMESPACE_ANNOTATIONS: ReadonlySet<string> = new Set([
  OWNER_ACCOUNT_ANNOTATION, TEAM_ANNOTATION, DEFAULT_REGION_ANNOTATION, ENDPOINT_URL_ANNOTATION,
]);

/**
 * Whether the annotation key, such as `s3.services.k8s.aws/deletion-policy`, sets the deletion policy for the resources
 * of one service.
 */
export function isServiceDeletionPolicy(key: string): boolean {
  return key.endsWith(`.${DELETION_POLICY_ANNOTATION}`);
}

/** The prefix of all annotations that this project defines. */
export const RESOLVER_PREFIX = "ack-role-resolver.io/";

/** `ack-role-resolver.io/allow: IRS-15,IRS-19` waives the checks IRS-15 and IRS-19 for the annotated object. */
export const WAIVER_ANNOTATION = `${RESOLVER_PREFIX}allow`;
/** `ack-role-resolver.io/replaces: NAME,...` on a selector names the selectors that the annotated selector replaces. */
export const REPLACES_ANNOTATION = `${RESOLVER_PREFIX}replaces`;

/**
 * `ack-role-resolver.io/use-selector: NAME` on a resource or its namespace picks one of the selectors that select the
 * resource. Only `--runtime extended` supports this annotation.
 */
export const USE_SELECTOR_ANNOTATION = `${RESOLVER_PREFIX}use-selector`;

/**
 * The label that requests a sidecar: `true` on a Pod or its Namespace. `false` on a Pod overrides the label of the
 * Namespace.
 */
export const INJECT_LABEL = `${RESOLVER_PREFIX}inject`;
/** Names the container of the ACK controller in a Pod that has several containers. */
export const INJECT_CONTAINER_ANNOTATION = `${RESOLVER_PREFIX}inject-container`;
/** Names the API group of the ACK controller in a Pod. */
export const INJECT_GROUP_ANNOTATION = `${RESOLVER_PREFIX}inject-group`;
/**
 * Names the containers to which the identity webhook of EKS adds no credentials. Source:
 * aws/amazon-eks-pod-identity-webhook 3bf80a3, pkg/handler/handler.go, getContainersToSkip.
 */
export const SKIP_CONTAINERS_ANNOTATION = "eks.amazonaws.com/skip-containers";

/**
 * The webhooks of a webhook configuration whose failurePolicy becomes `Fail` when the webhook is ready: their names,
 * separated by commas. Only who may change the configuration can set it.
 */
export const FAIL_WHEN_READY_ANNOTATION = `${RESOLVER_PREFIX}fail-when-ready`;

// These annotations of a selector configure the sessions of its role.
export const EXTERNAL_ID_ANNOTATION = `${RESOLVER_PREFIX}external-id`;
export const SESSION_NAME_ANNOTATION = `${RESOLVER_PREFIX}session-name`;
export const SOURCE_IDENTITY_ANNOTATION = `${RESOLVER_PREFIX}source-identity`;
export const SESSION_TAGS_ANNOTATION = `${RESOLVER_PREFIX}session-tags`;
export const DURATION_SECONDS_ANNOTATION = `${RESOLVER_PREFIX}duration-seconds`;
export const SESSION_POLICY_ANNOTATION = `${RESOLVER_PREFIX}session-policy`;
export const SESSION_POLICY_ARNS_ANNOTATION = `${RESOLVER_PREFIX}session-policy-arns`;
export const SESSION_SCOPE_ANNOTATION = `${RESOLVER_PREFIX}session-scope`;

/** The annotations that this project reads on an IAMRoleSelector. */
export const SELECTOR_ANNOTATIONS: ReadonlySet<string> = new Set([
  WAIVER_ANNOTATION, REPLACES_ANNOTATION, EXTERNAL_ID_ANNOTATION, SESSION_NAME_ANNOTATION, SOURCE_IDENTITY_ANNOTATION,
  SESSION_TAGS_ANNOTATION, DURATION_SECONDS_ANNOTATION, SESSION_POLICY_ANNOTATION, SESSION_POLICY_ARNS_ANNOTATION,
  SESSION_SCOPE_ANNOTATION,
]);

/**
 * The annotations in which the webhook records the resolution of a resource, or of an object that refers to a CAPA
 * identity: its role and the reason. The webhook overwrites values that users set.
 */
export const RESOLUTION = {
  outcome: `${RESOLVER_PREFIX}outcome`,
  via: `${RESOLVER_PREFIX}via`,
  selector: `${RESOLVER_PREFIX}selector`,
  selectorVersion: `${RESOLVER_PREFIX}selector-resource-version`,
  roleARN: `${RESOLVER_PREFIX}role-arn`,
  conflicting: `${RESOLVER_PREFIX}conflicting-selectors`,
  chain: `${RESOLVER_PREFIX}identity-chain`,
  reason: `${RESOLVER_PREFIX}reason`,
} as const;
export const RESOLUTION_KEYS: readonly string[] = Object.values(RESOLUTION);

/**
 * If this annotation of a namespace is `true`, the resources of the namespace must not use the controller's own role.
 */
export const SELECTOR_REQUIRED_ANNOTATION = `${RESOLVER_PREFIX}selector-required`;

/**
 * The annotation in which client-side `kubectl apply` stores the applied manifest.
 * https://kubernetes.io/docs/reference/labels-annotations-taints/#kubectl-kubernetes-io-last-applied-configuration
 */
export const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
