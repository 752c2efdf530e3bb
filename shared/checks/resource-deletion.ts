import { DELETION_POLICY_ANNOTATION } from "../contract/annotation-keys.ts";
import { carmAnnotations } from "../model/carm-maps.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ResourceQuery } from "../contract/ack-resource.ts";
import { listOf } from "../formats/text.ts";
import type { Fault, QuickCheck } from "./check.ts";
import {
  refusedFix, RESOLUTION, RESOLUTION_AND_CONTROLLER_ACCOUNT, resolutionClause, type ResourceChange,
} from "./resource-change.ts";
import { accountDriftFaults, controllerRoleFaults, regionDriftFaults } from "./resource-drift.ts";

/** The only policy that makes a controller delete the AWS resource. Controllers treat other values as retain. */
export const DELETION_POLICY_DELETE = "delete";
export const DELETION_POLICY_RETAIN = "retain";

/**
 * Returns the deletion policy of the resource. Uses the first of these that is set: the annotation of the resource, the
 * annotation of the namespace for the service of the resource, or `delete`, which is the default of the controller's
 * flag. Source: aws-controllers-k8s/runtime pkg/runtime/reconciler.go, getDeletionPolicy.
 */
export function deletionPolicyOf(inventory: Inventory, { group, namespace, annotations }: ResourceQuery): string {
  return annotations.get(DELETION_POLICY_ANNOTATION)
    ?? carmAnnotations(namespace, inventory.namespaces.annotationsOf(namespace)).get(`${group}/deletion-policy`)
    ?? DELETION_POLICY_DELETE;
}

const METADATA = ["metadata"] as const;

export const ACK_30: QuickCheck<ResourceChange> = {
  id: "ACK-30",
  severity: "deny",
  waivable: true,
  reason: "If no selector selects a resource, the controller uses its own role to delete the resource. The AWS "
    + "resource then stays in its account, because the controller's own role is in a different account. "
    + "If that account has a resource of the same name, the controller deletes that resource.",
  fix: "first create a selector that selects the resource and has a role in the resource's account. "
    + "To leave the resource in AWS, annotate the resource with services.k8s.aws/deletion-policy: retain",
  example: "kubectl delete of a Bucket in account 111122223333, after its IAMRoleSelector was deleted",
  requires: RESOLUTION_AND_CONTROLLER_ACCOUNT,
  on: ["DELETE"],
  *find(change): Iterable<Fault> {
    // If the deletion policy is not `delete`, the controller makes no AWS call.
    if (deletionPolicyOf(change.inventory, change.resource) !== DELETION_POLICY_DELETE) return;
    yield* controllerRoleFaults(change, (account) => `would look for it in account ${account} and leave it behind`);
  },
};

export const ACK_31: QuickCheck<ResourceChange> = {
  id: "ACK-31",
  severity: "warn",
  waivable: false,
  reason: "A controller never finishes the deletion of a resource that it does not reconcile. "
    + "The finalizer stays, and no condition on the resource reports the cause.",
  fix: "correct the role or the region of the resource before you delete the resource",
  example: "kubectl delete of a Bucket that two IAMRoleSelectors select",
  requires: RESOLUTION,
  on: ["DELETE"],
  *find(change): Iterable<Fault> {
    const { resolution } = change;
    if (resolution.outcome === "conflict") {
      const names = listOf(resolution.selectors.map(({ name }) => name));
      const message = `the deletion will hang until only one of these IAMRoleSelectors selects the resource: ${names}`;
      yield { path: METADATA, message, fix: "restrict or delete selectors until only one selects the resource" };
    } else if (resolution.outcome === "refused") {
      const message = `the deletion will hang until a role resolves: ${resolutionClause(resolution)}`;
      const fix = resolution.code === "ERR_SELECTOR_CHOICE" ? refusedFix(resolution) : ACK_31.fix;
      yield { path: METADATA, message, fix };
    } else yield* regionDriftFaults(change);
  },
};

export const ACK_32: QuickCheck<ResourceChange> = {
  id: "ACK-32",
  severity: "deny",
  waivable: true,
  reason: "Controllers never reconcile a resource whose role is in a different account, so the resource would keep its "
    + "finalizer.",
  fix: "first create a selector that selects the resource and has a role in the resource's account",
  example: "kubectl delete of a Bucket in account 111122223333 whose IAMRoleSelector now names a role in 444455556666",
  requires: RESOLUTION,
  on: ["DELETE"],
  find: (change) => accountDriftFaults(change, "so the deletion would never finish"),
};
