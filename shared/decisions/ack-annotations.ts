import { OWNER_ACCOUNT_ANNOTATION, TEAM_ANNOTATION } from "./carm.ts";
import { DELETION_POLICY_ANNOTATION } from "./deletion-policy.ts";
import { DEFAULT_REGION_ANNOTATION, REGION_ANNOTATION } from "./region.ts";

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
}
