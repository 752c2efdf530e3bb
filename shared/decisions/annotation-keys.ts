// Names: aws-controllers-k8s/runtime pkg/runtime/cache/account.go and apis/core/v1alpha1/annotations.go.
export const ACCOUNT_MAP = "ack-role-account-map";
export const TEAM_MAP = "ack-role-team-map";
export const OWNER_ACCOUNT_ANNOTATION = "services.k8s.aws/owner-account-id";
export const TEAM_ANNOTATION = "services.k8s.aws/team-id";
export const PROPOSED_TEAM_ANNOTATION = "services.k8s.aws/owner-team-id";

// Source: aws-controllers-k8s/runtime apis/core/v1alpha1/annotations.go.
export const REGION_ANNOTATION = "services.k8s.aws/region";
export const DEFAULT_REGION_ANNOTATION = "services.k8s.aws/default-region";

export const DELETION_POLICY_ANNOTATION = "services.k8s.aws/deletion-policy";

// Source: aws-controllers-k8s/runtime apis/core/v1alpha1/annotations.go, at v0.62.0.
export const ACK_PREFIX = "services.k8s.aws/";
export const ADOPTED_ANNOTATION = `${ACK_PREFIX}adopted`;
export const READ_ONLY_ANNOTATION = `${ACK_PREFIX}read-only`;
export const ADOPTION_POLICY_ANNOTATION = `${ACK_PREFIX}adoption-policy`;
export const ADOPTION_FIELDS_ANNOTATION = `${ACK_PREFIX}adoption-fields`;
export const IGNORE_FIELD_DRIFT_ANNOTATION = `${ACK_PREFIX}ignore-field-drift`;
export const ENDPOINT_URL_ANNOTATION = `${ACK_PREFIX}endpoint-url`;

/** What controllers read of a resource. */
export const RESOURCE_ANNOTATIONS: ReadonlySet<string> = new Set([
  ADOPTED_ANNOTATION, DELETION_POLICY_ANNOTATION, READ_ONLY_ANNOTATION, ADOPTION_POLICY_ANNOTATION, ADOPTION_FIELDS_ANNOTATION,
  IGNORE_FIELD_DRIFT_ANNOTATION, REGION_ANNOTATION,
]);

/** What controllers read of a namespace; a service's deletion policy has a key of its own. */
export const NAMESPACE_ANNOTATIONS: ReadonlySet<string> = new Set([
  OWNER_ACCOUNT_ANNOTATION, TEAM_ANNOTATION, DEFAULT_REGION_ANNOTATION, ENDPOINT_URL_ANNOTATION,
]);

/** Whether the key is `s3.services.k8s.aws/deletion-policy` or another service's, by which a namespace decides for its resources. */
export function isServiceDeletionPolicy(key: string): boolean {
  return key.endsWith(`.${DELETION_POLICY_ANNOTATION}`);
}/** What this project reads and writes of others' objects stands under it. */
export const RESOLVER_PREFIX = "ack-role-resolver.io/";

/** `ack-role-resolver.io/allow: IRS-15,IRS-19` waives those checks for the object that carries it. */
export const WAIVER_ANNOTATION = `${RESOLVER_PREFIX}allow`;
/** `ack-role-resolver.io/replaces: NAME,...` on the selector that takes over. */
export const REPLACES_ANNOTATION = `${RESOLVER_PREFIX}replaces`;

// What the sessions of a selector's role are to be like.
export const EXTERNAL_ID_ANNOTATION = `${RESOLVER_PREFIX}external-id`;
export const SESSION_NAME_ANNOTATION = `${RESOLVER_PREFIX}session-name`;
export const SOURCE_IDENTITY_ANNOTATION = `${RESOLVER_PREFIX}source-identity`;
export const SESSION_TAGS_ANNOTATION = `${RESOLVER_PREFIX}session-tags`;
export const DURATION_SECONDS_ANNOTATION = `${RESOLVER_PREFIX}duration-seconds`;

/** All that is read of an IAMRoleSelector. */
export const SELECTOR_ANNOTATIONS: ReadonlySet<string> = new Set([
  WAIVER_ANNOTATION, REPLACES_ANNOTATION, EXTERNAL_ID_ANNOTATION, SESSION_NAME_ANNOTATION, SOURCE_IDENTITY_ANNOTATION, SESSION_TAGS_ANNOTATION,
  DURATION_SECONDS_ANNOTATION,
]);

/** The keys that tell a resolution. Nothing ever reads them as input, and a user's own value never survives. */
export const RESOLUTION_KEYS = ["outcome", "via", "selector", "selector-resource-version", "role-arn", "conflicting-selectors", "reason"]
  .map((key) => RESOLVER_PREFIX + key);

/** Marks a namespace whose resources may not fall to the controller's own role. */
export const SELECTOR_REQUIRED_ANNOTATION = `${RESOLVER_PREFIX}selector-required`;

/** Where kubectl's client-side apply keeps what it was given: https://kubernetes.io/docs/reference/labels-annotations-taints/#kubectl-kubernetes-io-last-applied-configuration. */
export const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
