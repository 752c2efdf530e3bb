import { ResolverError } from "../../decisions/errors.ts";
import { Inventory, type InventorySort } from "../../decisions/inventory/inventory.ts";
import type { JsonObject } from "../../decisions/kubernetes/json.ts";
import { apiVersionOf } from "../../decisions/kubernetes/object-meta.ts";
import { type Clock, systemClock } from "../clock.ts";
import { type InventorySource, Listeners, type SourceStatus } from "../source.ts";
import type { KubernetesAPI } from "./api.ts";
import { Informer, type KindFeedOptions, ResourceInformers } from "./informers.ts";
import { carmMapKinds, CLUSTER_KINDS, DEFINITIONS } from "./kinds.ts";
import type { WatchedKind } from "./watched-kind.ts";

/** What to hold of a cluster. Selectors, namespaces and CustomResourceDefinitions always are; each further sort needs further rights. */
export interface ClusterSourceOptions {
  readonly runtime: "ack" | "extended";
  readonly api: KubernetesAPI;
  /** The objects of every ACK kind installed; `extraGroups` are those that may be read beside this release's. */
  readonly resources?: { readonly extraGroups: readonly string[] } | undefined;
  /** The CARM maps of a namespace; whether the source is not loaded without them. */
  readonly carmMaps?: { readonly namespace: string; readonly isAwaited: boolean } | undefined;
  /** Is given each object whole, as it is listed or changes, before fields are dropped; more than once when a list is repeated. */
  readonly onObject?: ((object: JsonObject) => void) | undefined;
  readonly clock?: Clock;
  /** From 0 to 1, 1 excluded. */
  readonly random?: () => number;
}

/** Counts of kinds. */
export interface ListingProgress {
  readonly kinds: number;
  readonly listed: number;
  /** Those that have a fault and were never listed. */
  readonly faulty: number;
}

/**
 * The inventory of a cluster, fed by a list-watch for each kind. It is loaded once every kind installed has been listed: a kind that
 * could not be is never taken for one without objects. One that is installed later is `unlisted` in the inventory until it has
 * been listed, and does not make the source unready.
 */
export class ClusterSource implements InventorySource {
  readonly inventory: Inventory;
  readonly #listeners = new Listeners();
  readonly #feeds: readonly Informer[];
  readonly #resources: ResourceInformers;
  readonly #loading = Promise.withResolvers<void>();
  #loaded = false;

  constructor(options: ClusterSourceOptions) {
    const { runtime, api, clock = systemClock, random = Math.random, resources, onObject } = options;
    this.inventory = new Inventory({ runtime, origin: "cluster", unread: unreadSorts(options) });
    const observed = (kind: WatchedKind): WatchedKind => (onObject === undefined ? kind : observe(kind, onObject));
    const common = { api, clock, random, inventory: this.inventory, observed, onChange: () => this.#changed() };
    this.#resources = new ResourceInformers({ ...common, extraGroups: resources?.extraGroups ?? [] });
    const follow: KindFeedOptions["onObjects"] = (put, removed) => this.#resources.update(put, removed);
    this.#feeds = heldKinds(options).map((held) => {
      const onObjects = held.kind === DEFINITIONS && resources !== undefined ? follow : undefined;
      return new Informer({ ...common, ...held, kind: observed(held.kind), onObjects });
    });
    // A source that is stopped before anyone waits for it rejects nobody.
    this.#loading.promise.catch(() => undefined);
  }

  /**
   * As current as the kind that was last heard of the longest ago, those left out that were never listed; every kind's fault, as far as
   * a person reads them.
   */
  get status(): SourceStatus {
    const feeds = [...this.#feeds, ...this.#resources];
    const faults = feeds.flatMap(({ fault }) => fault ?? []);
    const lastSyncMs = this.#loaded ? Math.min(...feeds.filter(({ synced }) => synced).map((feed) => feed.lastSyncMs)) : null;
    return { loaded: this.#loaded, lastSyncMs, fault: faults.length === 0 ? null : said(faults) };
  }

  /** How far the first listing has come; kinds are found while it goes on. */
  get progress(): ListingProgress {
    const feeds = [...this.#feeds, ...this.#resources];
    return { kinds: feeds.length, listed: feeds.filter(({ synced }) => synced).length, faulty: feeds.filter(({ synced, fault }) => !synced && fault !== null).length };
  }

  /** Rejects only when stopped first. */
  async start(): Promise<void> {
    for (const feed of this.#feeds) feed.start();
    await this.#loading.promise;
  }

  async stop(): Promise<void> {
    this.#loading.reject(new ResolverError("ERR_NOT_READY", `stopped before the inventory was loaded: ${this.status.fault ?? "it was still being listed"}`));
    await Promise.all([...this.#feeds.map((feed) => feed.stop()), this.#resources.stop()]);
  }

  onChange(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  #changed(): void {
    this.#loaded ||= [...this.#feeds, ...this.#resources].every(({ synced, isAwaited }) => synced || !isAwaited);
    if (this.#loaded) this.#loading.resolve();
    this.#listeners.notify();
  }
}

function unreadSorts({ resources, carmMaps }: ClusterSourceOptions): InventorySort[] {
  return [...(resources === undefined ? ["resources" as const] : []), ...(carmMaps === undefined ? ["config maps" as const] : [])];
}

function heldKinds({ carmMaps }: ClusterSourceOptions): Pick<KindFeedOptions, "kind" | "sort" | "isAwaited">[] {
  const kinds: Pick<KindFeedOptions, "kind" | "sort" | "isAwaited">[] = CLUSTER_KINDS.map((kind) => ({ kind, sort: null, isAwaited: true }));
  if (carmMaps === undefined) return kinds;
  const { namespace, isAwaited } = carmMaps;
  return [...kinds, ...carmMapKinds(namespace).map((kind) => ({ kind, sort: "config maps" as const, isAwaited }))];
}

/** Items of a list carry no type of their own. */
function observe(kind: WatchedKind, onObject: (object: JsonObject) => void): WatchedKind {
  const type = { apiVersion: apiVersionOf(kind), kind: kind.kind };
  const keep = (object: JsonObject): JsonObject | null => {
    onObject({ ...object, ...type });
    return kind.keep(object);
  };
  return { ...kind, keep };
}

const SAID_FAULTS = 10;

/** An API server that is away is away for every kind. */
function said(faults: readonly string[]): string {
  const more = faults.length - SAID_FAULTS;
  return more > 0 ? `${faults.slice(0, SAID_FAULTS).join("; ")}; and ${more} more` : faults.join("; ");
}
