import type { StoreKey } from "../core/store.ts";
import type { Inventory, InventoryChange } from "../core/inventory.ts";
import type { JsonObject } from "../formats/json.ts";
import { unknownGroups } from "../core/ack-groups.ts";
import { objectReference } from "../formats/object-meta.ts";
import { servedKind, type ServedKind } from "./cluster-kinds.ts";
import type { ListWatchError } from "../api/api-errors.ts";
import { Reflector, type ReflectorHandler, type ReflectorOptions } from "../api/reflector.ts";
import { Semaphore } from "../api/semaphore.ts";
import {
  collectionPath, type ObjectName, resourceName, type StoredObject, toStoredObject, type WatchedKind,
} from "../api/watched-kind.ts";

export type Fault = Pick<ListWatchError, "message" | "messageFor">;

export interface InformerOptions extends Omit<ReflectorOptions, "handler"> {
  readonly inventory: Inventory;
  /** The store that records whether the kind has been listed; null for a kind that every source requires. */
  readonly store: StoreKey | null;
  /** Whether the source counts as loaded only after it has listed this kind. */
  readonly isRequired: boolean;
  readonly onChange: () => void;
  /** Receives the changed objects and the names of the removed objects, after the inventory is updated. */
  readonly onObjects?: ((put: readonly JsonObject[], removed: readonly ObjectName[]) => void) | undefined;
}

/** Updates the objects of one kind in the inventory. Removes these objects when the cluster no longer has the kind. */
export class Informer implements ReflectorHandler {
  hasSynced = false;
  lastSyncMs = 0;
  fault: ListWatchError | null = null;
  readonly #options: InformerOptions;
  readonly #reflector: Reflector;
  #isRemoved = false;

  constructor(options: InformerOptions) {
    this.#options = options;
    this.#reflector = new Reflector({ ...options, handler: this });
    this.#record("unlisted");
  }

  get isRequired(): boolean {
    return this.#options.isRequired;
  }

  get kind(): WatchedKind {
    return this.#options.kind;
  }

  /** The resource version up to which the inventory contains the changes; null before the first list. */
  get position(): string | null {
    return this.#reflector.position;
  }

  start(): void {
    this.#reflector.start();
  }

  get isCurrent(): boolean {
    return this.#reflector.isCurrent;
  }

