import { accountDrift, type Outcome, regionDrift } from "../core/resolution.ts";
import { desiredRegion } from "../core/resolve.ts";
import {
  DELETION_POLICY_ANNOTATION, IGNORED_NAMESPACES, REGION_ANNOTATION, USE_SELECTOR_ANNOTATION,
} from "../core/annotation-keys.ts";
import { annotationPath, field, type JsonObject, stringAt } from "../formats/json.ts";
import { listOf, quote } from "../formats/text.ts";
import { type CheckEntry, type Fault, fixOf, type QuickCheck } from "../core/check.ts";
import { by, set } from "../core/repair.ts";
import { isRegion, partitionOfRegion } from "../formats/arn.ts";
import { refusedFix, resolutionClause, type ResourceChange } from "./resource-change.ts";
import { CHOICE_PATH, choiceFor } from "./role-inputs.ts";
import { conflictRepairs, refusedRepairs, roleInAccount } from "./role-repairs.ts";
import type { Inventory } from "../core/inventory.ts";
import { placeOf, type ResourceQuery } from "../core/ack-resource.ts";
import { DELETION_POLICY_DELETE } from "../core/value-types.ts";
import { RESOLUTION, RESOLUTION_AND_CONTROLLER_ACCOUNT } from "./requirements.ts";

const METADATA = ["metadata"] as const;
const LABELS = ["metadata", "labels"] as const;
const REGION = annotationPath(REGION_ANNOTATION);

const CHOICE_FIX = `in the annotation ${USE_SELECTOR_ANNOTATION} of the resource, name a selector that selects the `
  + "resource and has a role in the account that the status records";

/** How to change the role of a resource. */
const CHANGES = {
  selectors: "change labels or selectors", carm: "change the account or team of the namespace, or the CARM map,",
};

/** The fix for a role in another account if the status does not prove that the resource exists in AWS. */
const RECREATE = "so that it gets a role in the account that the status records. If the creation of the resource "
  + "failed, delete the resource now, while its old role is in use, and create it again";
const IN_OWN_ACCOUNT = "so that it gets a role in its own account";
const MOVE = "Only if it was meant to move to the other account, delete it, with its content, and create it again";

export const ACK_07: QuickCheck<ResourceChange> = {
  id: "ACK-07",
  severity: "deny",
  reason: "Controllers never reconcile a resource whose status and role are in different accounts. "
    + "No condition on the resource reports the cause. The status records the account of the first attempt, even if "
    + "it created nothing. For a new manifest with such a status, the check only warns.",
  fix: `${CHANGES.selectors} ${IN_OWN_ACCOUNT}. ${MOVE}`,
  fixInCARM: `${CHANGES.carm} ${IN_OWN_ACCOUNT}. ${MOVE}`,
  example: "a label on a Bucket in account 111122223333 that makes an "
    + "IAMRoleSelector for account 444455556666 select it",
  requires: RESOLUTION,
  section: "drift",
  when: ({ operation, resource }) => resource.status.ownerAccountID !== null
    && (operation !== "CREATE" || !resource.created),
  *find(change): Iterable<Fault> {
    const isNew = change.operation === "CREATE";
    const recreate = `${CHANGES[change.settings.mode]} ${RECREATE}`;
    const fix = fixOf(ACK_07, change.settings);
    for (const fault of accountDriftFaults(change, "so controllers never reconcile it", fix, recreate)) {
      yield isNew ? { ...fault, severity: "warn" } : fault;
    }
  },
};

export const ACK_08: QuickCheck<ResourceChange> = {
  id: "ACK-08",
  severity: "deny",
  reason: "If no selector selects a resource of another account, controllers use their own role. "
    + "Controllers then create the resource again in their own account, or abandon it.",
  fix: `${CHANGES.selectors} ${IN_OWN_ACCOUNT}`,
  example: "a Bucket in account 111122223333 without the label that its IAMRoleSelector matches",
  requires: RESOLUTION_AND_CONTROLLER_ACCOUNT,
  on: ["UPDATE", "AUDIT"],
  section: "drift",
  find: (change) => (
    controllerRoleFaults(change, ACK_08, (account) => (
      `would create it again in account ${account} with its own role`
    ))
  ),
};

