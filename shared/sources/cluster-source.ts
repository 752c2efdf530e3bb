import { INVENTORY_KINDS, KINDS } from "../kinds.ts";
import type { StoreKey } from "../core/store.ts";
import { type SteadyClock, systemClock } from "../core/clock.ts";
import type { Feature } from "../core/context.ts";
import { isLeftOut } from "../core/kind.ts";
import type { KubernetesAPI } from "../api/api.ts";
import { Outage } from "../api/outage.ts";
import type { WatchedKind } from "../api/watched-kind.ts";
import { ResolverError } from "../formats/errors.ts";
import type { JsonObject } from "../formats/json.ts";
import { apiVersionOf, type KindName, objectReference } from "../formats/object-meta.ts";
import { countOf } from "../formats/text.ts";
import { Inventory } from "../core/inventory.ts";
import { fixedKinds, fixedKindsOf } from "./cluster-kinds.ts";
import { type Fault, Informer, type InformerOptions, ResourceInformers } from "./informers.ts";
import { type InventorySource, Listeners, type Proof, type SourceStatus } from "./source.ts";

/**
 * Every cluster source loads selectors, namespaces and CustomResourceDefinitions. With the options `resources`,
 * `identities` and `carmMaps`, the source loads more kinds and needs more rights.
 */
export interface ClusterSourceOptions {
  readonly runtime: "ack" | "extended";
  readonly api: KubernetesAPI;
  /**
   * If set, loads the objects of every installed ACK kind and CAPA kind. `extraGroups` lists groups that this release
   * does not know but that the source may read. If `resources` is not set, the inventory is sufficient only for
   * decisions on grants.
   */
  readonly resources?: { readonly extraGroups: readonly string[] } | undefined;
  /** The features whose objects the source does not load, as if their kinds were not installed. Default: none. */
  readonly without?: ReadonlySet<Feature> | undefined;
  /** Whether the source loads the installed identity kinds of CAPA if `resources` is not set. Default: false. */
  readonly identities?: boolean | undefined;
  /**
   * If set, loads the CARM maps in `namespace`. If `isRequired`, the source is not loaded until the CARM maps are
   * listed. If `inAllNamespaces`, the source also loads the CARM maps in other namespaces, although controllers ignore
   * these maps.
   */
  readonly carmMaps?: CARMMapsOptions | undefined;
  /** If set, loads the metadata of the Secrets in this namespace, but never their values, and their accounts. */
  readonly identitySecretNamespace?: string | null | undefined;
  /**
   * Whether `onObject` receives the FieldExports and AdoptedResources, which the inventory does not contain. Default:
   * false.
   */
  readonly fieldExports?: boolean | undefined;
  /**
   * Receives each listed or changed object with all its fields. If a list is repeated, `onObject` receives its objects
   * again.
   */
  readonly onObject?: ((object: JsonObject) => void) | undefined;
  /**
   * Whether the API server must prove every few seconds that the watches of the kinds that every source loads are
   * current, because they decide on rights. Default: only when `prove` is called.
   */
  readonly hasHeartbeat?: boolean | undefined;
  readonly clock?: SteadyClock;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random?: () => number;
}

const NONE: ReadonlySet<Feature> = new Set();

interface CARMMapsOptions {
  readonly namespace: string;
  readonly isRequired: boolean;
  /** Default: false. */
  readonly inAllNamespaces?: boolean;
}

/** The progress of the initial lists: the number of kinds, of listed kinds and of failed kinds. */
interface ListingProgress {
  readonly kinds: number;
  readonly listed: number;
  /** The number of kinds that have a fault and were never listed. */
  readonly faulty: number;
}

/**
 * Loads the inventory of a cluster. Each kind has one informer. The inventory is loaded when every required kind is
 * listed, because a kind that could not be listed must not be treated as empty. A kind that is installed after the
 * source is loaded is `unlisted` until its first list, but the source remains loaded.
 */
export class ClusterSource implements InventorySource {
  readonly inventory: Inventory;
  readonly #listeners = new Listeners();
  readonly #informers: readonly Informer[];
  readonly #resources: ResourceInformers;
  readonly #outage: Outage;
  readonly #loading = Promise.withResolvers<void>();
  #loaded = false;

