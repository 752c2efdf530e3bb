import type { Inventory } from "../decisions/inventory/inventory.ts";

/** How far a source's view can be trusted. A view that was never loaded is not an empty one. */
export interface SourceStatus {
  /** Whether a complete view was ever had. */
  readonly loaded: boolean;
  /** When the view was last known to be current, in ms of the source's clock. */
  readonly lastSyncMs: number | null;
  /** Why the view is not current now, in one sentence; null while all is well. */
  readonly fault: string | null;
}

/** Where the inventory comes from: a folder of manifests or a cluster. Both feed the same decisions. */
export interface InventorySource {
  readonly inventory: Inventory;
  readonly status: SourceStatus;
  /** Resolves on the first complete view. Unreadable manifests reject with every fault; a cluster is tried until `stop`. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Calls `listener` after each change of the inventory or the status; returns the function that ends it. */
  onChange(listener: () => void): () => void;
}/** Those who asked to hear of changes. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  /** The function returned ends it. */
  add(listener: () => void): () => void {
    // Wrapped, so that one function added twice is heard twice and ended once at a time.
    const entry = (): void => listener();
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
