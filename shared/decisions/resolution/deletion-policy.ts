import { DELETION_POLICY_ANNOTATION } from "../annotation-keys.ts";
import { carmAnnotations } from "../carm/maps.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ResourceQuery } from "../kubernetes/ack-resource.ts";

/** The only value that makes a controller delete in AWS. Any other value retains, a misspelled one too. */
export const DELETION_POLICY_DELETE = "delete";
export const DELETION_POLICY_RETAIN = "retain";

/**
 * Returns the deletion policy of the resource. Precedence: its annotation, the annotation of its namespace for the
 * service, the default of the controller flag, `delete`. Source: aws-controllers-k8s/runtime pkg/runtime/reconciler.go,
 * getDeletionPolicy.
 */
export function deletionPolicyOf(inventory: Inventory, { group, namespace, annotations }: ResourceQuery): string {
  return annotations.get(DELETION_POLICY_ANNOTATION)
    ?? carmAnnotations(namespace, inventory.namespaces.annotationsOf(namespace)).get(`${group}/deletion-policy`)
    ?? DELETION_POLICY_DELETE;
}