/**
 * Yields a fault if the selected role is in a different account from the resource. `unprovenFix` replaces
 * `provenFix` if the status does not prove that the resource exists in AWS.
 */
export function* accountDriftFaults(
  change: ResourceChange, consequence: string, provenFix: string, unprovenFix: string | null = null,
): Iterable<Fault> {
  const drift = accountDriftOf(change, "selected");
  if (drift === null) return;
  const { recorded, resolved } = drift;
  const { created, status: { ownerAccountID } } = change.resource;
  const repairs = roleInAccount(change, ownerAccountID, appliedRole(change.object));
  const place = placeOf(change.resource, "account");
  const message = `${place} ${recorded} but its role is in account ${resolved}, ${consequence}`;
  const choice = choiceFor(change, change.resource);
  const fix = created || unprovenFix === null ? provenFix : unprovenFix;
  if (choice === null) yield { path: LABELS, message, fix, repairs };
  else yield { path: choice.from === "resource" ? CHOICE_PATH : METADATA, message, fix: CHOICE_FIX, repairs };
}

/**
 * Yields a fault if the controller's own role applies and is in a different account from the resource. `action` returns
 * what the controller would do, as a verb phrase.
 */
export function* controllerRoleFaults(
  change: ResourceChange, { id, fix }: CheckEntry, action: (account: string) => string,
): Iterable<Fault> {
  const drift = accountDriftOf(change, "default");
  if (drift === null) return;
  const place = placeOf(change.resource, "account");
  const message = `${place} ${drift.recorded}, but the controller ${action(drift.resolved)}`;
  const repairs = roleInAccount(change, change.resource.status.ownerAccountID, appliedRole(change.object));
  const edits = [set(annotationPath(DELETION_POLICY_ANNOTATION), "retain")];
  const retained = id === "ACK-30" ? [{ when: "to leave the resource in AWS", edits }] : [];
  yield { path: LABELS, message, fix, repairs: [...retained, ...repairs] };
}

/** The account of a resource and the account of its role, quoted for messages. */
interface AccountDrift {
  /** The account in the status of the resource. */
  readonly recorded: string;
  /** The account of the role. */
  readonly resolved: string;
}

/**
 * Returns both accounts if the resolution of the resource has the expected outcome and the accounts differ; otherwise
 * null.
 */
function accountDriftOf({ resource, resolution }: ResourceChange, expected: Outcome): AccountDrift | null {
  const drift = resolution.outcome === expected ? accountDrift(resolution, resource.status) : null;
  return drift === null ? null : { recorded: quote(drift.recorded), resolved: quote(drift.current) };
}

export const ACK_10B: QuickCheck<ResourceChange> = {
  id: "ACK-10b",
  severity: "deny",
  reason: "Controllers never reconcile a resource whose desired region differs from the region in which it exists. "
    + "No condition on the resource reports the cause.",
  fix: "set the region in which the resource exists. "
    + "To move it to the other region, save its content, delete it, and create it again",
  example: `metadata: {annotations: {${REGION_ANNOTATION}: eu-west-1}} # on a Bucket that exists in us-east-1`,
  on: ["UPDATE", "AUDIT"],
  section: "drift",
  find: (change) => regionDriftFaults(change, ACK_10B.fix),
};

/** Yields a fault if the desired region is not the region in which the resource exists. */
export function* regionDriftFaults(change: ResourceChange, fix: string): Iterable<Fault> {
  const { inventory, resource, settings } = change;
  const desired = desiredRegion(inventory, resource, settings);
  const drift = regionDrift(resource.status, desired);
  if (drift === null) return;
  const expected = `its desired region is ${quote(drift.current)} (set by the ${drift.from})`;
  const place = `${placeOf(resource, "region")} ${quote(drift.recorded)}`;
  const message = `${place}, but ${expected}, so controllers never reconcile it`;
  // The status can contain any text.
  const isUsable = partitionOfRegion(drift.recorded) === partitionOfRegion(drift.current) && isRegion(drift.recorded);
  yield { path: REGION, message, fix, repairs: isUsable ? by(set(REGION, drift.recorded)) : [] };
}

/**
 * The role of a selector that the controller used in its last reconciliation of the resource, in the condition
 * ACK.IAMRoleSelected. Message and reason are swapped in the runtime, which also writes the text into the condition
 * ACK.ReferencesResolved if that exists. Source: aws-controllers-k8s/runtime v0.62.0 pkg/condition/condition.go.
 */
