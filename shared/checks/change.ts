import type { AccessByName, DecisionSettings, Occasion, Origin, Requester } from "../contract/context.ts";
import type { RoleIdentity } from "../model/identity.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { JsonObject } from "../formats/json.ts";
import type { PendingChanges } from "../resolution/change-set.ts";

/** A change of one object, and the data that the checks of the change need. */
export interface CheckInput {
  /** The object after the change. At DELETE, the deleted object. */
  readonly object: JsonObject;
  /** The stored object at UPDATE and AUDIT; otherwise null. */
  readonly old: JsonObject | null;
  /** Default: UPDATE if `old` is set, else CREATE. */
  readonly operation?: Occasion;
  /** The user that requests the change. Null if the command runs offline; every waiver is then valid. */
  readonly requester: Requester | null;
  readonly origin: Origin;
  /** The current state of the cluster. If null, only the checks that need no other object report faults. */
  readonly inventory?: Inventory | null;
  /** Whether the requester may `use` each selector or identity. Null if no access reviews were made. */
  readonly access?: AccessByName | null;
  /** Admitted changes of other selectors that the inventory does not contain yet. Default: no changes. */
  readonly pending?: PendingChanges;
  /** The same for AWSClusterRoleIdentities. */
  readonly pendingIdentities?: PendingChanges<RoleIdentity>;
  /**
   * Whether the checks report every fault as a warning, for example because a cluster controller deletes the object.
   * Checks with `bindsControllers` still deny.
   */
  readonly warnOnly?: boolean;
  /** All stored IAMRoleSelectors. Only `audit` sets them. Default: none. */
  readonly storedSelectors?: readonly JsonObject[];
}

/** The data that a check reads in addition to the changed object. */
export interface CheckContext {
  readonly operation: Occasion;
  readonly settings: DecisionSettings;
  readonly inventory: Inventory;
  readonly origin: Origin;
  /** Null offline. */
  readonly requester: Requester | null;
}

/** Returns the operation of a change. */
export function operationOf({ operation, old }: CheckInput): Occasion {
  return operation ?? (old === null ? "CREATE" : "UPDATE");
}

/** Returns the context for checks that compare a change with `inventory`. */
export function contextOf(input: CheckInput, settings: DecisionSettings, inventory: Inventory): CheckContext {
  const { origin, requester } = input;
  return { operation: operationOf(input), settings, inventory, origin, requester };
}

/**
 * Returns whether the change has an old object that is not the new object. An audit passes the same object as old and
 * new.
 */
export function hasOldObject(input: CheckInput): input is CheckInput & { readonly old: JsonObject } {
  return input.old !== null && input.old !== input.object;
}

/**
 * Whether the input contains every namespace and every kind. Manifests often contain only some namespaces of a cluster.
 */
export function isComplete({ origin, settings }: Pick<CheckContext, "origin" | "settings">): boolean {
  return origin === "cluster" || settings.isInputComplete;
}
