import type { Inventory, InventoryChange, InventorySort } from "../../decisions/inventory/inventory.ts";
import { unknownGroups } from "../../decisions/kubernetes/ack-groups.ts";
import type { JsonObject } from "../../decisions/kubernetes/json.ts";
import { objectMeta } from "../../decisions/kubernetes/object-meta.ts";
import { resourceKind } from "./kinds.ts";
import { Reflector, type ListWatchHandler, type ListWatchOptions } from "./reflector.ts";
import { Semaphore } from "./semaphore.ts";
import { collectionPath, type StoredObject, type ObjectName, resourceName, type WatchedKind } from "./watched-kind.ts";

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
export class Informer implements ListWatchHandler {
  synced = false;
  lastSyncMs = 0;
  fault: string | null = null;
  readonly #options: KindFeedOptions;
  readonly #listWatch: Reflector;
  #dropped = false;

  constructor(options: KindFeedOptions) {
    this.#options = options;
    this.#listWatch = new Reflector({ ...options, handler: this });
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

  changed(put: readonly StoredObject[], removed: readonly ObjectName[]): void {
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

/** With some hundred kinds installed, the pages in flight would weigh more than all that is kept of them. */
const LISTS_AT_ONCE = 2;

export interface ResourceFeedsOptions extends Omit<KindFeedOptions, "kind" | "sort" | "isAwaited" | "turns" | "onObjects"> {
  readonly extraGroups: readonly string[];
  /** Adds to what is done with each object. */
  readonly observed: (kind: WatchedKind) => WatchedKind;
}

/** A feed for each ACK kind that is installed, by its CustomResourceDefinition's name: begun and dropped as definitions come and go. */
export class ResourceInformers {
  readonly #options: ResourceFeedsOptions;
  readonly #turns = new Semaphore(LISTS_AT_ONCE);
  readonly #feeds = new Map<string, { readonly path: string; readonly feed: Informer }>();
  readonly #stopping = new Set<Promise<void>>();

  constructor(options: ResourceFeedsOptions) {
    this.#options = options;
  }

  *[Symbol.iterator](): Generator<Informer> {
    for (const { feed } of this.#feeds.values()) yield feed;
  }

  /**
   * Follows the definitions. Until the source is loaded every kind is awaited, but for those of groups that nobody granted rights to: a
   * service that is newer than this release must not keep a restarted process from all it can do.
   */
  update(put: readonly JsonObject[], removed: readonly ObjectName[]): void {
    for (const { name } of removed) this.#drop(name);
    for (const definition of put) this.#put(definition);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#stopping, ...Array.from(this, (feed) => feed.stop())]);
  }

  #put(definition: JsonObject): void {
    const { name } = objectMeta(definition);
    const kind = resourceKind(definition);
    const path = kind === null ? "" : collectionPath(kind);
    if (this.#feeds.get(name)?.path === path) return;
    this.#drop(name);
    if (kind === null) return;
    const isAwaited = unknownGroups([kind.group], this.#options.extraGroups).length === 0;
    const feed = new Informer({ ...this.#options, kind: this.#options.observed(kind), sort: "resources", isAwaited, turns: this.#turns });
    this.#feeds.set(name, { path, feed });
    feed.start();
  }

  #drop(name: string): void {
    const dropped = this.#feeds.get(name);
    if (dropped === undefined) return;
    this.#feeds.delete(name);
    const stopping = dropped.feed.drop().finally(() => this.#stopping.delete(stopping));
    this.#stopping.add(stopping);
  }
}
