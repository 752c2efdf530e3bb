import { ResolverError } from "../../decisions/errors.ts";
import { type Collection, Inventory } from "../../decisions/inventory/inventory.ts";
import type { JsonObject } from "../../decisions/kubernetes/json.ts";
import { apiVersionOf } from "../../decisions/kubernetes/object-meta.ts";
import { type Clock, systemClock } from "../clock.ts";
import { type InventorySource, Listeners, type SourceStatus } from "../source.ts";
import type { KubernetesAPI } from "./api.ts";
import { Informer, type InformerOptions, ResourceInformers } from "./informers.ts";
import { carmMapKinds, CLUSTER_KINDS, DEFINITIONS } from "./kinds.ts";
import type { WatchedKind } from "./watched-kind.ts";

/** The kinds to load besides selectors, namespaces and CustomResourceDefinitions. Each needs further rights. */
export interface ClusterSourceOptions {
  readonly runtime: "ack" | "extended";
  readonly api: KubernetesAPI;
  /** Loads the objects of every installed ACK kind. `extraGroups` are readable groups unknown to this release. */
  readonly resources?: { readonly extraGroups: readonly string[] } | undefined;
  /** Loads the CARM maps of a namespace. `isRequired`: the source is loaded only once they are listed. */
  readonly carmMaps?: { readonly namespace: string; readonly isRequired: boolean } | undefined;
  /** Receives each listed or changed object before its fields are dropped. A repeated list repeats its objects. */
  readonly onObject?: ((object: JsonObject) => void) | undefined;
  readonly clock?: Clock;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random?: () => number;
}

/** Numbers of kinds. */
interface ListingProgress {
  readonly kinds: number;
  readonly listed: number;
  /** Kinds with a fault that were never listed. */
  readonly faulty: number;
}

/**
 * The inventory of a cluster, with one informer for each kind. It is loaded once every installed kind is listed: a kind
 * that cannot be listed is never treated as one without objects. A kind that is installed later is `unlisted` until its
 * first list, and does not make the source unready.
 */
export class ClusterSource implements InventorySource {
  readonly inventory: Inventory;
  readonly #listeners = new Listeners();
  readonly #informers: readonly Informer[];
  readonly #resources: ResourceInformers;
  readonly #loading = Promise.withResolvers<void>();
  #loaded = false;

  constructor(options: ClusterSourceOptions) {
    const { runtime, api, clock = systemClock, random = Math.random, resources, onObject } = options;
    this.inventory = new Inventory({ runtime, origin: "cluster", excluded: excludedCollections(options) });
    const observe = (kind: WatchedKind): WatchedKind => (onObject === undefined ? kind : withObserver(kind, onObject));
    const common = { api, clock, random, inventory: this.inventory, onChange: () => this.#onChange() };
    this.#resources = new ResourceInformers({ ...common, observe, extraGroups: resources?.extraGroups ?? [] });
    const updateResources: InformerOptions["onObjects"] = (put, removed) => this.#resources.update(put, removed);
    this.#informers = watchedKinds(options).map((watched) => {
      const onObjects = watched.kind === DEFINITIONS && resources !== undefined ? updateResources : undefined;
      return new Informer({ ...common, ...watched, kind: observe(watched.kind), onObjects });
    });
    // `stop` rejects the promise, even if `start` was not called: that must not be an unhandled rejection.
    this.#loading.promise.catch(() => undefined);
  }

  /** The age of the stalest listed kind, and the faults of all kinds. */
  get status(): SourceStatus {
    const informers = this.#all();
    const faults = informers.flatMap(({ fault }) => fault ?? []);
    const syncTimes = informers.filter(({ hasSynced }) => hasSynced).map(({ lastSyncMs }) => lastSyncMs);
    return {
      loaded: this.#loaded,
      lastSyncMs: this.#loaded ? Math.min(...syncTimes) : null,
      fault: faults.length === 0 ? null : joinFaults(faults),
    };
  }

  /** The progress of the first lists. The number of kinds grows as CustomResourceDefinitions are listed. */
  get progress(): ListingProgress {
    const informers = this.#all();
    return {
      kinds: informers.length,
      listed: informers.filter(({ hasSynced }) => hasSynced).length,
      faulty: informers.filter(({ hasSynced, fault }) => !hasSynced && fault !== null).length,
    };
  }

  /** Rejects only if `stop` is called first. */
  async start(): Promise<void> {
    for (const informer of this.#informers) informer.start();
    await this.#loading.promise;
  }

  async stop(): Promise<void> {
    const reason = this.status.fault ?? "the first list is not complete";
    this.#loading.reject(new ResolverError("ERR_NOT_READY", `Stopped before the inventory was loaded: ${reason}.`));
    await Promise.all([...this.#informers.map((informer) => informer.stop()), this.#resources.stop()]);
  }

  onChange(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  #all(): readonly Informer[] {
    return [...this.#informers, ...this.#resources];
  }

  #onChange(): void {
    this.#loaded ||= this.#all().every(({ hasSynced, isRequired }) => hasSynced || !isRequired);
    if (this.#loaded) this.#loading.resolve();
    this.#listeners.notify();
  }
}

function excludedCollections({ resources, carmMaps }: ClusterSourceOptions): Collection[] {
  return [
    ...(resources === undefined ? ["resources" as const] : []),
    ...(carmMaps === undefined ? ["config maps" as const] : []),
  ];
}

type Watched = Pick<InformerOptions, "kind" | "collection" | "isRequired">;

function watchedKinds({ carmMaps }: ClusterSourceOptions): Watched[] {
  const kinds: Watched[] = CLUSTER_KINDS.map((kind) => ({ kind, collection: null, isRequired: true }));
  if (carmMaps === undefined) return kinds;
  const { namespace, isRequired } = carmMaps;
  return [
    ...kinds,
    ...carmMapKinds(namespace).map((kind) => ({ kind, collection: "config maps" as const, isRequired })),
  ];
}

/** Passes each object to `onObject`, with the apiVersion and kind that list items lack. */
function withObserver(kind: WatchedKind, onObject: (object: JsonObject) => void): WatchedKind {
  const type = { apiVersion: apiVersionOf(kind), kind: kind.kind };
  const transform = (object: JsonObject): JsonObject | null => {
    onObject({ ...object, ...type });
    return kind.transform(object);
  };
  return { ...kind, transform };
}

const MAX_FAULTS = 10;

/** An unreachable API server is a fault of every kind: a message lists the first ones. */
function joinFaults(faults: readonly string[]): string {
  const more = faults.length - MAX_FAULTS;
  return more > 0 ? `${faults.slice(0, MAX_FAULTS).join("; ")}; and ${more} more` : faults.join("; ");
}