  constructor(options: ClusterSourceOptions) {
    const { runtime, api, clock = systemClock, random = Math.random, resources, onObject, without = NONE } = options;
    const isForGrants = resources === undefined;
    const parts = loadedParts(options);
    const optional = optionalStores(parts);
    const excluded = optional.filter(({ isLoaded }) => !isLoaded).map(({ store }) => store);
    this.inventory = new Inventory({ runtime, origin: "cluster", excluded, isForGrants }, INVENTORY_KINDS);
    // No observer receives Secrets, because the annotations of their metadata can contain values.
    const observe = (kind: WatchedKind): WatchedKind => (
      onObject === undefined || kind.metadataOnly === true ? kind : withObserver(kind, onObject)
    );
    this.#outage = new Outage({ api, clock, random });
    const { inventory } = this;
    const common = { api, clock, random, inventory, outage: this.#outage, onChange: () => this.#onChange() };
    this.#resources = new ResourceInformers({
      ...common, observe, extraGroups: resources?.extraGroups ?? [],
      isWatched: (kind) => !isLeftOut(kind, without) && kind.parts.some((part) => parts.has(part)),
    });
    const updateResources: InformerOptions["onObjects"] = (put, removed) => this.#resources.update(put, removed);
    this.#informers = watchedKinds(optional).map((watched) => {
      const onObjects = watched.kind.kind === "CustomResourceDefinition" ? updateResources : undefined;
      const hasHeartbeat = options.hasHeartbeat === true && watched.store === null;
      return new Informer({ ...common, ...watched, kind: observe(watched.kind), onObjects, hasHeartbeat });
    });
    // Prevents an unhandled rejection: `stop` rejects the promise even if `start` was not called.
    this.#loading.promise.catch(() => undefined);
  }

  /** Returns the oldest sync time of all listed kinds, and the faults of all kinds. */
  get status(): SourceStatus {
    const informers = this.#all();
    const faults = informers.flatMap(({ fault }) => fault ?? []);
    const syncTimes = informers.filter(({ hasSynced }) => hasSynced).map(({ lastSyncMs }) => lastSyncMs);
    return {
      loaded: this.#loaded,
      lastSyncMs: this.#loaded ? Math.min(...syncTimes) : null,
      fault: faultText(faults),
      isStalled: faults.some(({ isStalled }) => isStalled),
    };
  }

  /**
   * Returns the progress of the initial lists. The number of kinds increases while CustomResourceDefinitions are
   * listed.
   */
  get progress(): ListingProgress {
    const informers = this.#all();
    return {
      kinds: informers.length,
      listed: informers.filter(({ hasSynced }) => hasSynced).length,
      faulty: informers.filter(({ hasSynced, fault }) => !hasSynced && fault !== null).length,
    };
  }

  positionOf(kind: string): string | null {
    return this.#all().find((informer) => informer.kind.kind === kind)?.position ?? null;
  }

  async prove(isNeeded: (kind: KindName) => boolean, limitMs: number): Promise<Proof> {
    const informers = this.#all().filter(({ hasSynced, kind }) => hasSynced && isNeeded(kind));
    const hasAsked = informers.some(({ isCurrent }) => !isCurrent);
    const faults = await Promise.all(informers.map((informer) => informer.prove(limitMs)));
    return { fault: faultText(faults.filter((fault) => fault !== null)), hasAsked };
  }

  accept(object: JsonObject): boolean {
    const { group, kind } = objectReference(object);
    const informer = this.#informers.find(({ kind: one }) => one.group === group && one.kind === kind);
    return informer?.accept(object) === true;
  }

  /** Resolves when the inventory is loaded. Rejects only if `stop` is called before the inventory is loaded. */
  async start(): Promise<void> {
    for (const informer of this.#informers) informer.start();
    await this.#loading.promise;
  }

  async stop(): Promise<void> {
    const reason = this.status.fault ?? "the initial list is not complete";
    this.#loading.reject(new ResolverError("ERR_NOT_READY", `Stopped before the inventory was loaded: ${reason}.`));
    const informers = this.#informers.map((informer) => informer.stop());
    await Promise.all([...informers, this.#resources.stop(), this.#outage.stop()]);
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

/** What a source loads of a part of the cluster that only some sources load. */
interface LoadedPart {
  /** The namespace of the objects. Default: all namespaces. */
  readonly namespace?: string | undefined;
  /** Default: false, because a missing right must not prevent the checks of all other objects. */
  readonly isRequired?: boolean | undefined;
  /** Whether also the objects of the other namespaces are loaded, into a store of their own. Default: false. */
  readonly inAllNamespaces?: boolean | undefined;
}

function loadedParts(options: ClusterSourceOptions): ReadonlyMap<string, LoadedPart> {
  const { resources, identities, fieldExports, carmMaps, identitySecretNamespace: namespace = null } = options;
  const parts: readonly (readonly [string, LoadedPart | null])[] = [
    ["resources", resources === undefined ? null : {}], ["identities", identities === true ? {} : null],
    ["fieldExports", fieldExports === true ? {} : null], ["carmMaps", carmMaps ?? null],
    ["secrets", namespace === null ? null : { namespace }],
    ["identityAccounts", namespace === null ? null : { namespace }],
  ];
  return new Map(parts.flatMap(([part, loaded]) => (loaded === null ? [] : [[part, loaded] as const])));
}

/** A store that only some sources load, and its kinds whose versions no definition states. */
interface OptionalStore {
  readonly store: StoreKey;
  readonly isLoaded: boolean;
  readonly kinds: readonly WatchedKind[];
  readonly isRequired: boolean;
}

function optionalStores(loaded: ReadonlyMap<string, LoadedPart>): readonly OptionalStore[] {
  return KINDS.flatMap((kind): OptionalStore[] => {
    const { store, watch: { parts, storeOfOthers } = {} } = kind;
    if (store === undefined || parts === undefined) return [];
    const part = parts.map((one) => loaded.get(one)).find((one) => one !== undefined);
    const { namespace = "", isRequired = false, inAllNamespaces = false } = part ?? {};
    const own = { store, isLoaded: part !== undefined, isRequired, kinds: fixedKindsOf(kind, namespace) };
    if (storeOfOthers === undefined) return [own];
    return [own, { store: storeOfOthers, isLoaded: inAllNamespaces, isRequired: false, kinds: fixedKindsOf(kind) }];
  });
}

type Watched = Pick<InformerOptions, "kind" | "store" | "isRequired">;

function watchedKinds(optional: readonly OptionalStore[]): Watched[] {
  return [
    ...fixedKinds(null).map((kind) => ({ kind, store: null, isRequired: true })),
    ...optional.filter(({ isLoaded }) => isLoaded).flatMap(({ store, kinds, isRequired }) => (
      kinds.map((kind) => ({ kind, store, isRequired }))
    )),
  ];
}

/**
 * Returns a copy of the kind whose transform also passes each object to `onObject`. The passed object has the fields
 * apiVersion and kind, which list items lack.
 */
function withObserver(kind: WatchedKind, onObject: (object: JsonObject) => void): WatchedKind {
  const type = { apiVersion: apiVersionOf(kind), kind: kind.kind };
  const transform = (object: JsonObject): JsonObject | null => {
    onObject({ ...object, ...type });
    return kind.transform(object);
  };
  return { ...kind, transform };
}

/** The maximum number of faults that the joined text lists. */
const MAX_FAULTS = 10;

function faultText(faults: readonly Fault[]): string | null {
  return faults.length === 0 ? null : joinFaults(faults);
}

/**
 * Joins the faults of all kinds to one text. If several kinds have the same fault, for example because the API server
 * is unreachable, the text contains the fault once, with the number of these kinds.
 */
export function joinFaults(faults: readonly Fault[]): string {
  const counts = new Map<string, { readonly fault: Fault; readonly count: number }>();
  for (const fault of faults) {
    const key = fault.messageFor?.("") ?? fault.message;
    counts.set(key, { fault, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  const texts = Array.from(counts.values(), ({ fault: { message, messageFor }, count }) => (
    count === 1 || messageFor === null ? message : messageFor(countOf(count, "kind"))
  ));
  const more = texts.length - MAX_FAULTS;
  return more > 0 ? `${texts.slice(0, MAX_FAULTS).join("; ")}; and ${more} more` : texts.join("; ");
}
