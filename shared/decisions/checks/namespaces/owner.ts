import { OWNER_ACCOUNT_ANNOTATION, TEAM_ANNOTATION } from "../../annotation-keys.ts";
import { carmAnnotations } from "../../carm/annotations.ts";
import { lookUpIn, mapEntryOf } from "../../carm/maps.ts";
import type { ACKResource } from "../../kubernetes/ack-resource.ts";
import { accountOfARN } from "../../kubernetes/arn.ts";
import { annotationPath } from "../../kubernetes/field-path.ts";
import { printable } from "../../kubernetes/text.ts";
import { paced } from "../../paced.ts";
import type { ScanningCheck } from "../check.ts";
import { ENOUGH, RESOURCES_BETWEEN_PAUSES, tellOf } from "../message-lists.ts";
import { annotated, type NamespaceChange, type NamespaceState } from "./change.ts";

export const NS_04: ScanningCheck<NamespaceChange> = {
  id: "NS-04",
  severity: "deny",
  waivable: false,
  deniesInCARM: true,
  reason: "What exists in one account stays there: with a role of another, or none, controllers stop at it for ever and cannot delete it either.",
  fix: "leave the annotation until these resources are gone, or name a key whose role is in their account",
  example: "metadata: {annotations: {services.k8s.aws/owner-account-id: '444455556666'}} # was 111122223333, where a Bucket is",
  requires: ["resources", "config maps"],
  on: ["UPDATE"],
  ofChange: true,
  *scan(change) {
    const path = changedPath(change);
    const { inventory, name, stored } = change;
    if (path === null || stored === null) return [];
    const stranded = new Map<string, ACKResource[]>();
    let hits = 0;
    // A copy, since the inventory may change during a pause.
    const resources = [...inventory.resources.inNamespace(name)];
    yield* paced(resources, RESOURCES_BETWEEN_PAUSES, (resource) => {
      const how = stranding(change, stored, resource);
      if (how === null) return true;
      stranded.set(how, [...(stranded.get(how) ?? []), resource]);
      return ++hits < ENOUGH;
    });
    return Array.from(stranded, ([how, which]) => ({ path, message: tellOf(which, (count) => how.replace(SO_MANY, count), hits === ENOUGH) }));
  },
};

/** The first of the annotations that controllers read and the change touches. */
function changedPath({ settings, stored, state }: NamespaceChange): ReturnType<typeof annotationPath> | null {
  const keys = settings.teamLevelCARM ? [OWNER_ACCOUNT_ANNOTATION, TEAM_ANNOTATION] : [OWNER_ACCOUNT_ANNOTATION];
  const changed = keys.find((key) => stored !== null && annotated(stored, key) !== annotated(state, key));
  return changed === undefined ? null : annotationPath(changed);
}

/** Stands for how many resources a sentence is about. */
const SO_MANY = "N resources";

/** How the change cuts off a resource from the account that it exists in; null where it does not, or where it was so before. */
function stranding(change: NamespaceChange, stored: NamespaceState, resource: ACKResource): string | null {
  const owner = resource.status.ownerAccountID;
  if (owner === null || accountIn(change, stored, resource) !== owner) return null;
  const account = accountIn(change, change.state, resource);
  if (account === owner) return null;
  return printable(account === null ? `the change leaves ${SO_MANY} of account ${owner} without a role` : `the change moves ${SO_MANY} from account ${owner} to account ${account}`);
}

/** The account of the role that the maps give the resource; the controllers' where they say nothing of what is there, null where they refuse. */
function accountIn({ inventory, name, settings }: NamespaceChange, { annotations }: NamespaceState, resource: ACKResource): string | null {
  const entry = mapEntryOf(carmAnnotations(name, annotations), resource, settings);
  if (entry === null) return settings.controllerAccount;
  const { roleARN } = lookUpIn(inventory.configMap(settings.ackSystemNamespace, entry.map), resource.group, entry, settings);
  return roleARN === null ? null : accountOfARN(roleARN);
}