const APPLIED_ROLE = /^roleARN: (\S+), selectorName: /;

function appliedRole(object: JsonObject): string | null {
  const conditions = field(field(object, "status"), "conditions");
  const texts = (Array.isArray(conditions) ? conditions : []).flatMap((condition: unknown) => (
    ["reason", "message"].map((name) => stringAt(condition, name) ?? "")
  ));
  return texts.map((text) => APPLIED_ROLE.exec(text)?.[1] ?? null).findLast((role) => role !== null) ?? null;
}

export const ACK_40: QuickCheck<ResourceChange> = {
  id: "ACK-40",
  severity: "warn",
  reason: "Controllers apply a change of a selector, a namespace or a label only at their resync, by default within 10 "
    + "hours. Until then, the resource is managed with its old role. The check compares the role that resolves now "
    + "with that in the condition ACK.IAMRoleSelected. It does not see a resource that used the controller's own role.",
  fix: "to reconcile now, change the spec, or restart the controller (kubectl rollout restart)",
  example: "a Bucket whose condition ACK.IAMRoleSelected names the role that its IAMRoleSelector had yesterday",
  requires: RESOLUTION,
  on: ["AUDIT"],
  section: "awaitingResync",
  *find(change): Iterable<Fault> {
    const { outcome, roleARN } = change.resolution;
    const applied = appliedRole(change.object);
    if (applied === null || applied === roleARN) return;
    if ((outcome !== "selected" && outcome !== "default") || accountDriftOf(change, outcome) !== null) return;
    const next = roleARN === null ? "its own role" : `the role ${quote(roleARN)}`;
    const message = `the controller last used the role ${quote(applied)}, and will use ${next} at its next resync`;
    yield { path: ["status", "conditions"], message };
  },
};

/**
 * Returns the deletion policy of the resource. Uses the first of these that is set: the annotation of the resource, the
 * annotation of the namespace for the service of the resource, or `delete`, which is the default of the controller's
 * flag. Source: aws-controllers-k8s/runtime pkg/runtime/reconciler.go, getDeletionPolicy.
 */
export function deletionPolicyOf(inventory: Inventory, { group, namespace, annotations }: ResourceQuery): string {
  const ofNamespace = IGNORED_NAMESPACES.has(namespace)
    ? undefined
    : inventory.namespaces.annotationsOf(namespace).get(`${group}/deletion-policy`);
  return annotations.get(DELETION_POLICY_ANNOTATION) ?? ofNamespace ?? DELETION_POLICY_DELETE;
}

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
    yield* controllerRoleFaults(change, ACK_30, (account) => (
      `would look for it in account ${account} and leave it behind`
    ));
  },
};

export const ACK_31: QuickCheck<ResourceChange> = {
  id: "ACK-31",
  severity: "warn",
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
      const fix = "restrict or delete selectors until only one selects the resource";
      yield { path: METADATA, message, fix, repairs: conflictRepairs(change) };
    } else if (resolution.outcome === "refused") {
      const message = `the deletion will hang until a role resolves: ${resolutionClause(resolution)}`;
      const fix = resolution.code === "ERR_SELECTOR_CHOICE" ? refusedFix(resolution) : ACK_31.fix;
      yield { path: METADATA, message, fix, repairs: refusedRepairs(change) };
    } else yield* regionDriftFaults(change, ACK_31.fix);
  },
};

export const ACK_32: QuickCheck<ResourceChange> = {
  id: "ACK-32",
  severity: "deny",
  waivable: true,
  reason: "Controllers never reconcile a resource whose role is in a different account, so the resource would keep its "
    + "finalizer.",
  fix: "first create a selector that selects the resource and has a role in the resource's account",
  fixInCARM: `first ${CHANGES.carm} ${IN_OWN_ACCOUNT}`,
  example: "kubectl delete of a Bucket in account 111122223333 whose IAMRoleSelector now names a role in 444455556666",
  requires: RESOLUTION,
  on: ["DELETE"],
  find: (change) => (
    accountDriftFaults(change, "so the deletion would never finish", fixOf(ACK_32, change.settings))
  ),
};
