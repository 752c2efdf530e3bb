import { DELETION_POLICY_ANNOTATION } from "../annotation-keys.ts";
import { carmAnnotations } from "../carm/annotations.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ResourceQuery } from "../kubernetes/ack-resource.ts";

/** The one value that makes a controller delete in AWS; any other keeps, a misspelt one too. */
export const DELETION_POLICY_DELETE = "delete";
export const DELETION_POLICY_RETAIN = "retain";

/**
 * What a controller does in AWS when the resource is deleted: its own annotation decides, whatever it holds, then that of its
 * namespace for the service, then the controllers' flag, whose default is `delete`
 * (aws-controllers-k8s/runtime pkg/runtime/reconciler.go, getDeletionPolicy).
 */
export function deletionPolicyOf(inventory: Inventory, { group, namespace, annotations }: ResourceQuery): string {
  return annotations.get(DELETION_POLICY_ANNOTATION)
    ?? carmAnnotations(namespace, inventory.namespaceAnnotations(namespace)).get(`${group}/deletion-policy`)
    ?? DELETION_POLICY_DELETE;
}
