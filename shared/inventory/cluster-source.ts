import { ResolverError } from "../decisions/errors.ts";
import { Inventory, type InventoryChange } from "../decisions/inventory.ts";
import { type Clock, systemClock } from "./clock.ts";
import { CLUSTER_KINDS } from "./cluster-kinds.ts";
import type { KubernetesAPI } from "./kubernetes-api.ts";
import { Listeners } from "./listeners.ts";
import { ListWatch, type ListWatchHandler } from "./list-watch.ts";
import type { InventorySource, SourceStatus } from "./source.ts";
import type { KeptObject, ObjectName, WatchedKind } from "./watched-kind.ts";

export interface ClusterSourceOptions {
  readonly runtime: "ack" | "extended";
  readonly api: KubernetesAPI;
  readonly clock?: Clock;
  /** From 0 to 1, 1 excluded. */
  readonly random?: () => number;
}

/**
 * The inventory of a cluster, fed by a list-watch for each kind. It is loaded once every kind has been listed: a kind that could
 * not be is never taken for one without objects.
 */
export class ClusterSource implements InventorySource {
  readonly inventory: Inventory;
  readonly #listeners = new Listeners();
  readonly #feeds: readonly KindFeed[];
  readonly #loaded = Promise.withResolvers<void>();

  constructor({ runtime, api, clock = systemClock, random = Math.random }: ClusterSourceOptions) {
    this.inventory = new Inventory({ runtime, origin: "cluster" });
    const onChange = (): void => this.#changed();
    this.#feeds = CLUSTER_KINDS.map((kind) => new KindFeed({ kind, api, clock, random, inventory: this.inventory, onChange }));
    // A source that is stopped before anyone waits for it rejects nobody.
    this.#loaded.promise.catch(() => undefined);
  }

  /** As current as the kind that was last heard of the longest ago; every kind's fault. */
  get status(): SourceStatus {
    const loaded = this.#feeds.every(({ synced }) => synced);
    const faults = this.#feeds.map(({ fault }) => fault).filter((fault) => fault !== null);
    const lastSyncMs = loaded ? Math.min(...this.#feeds.map((feed) => feed.lastSyncMs)) : null;
    return { loaded, lastSyncMs, fault: faults.length === 0 ? null : faults.join("; ") };
  }

  /** Rejects only when stopped first. */
  async start(): Promise<void> {
    for (const feed of this.#feeds) feed.start();
    await this.#loaded.promise;
  }

  async stop(): Promise<void> {
    this.#loaded.reject(new ResolverError("ERR_NOT_READY", `stopped before the inventory was loaded: ${this.status.fault ?? "it was still being listed"}`));
    await Promise.all(this.#feeds.map((feed) => feed.stop()));
  }

  onChange(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  #changed(): void {
    if (this.status.loaded) this.#loaded.resolve();
    this.#listeners.notify();
  }
}

interface KindFeedOptions {
  readonly kind: WatchedKind;
  readonly api: KubernetesAPI;
  readonly clock: Clock;
  readonly random: () => number;
  readonly inventory: Inventory;
  readonly onChange: () => void;
}

/** Brings one kind's objects into the inventory. */
class KindFeed implements ListWatchHandler {
  synced = false;
  lastSyncMs = 0;
  fault: string | null = null;
  readonly #options: KindFeedOptions;
  readonly #listWatch: ListWatch;

  constructor(options: KindFeedOptions) {
    this.#options = options;
    const { kind, api, clock, random } = options;
    this.#listWatch = new ListWatch({ kind, api, clock, random, handler: this });
  }

  start(): void {
    this.#listWatch.start();
  }

  async stop(): Promise<void> {
    await this.#listWatch.stop();
  }

  changed(put: readonly KeptObject[], removed: readonly ObjectName[]): void {
    const { group, kind } = this.#options.kind;
    const changes: InventoryChange[] = removed.map(({ namespace, name }) => ({ type: "remove", group, kind, namespace, name }));
    for (const { object } of put) if (object !== null) changes.push({ type: "put", object });
    this.#options.inventory.apply(changes);
    const first = !this.synced;
    this.synced = true;
    this.lastSyncMs = this.#options.clock.now();
    if (first || changes.length > 0) this.#options.onChange();
  }

  current(): void {
    this.lastSyncMs = this.#options.clock.now();
  }

  failed(fault: string | null): void {
    if (fault === this.fault) return;
    this.fault = fault;
    this.#options.onChange();
  }
}
