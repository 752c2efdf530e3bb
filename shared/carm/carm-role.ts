import { serviceOf } from "../core/ack-groups.ts";
import type { ResourceQuery, ResourceStatus } from "../core/ack-resource.ts";
import type { DecisionSettings } from "../core/context.ts";
import { quote } from "../formats/text.ts";
import type { Inventory } from "../core/inventory.ts";
import { lookUpMaps, type MapLookup } from "./carm-maps.ts";
import { entriesOf, isNamedFor } from "./carm-entries.ts";

/**
 * The status of a resource that does not exist in AWS yet. The account of a resource without a status depends only on
 * the namespace.
 */
export const NO_STATUS: ResourceStatus = { ownerAccountID: null, region: null };

type OwnedResource = Pick<ResourceQuery, "group" | "namespace" | "status">;

/**
 * Returns the role that a resource gets through the CARM maps, or why it gets none; null for the controller's own role.
 * A role that the controllers look up and the sidecar refuses is none. `resolve` and the sidecar both decide with this
 * function. Default of `annotations`: those of the namespace.
 */
export function mapRoleOf(
  inventory: Inventory, query: OwnedResource, settings: DecisionSettings, annotations?: ReadonlyMap<string, string>,
): MapLookup | null {
  const lookup = lookUpMaps(inventory, query, settings, annotations);
  if (lookup === null || lookup.code !== null) return lookup;
  const { roleARN, ...entry } = lookup;
  const refuse = (message: string): MapLookup => (
    { ...entry, roleARN: null, code: "ERR_SELECTOR_NOT_GRANTED", message }
  );
  if (readsOtherService(lookup, settings)) return refuse(otherServiceMessage(lookup, query.group, settings));
  const isOfStatus = lookUpMaps(inventory, { ...query, status: NO_STATUS }, settings, annotations) === null;
  if (!isOfStatus || isGranted(inventory, roleARN, query.group, settings)) return lookup;
  return refuse(
    `Only the status of the resource names account ${quote(lookup.id)}, and no namespace does, so the sidecar refuses `
      + `the role of key ${quote(lookup.key)} in ConfigMap ${settings.ackSystemNamespace}/${lookup.map}.`,
  );
}

/**
 * Whether a controller reads a key `SERVICE.ID` only because a namespace annotation names the whole key as its account
 * or team. With ServiceLevelCARM, such a key is intended only for the controllers of SERVICE, but ACK does not enforce
 * this.
 */
function readsOtherService({ id, key }: MapLookup, { serviceLevelCARM }: DecisionSettings): boolean {
  return serviceLevelCARM && key === id && id.includes(".");
}

function otherServiceMessage({ id, map }: MapLookup, group: string, { ackSystemNamespace }: DecisionSettings): string {
  return `With --service-level-carm, key ${quote(id)} in ConfigMap ${ackSystemNamespace}/${map} grants its role only `
    + `to the service before the dot. Add the key ${quote(`${serviceOf(group)}.${id}`)}, or use an id without a dot.`;
}

/** Whether the sidecar of the group grants the role, whichever namespace the controller acts for. */
function isGranted(inventory: Inventory, roleARN: string, group: string, settings: DecisionSettings): boolean {
  for (const entry of entriesOf(inventory, roleARN, settings)) {
    if (isNamedFor(group, entry, inventory, settings) === true) return true;
  }
  return false;
}
