import { DELETION_POLICY_ANNOTATION } from "../../annotation-keys.ts";
import { carmAnnotations } from "../../carm/maps.ts";
import type { Inventory } from "../../inventory/inventory.ts";
import type { ResourceQuery } from "../../kubernetes/ack-resource.ts";
import { annotationPath } from "../../kubernetes/field-path.ts";
import { listOf, quote } from "../../kubernetes/text.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { RESOLUTION, RESOLUTION_AND_CONTROLLER_ACCOUNT, resolutionClause, type ResourceChange } from "./change.ts";
import { accountDriftFaults, controllerRoleFaults, regionDriftFaults } from "./drift.ts";

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

const METADATA = ["metadata"] as const;

export const ACK_30: QuickCheck<ResourceChange> = {
  id: "ACK-30",
  severity: "deny",
  waivable: true,
  reason: "Without a selector the controller deletes with its own role. "
    + "It leaves the resource behind in its account, "
    + "or deletes a resource of the same name in the controller's account.",
  fix: "first let a selector with a role in the resource's account select it. "
    + "To leave the resource in AWS instead, annotate it with services.k8s.aws/deletion-policy: retain",
  example: "kubectl delete of a Bucket in account 111122223333, after its IAMRoleSelector was deleted",
  requires: RESOLUTION_AND_CONTROLLER_ACCOUNT,
  on: ["DELETE"],
  *find(change): Iterable<Fault> {
    // With any other policy the controller makes no AWS call.
    if (deletionPolicyOf(change.inventory, change.resource) !== DELETION_POLICY_DELETE) return;
    yield* controllerRoleFaults(change, (account) => `would look for it in account ${account} and leave it behind`);
  },
};

export const ACK_31: QuickCheck<ResourceChange> = {
  id: "ACK-31",
  severity: "warn",
  waivable: false,
  reason: "A controller that does not reconcile a resource does not finish its deletion either. "
    + "The finalizer stays, and no condition on the resource reports the cause.",
  fix: "fix this first; the deletion hangs until then",
  example: "kubectl delete of a Bucket that two IAMRoleSelectors select",
  requires: RESOLUTION,
  on: ["DELETE"],
  *find(change): Iterable<Fault> {
    const { resolution } = change;
    if (resolution.outcome === "conflict") {
      const names = listOf(resolution.selectors.map(({ name }) => name));
      const message = `the deletion will hang until only one of these IAMRoleSelectors selects the resource: ${names}`;
      yield { path: METADATA, message, fix: "narrow or delete all selectors but one" };
    } else if (resolution.outcome === "refused") {
      const message = `the deletion will hang until a role resolves: ${resolutionClause(resolution)}`;
      yield { path: METADATA, message };
    } else yield* regionDriftFaults(change);
  },
};

export const ACK_32: QuickCheck<ResourceChange> = {
  id: "ACK-32",
  severity: "deny",
  waivable: true,
  reason: "Controllers never reconcile a resource with a role in a different account, so its finalizer would stay.",
  fix: "first let a selector with a role in the resource's account select it",
  example: "kubectl delete of a Bucket in account 111122223333 whose IAMRoleSelector now names a role in 444455556666",
  requires: RESOLUTION,
  on: ["DELETE"],
  find: (change) => accountDriftFaults(change, "so the deletion would never finish"),
};

export const ACK_33: QuickCheck<ResourceChange> = {
  id: "ACK-33",
  severity: "warn",
  waivable: false,
  reason: "With any policy except delete, the resource stays in AWS and no controller manages it.",
  fix: "set the policy to delete first if the AWS resource is to be deleted too",
  example: `kubectl delete of a Bucket with ${DELETION_POLICY_ANNOTATION}: retain`,
  on: ["DELETE"],
  *find({ inventory, resource }): Iterable<Fault> {
    const policy = deletionPolicyOf(inventory, resource);
    if (policy === DELETION_POLICY_DELETE) return;
    const isOnResource = resource.annotations.has(DELETION_POLICY_ANNOTATION);
    const path = isOnResource ? annotationPath(DELETION_POLICY_ANNOTATION) : METADATA;
    const source = isOnResource ? "" : "of the namespace ";
    const effect = policy === DELETION_POLICY_RETAIN ? "is retain" : `${quote(policy)} is treated as retain`;
    yield { path, message: `the deletion policy ${source}${effect}, so the resource stays in AWS` };
  },
};
