import type { DecisionSettings } from "../contract/context.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ResourceQuery } from "../contract/ack-resource.ts";
import { type Resolution, resolve } from "./resolve.ts";
import { type Referrer, refersToIdentity } from "../model/referrer.ts";
import { resolveReferrer } from "./resolve-identity.ts";

/** Resolves the role of an ACK resource, or the identity of an object that refers to a CAPA identity. */
export function resolveObject(
  inventory: Inventory, object: ResourceQuery | Referrer, settings: DecisionSettings,
): Resolution {
  return refersToIdentity(object) ? resolveReferrer(inventory, object, settings) : resolve(inventory, object, settings);
}
