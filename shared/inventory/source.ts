import type { Inventory } from "../decisions/inventory/inventory.ts";

/** The state of a source's inventory. An unloaded inventory is never treated as empty. */
export interface SourceStatus {
  /** Whether the inventory was complete at least once. */
  readonly loaded: boolean;
  /** When the inventory was last known to be current, in ms of the source's clock. */
  readonly lastSyncMs: number | null;
  /** Why the inventory is not current, in one sentence; null if it is. */
  readonly fault: string | null;
}

/** Loads and updates an inventory, from manifests or from a cluster. */
export interface InventorySource {
  readonly inventory: Inventory;
  readonly status: SourceStatus;
  /** Resolves when the inventory is complete. Rejects if manifests are unreadable; retries a cluster until `stop`. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Calls `listener` after each change of the inventory or the status. Returns a function that removes it. */
  onChange(listener: () => void): () => void;
}

/** A set of change listeners. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  /** Returns a function that removes the listener. */
  add(listener: () => void): () => void {
    // Wrapped, so that a function added twice is called twice and removed once per call.
    const entry = (): void => listener();
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
