import { DELETION_POLICY_ANNOTATION } from "../../annotation-keys.ts";
import { annotationPath } from "../../kubernetes/field-path.ts";
import { listOf, quote } from "../../kubernetes/text.ts";
import { DELETION_POLICY_DELETE, DELETION_POLICY_RETAIN, deletionPolicyOf } from "../../resolution/deletion-policy.ts";
import type { Fault, QuickCheck } from "../check.ts";
import { accountDrift, fallBack } from "./account.ts";
import { RESOLUTION, RESOLUTION_OF_ALL, type ResourceChange } from "./change.ts";
import { regionDrift } from "./region.ts";
import { clause } from "./selection.ts";

const METADATA = ["metadata"] as const;

export const ACK_30: QuickCheck<ResourceChange> = {
  id: "ACK-30",
  severity: "deny",
  waivable: true,
  reason: "The controller would delete with its own role: it leaves the resource behind in its account, or deletes one of the same name in the controller's.",
  fix: "have a selector of its account select it first, or annotate it with services.k8s.aws/deletion-policy: retain to leave it in AWS",
  example: "kubectl delete of a Bucket of account 111122223333 after its IAMRoleSelector",
  requires: RESOLUTION_OF_ALL,
  on: ["DELETE"],
  *find(change): Iterable<Fault> {
    // With any other policy no call to AWS is made.
    if (deletionPolicyOf(change.inventory, change.resource) === DELETION_POLICY_DELETE) yield* fallBack(change, "would look for it there and leave it behind");
  },
};

export const ACK_31: QuickCheck<ResourceChange> = {
  id: "ACK-31",
  severity: "warn",
  waivable: false,
  reason: "A controller that stops at a resource does not finish its deletion either: the finalizer stays, and nothing on the resource says why.",
  fix: "mend that first; until then the deletion hangs",
  example: "kubectl delete of a Bucket that two IAMRoleSelectors select",
  requires: RESOLUTION,
  on: ["DELETE"],
  *find(change): Iterable<Fault> {
    const { resolution } = change;
    if (resolution.outcome === "conflict") {
      const names = listOf(resolution.selectors.map(({ name }) => name));
      yield { path: METADATA, message: `it will hang until one selector alone selects it, of ${names}`, fix: "narrow or delete all selectors but one" };
    } else if (resolution.outcome === "refused") yield { path: METADATA, message: `it will hang until its role is told: ${clause(resolution)}` };
    else yield* regionDrift(change);
  },
};

export const ACK_32: QuickCheck<ResourceChange> = {
  id: "ACK-32",
  severity: "deny",
  waivable: true,
  reason: "A controller refuses to work on a resource with a role of another account, so its finalizer would stay for ever.",
  fix: "have a selector of its account select it first",
  example: "kubectl delete of a Bucket of account 111122223333 whose IAMRoleSelector now names a role in 444455556666",
  requires: RESOLUTION,
  on: ["DELETE"],
  find: (change) => accountDrift(change, "so the deletion would hang for ever"),
};

export const ACK_33: QuickCheck<ResourceChange> = {
  id: "ACK-33",
  severity: "warn",
  waivable: false,
  reason: "With any policy but delete the resource stays in AWS, and nothing manages it any more.",
  fix: "set the policy to delete first, if the AWS resource is to go too",
  example: `kubectl delete of a Bucket with ${DELETION_POLICY_ANNOTATION}: retain`,
  on: ["DELETE"],
  *find({ inventory, resource }): Iterable<Fault> {
    const policy = deletionPolicyOf(inventory, resource);
    if (policy === DELETION_POLICY_DELETE) return;
    const isOwn = resource.annotations.has(DELETION_POLICY_ANNOTATION);
    const read = policy === DELETION_POLICY_RETAIN ? "is retain" : `${quote(policy)} reads as retain`;
    const path = isOwn ? annotationPath(DELETION_POLICY_ANNOTATION) : METADATA;
    yield { path, message: `the deletion policy ${isOwn ? "" : "of its namespace "}${read}, so it stays in AWS` };
  },
};
