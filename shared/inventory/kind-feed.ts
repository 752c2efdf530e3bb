import type { Inventory, InventoryChange, InventorySort } from "../decisions/inventory.ts";
import type { JsonObject } from "../decisions/json.ts";
import { ListWatch, type ListWatchHandler, type ListWatchOptions } from "./list-watch.ts";
import { type KeptObject, type ObjectName, resourceName } from "./watched-kind.ts";

export interface KindFeedOptions extends Omit<ListWatchOptions, "handler"> {
  readonly inventory: Inventory;
  /** Where the inventory is told what is unlisted; null for a kind without which the source is not loaded anyway. */
  readonly sort: InventorySort | null;
  /** Whether the source is not loaded without it. */
  readonly isAwaited: boolean;
  readonly onChange: () => void;
  /** What came, after the inventory took it. */
  readonly onObjects?: ((put: readonly JsonObject[], removed: readonly ObjectName[]) => void) | undefined;
}

/** Brings one kind's objects into the inventory, and takes them out again when the kind itself goes. */
export class KindFeed implements ListWatchHandler {
  synced = false;
  lastSyncMs = 0;
  fault: string | null = null;
  readonly #options: KindFeedOptions;
  readonly #listWatch: ListWatch;
  #dropped = false;

  constructor(options: KindFeedOptions) {
    this.#options = options;
    this.#listWatch = new ListWatch({ ...options, handler: this });
    this.#tellListing("unlisted");
  }

  get isAwaited(): boolean {
    return this.#options.isAwaited;
  }

  /** `buckets.s3.services.k8s.aws`. */
  get resource(): string {
    return resourceName(this.#options.kind);
  }

  start(): void {
    this.#listWatch.start();
  }

  async stop(): Promise<void> {
    await this.#listWatch.stop();
  }

  /** Stops, and takes what it brought out of the inventory at once. */
  async drop(): Promise<void> {
    this.#apply([], this.#listWatch.known);
    this.#dropped = true;
    this.#tellListing("listed");
    await this.stop();
  }

  changed(put: readonly KeptObject[], removed: readonly ObjectName[]): void {
    if (this.#dropped) return;
    this.#apply(put.flatMap(({ object }) => (object === null ? [] : [object])), removed);
    const first = !this.synced;
    this.synced = true;
    if (first) this.#tellListing("listed");
    this.lastSyncMs = this.#options.clock.now();
    if (first || put.length + removed.length > 0) this.#options.onChange();
  }

  current(): void {
    this.lastSyncMs = this.#options.clock.now();
  }

  failed(fault: string | null): void {
    if (fault === this.fault || this.#dropped) return;
    this.fault = fault;
    this.#options.onChange();
  }

  #apply(put: readonly JsonObject[], removed: readonly ObjectName[]): void {
    const { kind: { group, kind }, inventory, onObjects } = this.#options;
    const changes: InventoryChange[] = removed.map(({ namespace, name }) => ({ type: "remove", group, kind, namespace, name }));
    for (const object of put) changes.push({ type: "put", object });
    inventory.apply(changes);
    onObjects?.(put, removed);
  }

  #tellListing(type: "listed" | "unlisted"): void {
    const { kind: { group, kind, object }, inventory, sort } = this.#options;
    const what = object === undefined ? `${kind}.${group}` : `${object.namespace}/${object.name}`;
    if (sort !== null) inventory.apply([{ type, sort, what }]);
  }
}
