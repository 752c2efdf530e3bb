import { RESOURCES } from "../ack/resources.ts";
import type { ACKResource } from "../core/ack-resource.ts";
import type { DecisionSettings } from "../core/context.ts";
import { accountOfARN } from "../formats/arn.ts";
import { annotationPath } from "../formats/json.ts";
import { type Paced, paced } from "../formats/paced.ts";
import { by } from "../core/repair.ts";
import { oldChoices } from "./annotation-repairs.ts";
import { quote } from "../formats/text.ts";
import { carmAnnotations, choosingAnnotation, choosingAnnotations, type MapLookup } from "./carm-maps.ts";
import { mapRoleOf, NO_STATUS } from "./carm-role.ts";
import { RESOURCES_BETWEEN_PAUSES } from "../ack/change-set.ts";
import type { Fault, ScanningCheck } from "../core/check.ts";
import { AffectedResources, type Effect } from "../core/fault-texts.ts";
import { annotationOf, type NamespaceChange, type NamespaceState } from "../core/namespace-change.ts";
import { ACK_NEEDS } from "../ack/requirements.ts";
import { CARM_NEEDS } from "./requirements.ts";

export const NS_04: ScanningCheck<NamespaceChange> = {
  id: "NS-04",
  severity: "deny",
  deniesInCARM: true,
  reason: "A resource stays in the account in which it was created. "
    + "If its role is missing or in another account, controllers can neither reconcile nor delete the resource. "
    + "If no annotation chooses a role, controllers use their own role or the account in the status of the resource, "
    + "which the sidecar does not read.",
  fix: "keep the annotation until these resources are deleted, "
    + "or set the annotation to a key whose role is in the account of these resources",
  example: "metadata: {annotations: {services.k8s.aws/owner-account-id: '444455556666'}} "
    + "# was 111122223333, where a Bucket exists",
  requires: [ACK_NEEDS.resources, CARM_NEEDS.maps],
  on: ["UPDATE"],
  ofChange: true,
  *scan(change): Paced<readonly Fault[]> {
    const { inventory, name, settings, stored, state } = change;
    const changed = choosingAnnotations(settings).find((key) => (
      stored !== null && annotationOf(stored, key) !== annotationOf(state, key)
    ));
    if (changed === undefined || stored === null) return [];
    const ofOwner = { ...change, stored, isRemoval: isRemoval(change, stored) };
    const affected = new AffectedResources();
    // Copies the resources, because the inventory may change during a pause.
    const resources = [...inventory.of(RESOURCES).inNamespace(name)];
    yield* paced(resources, RESOURCES_BETWEEN_PAUSES, (resource) => {
      const effect = effectOf(ofOwner, resource);
      if (effect !== null) affected.add(resource, effect);
      return !affected.isFull;
    });
    const repairs = by(...oldChoices(change, stored));
    return affected.faults(annotationPath(changed)).map((fault) => ({ fix: NS_04.fix, ...fault, repairs }));
  },
};

/**
 * Whether the annotation that chose the role is removed or emptied, and what chooses a role now was there before. An
 * annotation that is added in its place is a change of the key.
 */
function isRemoval({ name, settings, state }: NamespaceChange, stored: NamespaceState): boolean {
  const chooserIn = ({ annotations }: NamespaceState): string | null => (
    choosingAnnotation(carmAnnotations(name, annotations), settings)
  );
  const [before, after] = [chooserIn(stored), chooserIn(state)];
  if (before === null || annotationOf(state, before) !== "") return false;
  return after === null || annotationOf(stored, after) === annotationOf(state, after);
}

interface OwnerChange extends NamespaceChange {
  readonly stored: NamespaceState;
  /** Whether the annotation that chose the role is removed or emptied. */
  readonly isRemoval: boolean;
}

/**
 * Returns the effect on a resource that could use its role before the change. A resource in another account than its
 * role could not.
 */
function effectOf(change: OwnerChange, resource: ACKResource): Effect | null {
  const owner = resource.status.ownerAccountID;
  if (owner !== null && accountIn(change, change.stored, resource) !== owner) return null;
  const account = owner === null ? null : accountIn(change, change.state, resource);
  if (account === owner) return change.isRemoval ? lossOf(change, resource) : null;
  return account === null
    ? { messageFor: (count) => `the change removes the role of ${count} in account ${owner}` }
    : { messageFor: (count) => `the change moves ${count} from account ${owner} to account ${account}` };
}

/**
 * Returns the account of the role in the CARM maps. If the namespace names no key, returns the controllers' account. If
 * the key has no role, returns null.
 */
function accountIn(
  { inventory, name, settings }: NamespaceChange, { annotations }: NamespaceState, { group, status }: ACKResource,
): string | null {
  const lookup = mapRoleOf(inventory, { group, namespace: name, status }, settings, annotations);
  if (lookup === null) return settings.controllerAccount;
  return lookup.roleARN === null ? null : accountOfARN(lookup.roleARN);
}

/**
 * Returns the effect of a removed annotation on a resource that stays in its account. The role that only the status of
 * a resource names does not count, because the sidecar does not read it.
 */
function lossOf(change: OwnerChange, { group, status }: ACKResource): Effect | null {
  const { inventory, name, settings, stored, state } = change;
  const chosenIn = ({ annotations }: NamespaceState): MapLookup | null => (
    mapRoleOf(inventory, { group, namespace: name, status: NO_STATUS }, settings, annotations)
  );
  const [before, after] = [chosenIn(stored)?.roleARN ?? null, chosenIn(state)];
  return before === null || before === after?.roleARN ? null : replacedBy(after, status, settings);
}

/** Returns the effect of the role that replaces the lost one; `lookup` is null if the namespace chooses none. */
function replacedBy(
  lookup: MapLookup | null, { ownerAccountID }: ACKResource["status"], { controllerAccount }: DecisionSettings,
): Effect {
  const where = ownerAccountID === null ? "" : ` in account ${ownerAccountID}`;
  if (lookup === null && (ownerAccountID === null || ownerAccountID === controllerAccount)) {
    return { messageFor: (count) => `the change leaves ${count}${where} with the controllers' own role` };
  }
  if (lookup === null || lookup.roleARN === null) {
    return { messageFor: (count) => `the change removes the role of ${count}${where}` };
  }
  const key = quote(lookup.key);
  return {
    messageFor: (count) => `with the change, the role of key ${key} replaces that of ${count}${where}`,
    fixFor: () => `keep the annotation, or first set key ${key} to the role that these resources use`,
  };
}
