import type { AccessAnswers, DecisionSettings, Operation, Origin, Requester } from "../context.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import type { Names } from "../resolution/change-set.ts";

/** What the checks of a change see beside the object: all that is known, and who asks for what. */
export interface CheckContext {
  readonly operation: Operation;
  readonly settings: DecisionSettings;
  readonly inventory: Inventory;
  readonly origin: Origin;
  /** Null offline. */
  readonly requester: Requester | null;
}

export interface CheckInput {
  /** The object as it is to be, at DELETE as it is. */
  readonly object: JsonObject;
  /** The stored object at UPDATE, else null. */
  readonly old: JsonObject | null;
  /** Default: UPDATE with a stored object, CREATE without. */
  readonly operation?: Operation;
  /** Null offline, where a waiver counts whoever wrote it. */
  readonly requester: Requester | null;
  readonly origin: Origin;
  /** Null where only the object itself can be judged. */
  readonly inventory?: Inventory | null;
  /** What the requester may `use`; null where no access reviews are asked. */
  readonly access?: AccessAnswers | null;
  /** Selectors whose deletion has been allowed, and that the inventory may still hold. */
  readonly pendingDeletions?: Names;
  /** Whether nothing may be refused, as where the cluster itself cleans up: every fault only warns. */
  readonly warnOnly?: boolean;
}

export function operationOf({ operation, old }: CheckInput): Operation {
  return operation ?? (old === null ? "CREATE" : "UPDATE");
}
