import type { KindName } from "../formats/object-meta.ts";
import type { JsonObject } from "../formats/json.ts";
import type { Inventory } from "../core/inventory.ts";

/** The state of a source's inventory. An unloaded inventory is never treated as empty. */
export interface SourceStatus {
  /** Whether the inventory has been complete at least once. */
  readonly loaded: boolean;
  /**
   * The time at which the inventory was last known to be current, in ms of the source's steady clock. The time is null
   * if the inventory is not loaded.
   */
  readonly lastSyncMs: number | null;
  /** A sentence that states why the inventory is not current. The sentence is null if the inventory is current. */
  readonly fault: string | null;
  /**
   * Whether the API server accepts a watch but does not end it when requested. Something on the way to it is broken,
   * perhaps only for this process. Default: false.
   */
  readonly isStalled?: boolean;
}

/** Whether the objects of some kinds are known to be current. */
export interface Proof {
  /** Why they are not; null if they are. */
  readonly fault: string | null;
  /** Whether the API server was asked. What was read before may then be outdated. */
  readonly hasAsked: boolean;
}

/**
 * Loads an inventory from manifests or a cluster, and updates the inventory when the manifests or the cluster change.
 */
export interface InventorySource {
  readonly inventory: Inventory;
  readonly status: SourceStatus;
  /**
   * Returns the resource version up to which the inventory contains the changes of a kind; null if it is unknown. Only
   * a cluster has resource versions.
   */
  positionOf(kind: string): string | null;
  /**
   * Resolves to whether the inventory contains every change, up to 5 s ago, of the listed kinds for which `isNeeded`
   * returns true. If that is not known, asks the API server, for at most `limitMs`. Manifests are always current.
   */
  prove(isNeeded: (kind: KindName) => boolean, limitMs: number): Promise<Proof>;
  /**
   * Stores an object that was read from the API server, unless the inventory has this version or a newer one. Returns
   * whether the inventory has this version now. Returns false while the kind is listed.
   */
  accept(object: JsonObject): boolean;
  /**
   * Resolves when the inventory is complete. Rejects if manifests are unreadable. If the cluster is unreachable,
   * retries until `stop` is called.
   */
  start(): Promise<void>;
  stop(): Promise<void>;
  /**
   * Calls `listener` after each change of the inventory or the status. Returns a function that removes the listener.
   */
  onChange(listener: () => void): () => void;
}

export const ALWAYS_CURRENT: Proof = { fault: null, hasAsked: false };

/** A set of change listeners. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  /** Returns a function that removes the listener. */
  add(listener: () => void): () => void {
    // Wraps the listener in a new function. A listener that is added twice is then called twice, and each addition can
    // be removed separately.
    const entry = (): void => listener();
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
