import type { ACKResource } from "../contract/ack-resource.ts";
import {
  OWNER_ACCOUNT_ANNOTATION, SELECTOR_REQUIRED_ANNOTATION, TEAM_ANNOTATION,
} from "../contract/annotation-keys.ts";
import { accountOfARN } from "../formats/arn.ts";
import { annotationPath, type FieldPath } from "../formats/json.ts";
import { paced } from "../formats/paced.ts";
import { quote } from "../formats/text.ts";
import { carmAnnotations, lookUpEntry, mapEntryOf } from "../model/carm-maps.ts";
import { RESOURCES_BETWEEN_PAUSES } from "../resolution/change-set.ts";
import type { Fault, QuickCheck, ScanningCheck } from "./check.ts";
import { AffectedResources, type Effect } from "./message-lists.ts";
import { annotationOf, type NamespaceChange, type NamespaceState } from "./namespace-change.ts";
import { mayWaive } from "./waiver.ts";

/** The only value of the annotation that requires a selector. */
export const REQUIRED = "true";

/** Returns whether the annotations of a namespace require a selector for each of its resources. */
export function isSelectorRequired(annotations: ReadonlyMap<string, string>): boolean {
  return annotations.get(SELECTOR_REQUIRED_ANNOTATION) === REQUIRED;
}

export const NS_17: QuickCheck<NamespaceChange> = {
  id: "NS-17",
  severity: "deny",
  waivable: false,
  reason: "Without this check, any user who can write a namespace could remove "
    + `\`${SELECTOR_REQUIRED_ANNOTATION}\` and use the controllers' own role. Every user may set it to \`"true"\`. `
    + "Only a waiver user may remove that value, or write another value, which has no effect.",
  fix: `set ${SELECTOR_REQUIRED_ANNOTATION} to "true", or ask a user in --waiver-users or in a group in `
    + "--waiver-groups to change it",
  example: `kubectl annotate namespace team-a ${SELECTOR_REQUIRED_ANNOTATION}- # by a user who is not a waiver user`,
  requires: ["the requester"],
  ofChange: true, // the webhook does not know who wrote the stored object
  *find({ requester, settings, state, stored }): Iterable<Fault> {
    if (requester === null || mayWaive(requester, settings)) return;
    const before = stored?.annotations.get(SELECTOR_REQUIRED_ANNOTATION);
    const after = state.annotations.get(SELECTOR_REQUIRED_ANNOTATION);
    if (after === before || after === REQUIRED || (after === undefined && before !== REQUIRED)) return;
    const change = after === undefined ? "remove the annotation" : `set it to ${quote(after)}`;
    const message = `the requester ${quote(requester.username)} is not a waiver user and may not ${change}`;
    yield { path: annotationPath(SELECTOR_REQUIRED_ANNOTATION), message };
  },
};

export const NS_04: ScanningCheck<NamespaceChange> = {
  id: "NS-04",
  severity: "deny",
  waivable: false,
  deniesInCARM: true,
  reason: "A resource stays in the account in which it was created. "
    + "If its role is missing or in another account, controllers can neither reconcile nor delete the resource.",
  fix: "keep the annotation until these resources are deleted, "
    + "or set the annotation to a key whose role is in the account of these resources",
  example: "metadata: {annotations: {services.k8s.aws/owner-account-id: '444455556666'}} "
    + "# was 111122223333, where a Bucket exists",
  requires: ["resources", "config maps"],
  on: ["UPDATE"],
  ofChange: true,
  *scan(change) {
    const path = changedPath(change);
    const { inventory, name, stored } = change;
    if (path === null || stored === null) return [];
    const affected = new AffectedResources();
    // Copies the resources, because the inventory may change during a pause.
    const resources = [...inventory.resources.inNamespace(name)];
    yield* paced(resources, RESOURCES_BETWEEN_PAUSES, (resource) => {
      const effect = effectOf(change, stored, resource);
      if (effect !== null) affected.add(resource, effect);
      return !affected.isFull;
    });
    return affected.faults(path);
  },
};

/** Returns the path of the first changed annotation that controllers read. */
function changedPath({ settings, stored, state }: NamespaceChange): FieldPath | null {
  const keys = settings.teamLevelCARM ? [OWNER_ACCOUNT_ANNOTATION, TEAM_ANNOTATION] : [OWNER_ACCOUNT_ANNOTATION];
  const changed = keys.find((key) => stored !== null && annotationOf(stored, key) !== annotationOf(state, key));
  return changed === undefined ? null : annotationPath(changed);
}

/**
 * Returns the effect on a resource whose role is in the account of the resource before the change, but not after the
 * change. Returns null for other resources.
 */
function effectOf(change: NamespaceChange, stored: NamespaceState, resource: ACKResource): Effect | null {
  const owner = resource.status.ownerAccountID;
  if (owner === null || accountIn(change, stored, resource) !== owner) return null;
  const account = accountIn(change, change.state, resource);
  if (account === owner) return null;
  return account === null
    ? { messageFor: (count) => `the change removes the role of ${count} in account ${owner}` }
    : { messageFor: (count) => `the change moves ${count} from account ${owner} to account ${account}` };
}

/**
 * Returns the account of the role in the CARM maps. If the namespace names no key, returns the controllers' account. If
 * the key has no role, returns null.
 */
function accountIn(
  { inventory, name, settings }: NamespaceChange, { annotations }: NamespaceState, resource: ACKResource,
): string | null {
  const entry = mapEntryOf(carmAnnotations(name, annotations), resource, settings);
  if (entry === null) return settings.controllerAccount;
  const map = inventory.configMap(settings.ackSystemNamespace, entry.map);
  const { roleARN } = lookUpEntry(map, resource.group, entry, settings);
  return roleARN === null ? null : accountOfARN(roleARN);
}