  /** Asks for at most `limitMs`. Returns why the objects are not known to be current; null if they are. */
  async prove(limitMs: number): Promise<Fault | null> {
    if (await this.#reflector.prove(limitMs) || this.#isRemoved) return null;
    return this.fault ?? { message: unconfirmed(resourceName(this.kind)), messageFor: unconfirmed };
  }

  /** Stores an object that was read from the API server, like `accept` of the source. */
  accept(object: JsonObject): boolean {
    const stored = toStoredObject(this.kind, object);
    return stored !== null && this.hasSynced && this.#reflector.accept(stored);
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
  }

  /** Removes all objects of the kind from the inventory, then stops the informer. */
  async remove(): Promise<void> {
    this.#apply([], this.#reflector.knownObjects);
    this.#isRemoved = true;
    this.#record("listed");
    await this.stop();
  }

  onObjects(put: readonly StoredObject[], removed: readonly ObjectName[]): void {
    if (this.#isRemoved) return;
    this.#apply(put.flatMap(({ object }) => (object === null ? [] : [object])), removed);
    const isFirst = !this.hasSynced;
    this.hasSynced = true;
    if (isFirst) this.#record("listed");
    this.lastSyncMs = this.#options.clock.steady();
    if (isFirst || put.length + removed.length > 0) this.#options.onChange();
  }

  onSync(): void {
    this.lastSyncMs = this.#options.clock.steady();
  }

  onFault(fault: ListWatchError | null): void {
    if (fault?.message === this.fault?.message || this.#isRemoved) return;
    this.fault = fault;
    this.#options.onChange();
  }

  #apply(put: readonly JsonObject[], removed: readonly ObjectName[]): void {
    const { kind: { group, kind }, inventory, onObjects } = this.#options;
    const changes: InventoryChange[] = removed.map(({ namespace, name }) => (
      { type: "remove", group, kind, namespace, name }
    ));
    for (const object of put) changes.push({ type: "put", object });
    inventory.apply(changes);
    onObjects?.(put, removed);
  }

  #record(type: "listed" | "unlisted"): void {
    const { kind: { group, kind, object, namespace }, inventory, store } = this.#options;
    const ofKind = namespace === undefined ? `${kind}.${group}` : `${kind}s in the namespace ${namespace}`;
    const item = object === undefined ? ofKind : `${object.namespace}/${object.name}`;
    if (store !== null) inventory.apply([{ type, store, item }]);
  }
}

function unconfirmed(kinds: string): string {
  return `the API server did not confirm the watch of ${kinds} in time`;
}

/**
 * The maximum number of concurrent lists. Without this limit, a hundred kinds would be listed at the same time, and the
 * pages of these lists would need more memory than the inventory.
 */
const CONCURRENT_LISTS = 2;

type InformerDefaults = Omit<InformerOptions, "kind" | "store" | "isRequired" | "listSemaphore" | "onObjects">;

interface ResourceInformersOptions extends InformerDefaults {
  /**
   * The ACK groups of --extra-groups. This release does not know these groups, but the user has granted rights to them.
   */
  readonly extraGroups: readonly string[];
  /** Whether the source loads the objects of an installed kind. */
  readonly isWatched: (kind: ServedKind) => boolean;
  /** Returns a kind whose transform also passes each object to the caller. */
  readonly observe: (kind: WatchedKind) => WatchedKind;
}

/** Runs one informer for each installed ACK kind and CAPA kind. */
export class ResourceInformers {
  readonly #options: ResourceInformersOptions;
  readonly #listSemaphore = new Semaphore(CONCURRENT_LISTS);
  readonly #informers = new Map<string, { readonly path: string; readonly informer: Informer }>();
  readonly #stopping = new Set<Promise<void>>();

  constructor(options: ResourceInformersOptions) {
    this.#options = options;
  }

  *[Symbol.iterator](): Generator<Informer> {
    for (const { informer } of this.#informers.values()) yield informer;
  }

  /**
   * Starts and removes informers when CustomResourceDefinitions change. A kind is required if this release knows its
   * group, or if `extraGroups` contains it. The user has granted no rights to another group, and a new AWS service must
   * not prevent the start of a server. FieldExports and AdoptedResources are not required, because no other check
   * reads them.
   */
  update(put: readonly JsonObject[], removed: readonly ObjectName[]): void {
    for (const { name } of removed) this.#remove(name);
    for (const definition of put) this.#put(definition);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#stopping, ...Array.from(this, (informer) => informer.stop())]);
  }

  #put(definition: JsonObject): void {
    const { name } = objectReference(definition);
    const installed = servedKind(definition);
    const kind = installed !== null && this.#options.isWatched(installed) ? installed : null;
    const path = kind === null ? "" : collectionPath(kind);
    if (this.#informers.get(name)?.path === path) return;
    this.#remove(name);
    if (kind === null) return;
    const isKnown = unknownGroups([kind.group], this.#options.extraGroups).length === 0;
    const isRequired = isKnown && !kind.parts.includes("fieldExports");
    const observed = this.#options.observe(kind);
    const own = { kind: observed, store: kind.store, isRequired, listSemaphore: this.#listSemaphore };
    const informer = new Informer({ ...this.#options, ...own });
    this.#informers.set(name, { path, informer });
    informer.start();
  }

  #remove(name: string): void {
    const removed = this.#informers.get(name);
    if (removed === undefined) return;
    this.#informers.delete(name);
    const stopping = removed.informer.remove().finally(() => this.#stopping.delete(stopping));
    this.#stopping.add(stopping);
  }
}
