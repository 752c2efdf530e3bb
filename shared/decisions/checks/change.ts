import type { AccessBySelector, DecisionSettings, Operation, Origin, Requester } from "../context.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import type { NameSet } from "../resolution/change-set.ts";

/** A change of one object, and what is known about its circumstances. */
export interface CheckInput {
  /** The object after the change; at DELETE the deleted object. */
  readonly object: JsonObject;
  /** The stored object at UPDATE, else null. */
  readonly old: JsonObject | null;
  /** Default: UPDATE if `old` is set, else CREATE. */
  readonly operation?: Operation;
  /** Null offline, where every waiver counts. */
  readonly requester: Requester | null;
  readonly origin: Origin;
  /** Null if only the object itself can be checked. */
  readonly inventory?: Inventory | null;
  /** Which selectors the requester may `use`; null without access reviews. */
  readonly access?: AccessBySelector | null;
  /** Selectors with an admitted deletion that the inventory may still contain. */
  readonly pendingDeletions?: NameSet;
  /** Whether every fault only warns, as for a deletion by the cluster's own controllers. */
  readonly warnOnly?: boolean;
}

/** What the checks of a change read besides the object. */
export interface CheckContext {
  readonly operation: Operation;
  readonly settings: DecisionSettings;
  readonly inventory: Inventory;
  readonly origin: Origin;
  /** Null offline. */
  readonly requester: Requester | null;
}

/** Returns the operation of a change. */
export function operationOf({ operation, old }: CheckInput): Operation {
  return operation ?? (old === null ? "CREATE" : "UPDATE");
}

/** Returns the context of a change for checks against `inventory`. */
export function contextOf(input: CheckInput, settings: DecisionSettings, inventory: Inventory): CheckContext {
  const { origin, requester } = input;
  return { operation: operationOf(input), settings, inventory, origin, requester };
}

/** Returns whether the change replaces a stored object. An audit checks a stored object against itself: false. */
export function hasOldObject(input: CheckInput): input is CheckInput & { readonly old: JsonObject } {
  return input.old !== null && input.old !== input.object;
}
