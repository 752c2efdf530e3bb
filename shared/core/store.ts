import type { JsonObject } from "../formats/json.ts";
import type { ObjectID } from "../formats/object-meta.ts";
import type { Origin, Runtime } from "./context.ts";

export interface InventoryContext {
  readonly runtime: Runtime;
  /** Whether the objects come from manifests or from a cluster. */
  readonly origin: Origin;
  /** The stores whose objects the source does not read from the cluster. Default: none. */
  readonly excluded?: readonly StoreKey[];
  /**
   * Whether the inventory serves only decisions on grants. Such an inventory drops the data that grants do not read:
   * the objects of IAMRoleSelectors, and namespaces that exceed a limit. Default: false.
   */
  readonly isForGrants?: boolean;
}

/** What an inventory keeps for decisions: stored objects, or an index of those of a store. */
export interface Index {
  readonly size: number;
}

/** The stored objects of some kinds, indexed for decisions. */
export interface Store extends Index {
  put(object: JsonObject, id: ObjectID): void;
  remove(id: ObjectID): void;
}

/** Names a store of an inventory. The objects of each kind whose row has the key are put into the store. */
export interface StoreKey<S extends Index = Store> {
  readonly name: string;
  /** Whether objects of the store may be missing while some of their kinds have not been listed. Default: false. */
  readonly isPartial?: true;
  /** Makes an empty store. Runs once for each inventory, when an object or a decision first needs the store. */
  readonly open: (stores: Stores) => S;
}

/** What a store reads of its inventory. */
export interface Stores {
  readonly context: InventoryContext;
  of<S extends Index>(key: StoreKey<S>): S;
}
