import type { JsonObject } from "../formats/json.ts";
import { type KindFilter, type ObjectID, objectReference } from "../formats/object-meta.ts";
import type { DecisionSettings, Origin, Runtime } from "./context.ts";
import type { Grant, NamespaceQuery, RoleQuery } from "./grant.ts";
import { KINDS_OF_CLUSTER, type KindStore } from "./kind-store.ts";
import { NAMESPACES, type NamespaceStore } from "./namespaces.ts";
import type { Resolution } from "./resolution.ts";
import type { ChosenSession } from "./session.ts";
import type { RoleTargets } from "./role-target.ts";
import { SetIndex } from "./set-index.ts";
import type { Index, InventoryContext, Store, StoreKey, Stores } from "./store.ts";

export type InventoryChange =
  | { readonly type: "put"; readonly object: JsonObject }
  | {
    readonly type: "remove";
    readonly group: string;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
  }
  /**
   * Whether the objects of an item have been listed from the cluster. An item of the store of resources is, for
   * example, the kind `Queue.sqs.services.k8s.aws`.
   */
  | { readonly type: "unlisted" | "listed"; readonly store: StoreKey; readonly item: string };

/** An object whose role is to be resolved. */
export interface RoleObject {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly namespace: string;
  /** Null for a hypothetical object. */
  readonly name: string | null;
  readonly annotations: ReadonlyMap<string, string>;
}

/** What an inventory contains of a source of roles. */
export interface KnownRoles {
  /** Whether it contains an object that names roles. */
  readonly hasRoles: boolean;
  /** Whether the role of an object depends on its Namespace. */
  readonly readsNamespace: boolean;
}

/** An update of a Namespace. */
export interface NamespaceUpdate {
  readonly object: JsonObject;
  readonly old: JsonObject;
}

/** What gives some objects their roles, such as the IAMRoleSelectors. */
export interface RoleSource<T extends RoleObject = RoleObject> {
  /** Whether the source decides the role of the object with the settings. */
  serves(object: RoleObject, settings: Pick<DecisionSettings, "mode">): boolean;
  /** Resolves the role as the controller of the object does. */
  resolve(inventory: Inventory, object: T, settings: DecisionSettings): Resolution;
  /** Returns what the inventory contains of the source. */
  knownIn(inventory: Inventory): KnownRoles;
  /** Returns the settings of the session with which the controller uses a selected role; null if it assumes none. */
  sessionOf?(resolution: Resolution, inventory: Inventory): ChosenSession | null;
  /** Returns the name of the Secret that has the credentials; null if they are in none. Default: they are in none. */
  secretOf?(resolution: Resolution, object: T, inventory: Inventory): string | null;
  /** Returns the types of objects that an update of their Namespace can give another role; null for none. */
  movedBy?(update: NamespaceUpdate, inventory: Inventory, settings: DecisionSettings): KindFilter | null;
  /** What grants the roles of the source to controllers. Missing if the source has an endpoint of its own. */
  readonly granter?: Granter;
  /** Where the sidecar issues the credentials of the source. Missing if the source has a granter. */
  readonly endpoint?: Endpoint;
  /** Returns every role that the objects of the source name. */
  targets(inventory: Inventory, settings: Pick<DecisionSettings, "ackSystemNamespace">): RoleTargets;
}

/** Where the sidecar issues the credentials of objects that are not ACK resources. */
export interface Endpoint {
  /** The API group of the objects, with which the sidecar serves the endpoint. */
  readonly group: string;
  /** The path of a request, with words in capitals for what it names. */
  readonly path: string;
  /** The objects in the plural, for messages. */
  readonly objects: string;
}

/** Grants roles to the controllers of ACK in one mode. */
export interface Granter {
  readonly mode: DecisionSettings["mode"];
  /** Grants the role of a namespace if every requested group, kind and version resolves to this role. */
  inNamespace(inventory: Inventory, query: NamespaceQuery): Grant;
  /** Grants the role of the IAMRoleSelector of this name. */
  ofSelector(inventory: Inventory, name: string, query: RoleQuery): Grant;
  /** Grants a role by its ARN, which is the only input of an AssumeRole request. */
  ofRole(inventory: Inventory, roleARN: string, query: RoleQuery): Grant;
}

/** What an inventory knows of the kinds of its objects (shared/kinds.ts). */
export interface KnownKinds {
  /** Returns the kind of an object with the store of its objects; null if decisions do not read it. */
  readonly kindOf: (id: ObjectID) => { readonly store?: StoreKey } | null;
  readonly roleSources: readonly RoleSource[];
}

/**
 * The cluster state that decisions depend on: one store for the objects of some kinds. Only `apply` changes the state,
 * one object at a time.
 */
export class Inventory implements Stores {
  readonly context: InventoryContext;
  readonly #kinds: KnownKinds;
  readonly #stores = new Map<StoreKey<Index>, Index>();
  readonly #unlisted = new SetIndex<string>();
  readonly namespaces: NamespaceStore;
  readonly kinds: KindStore;
  /** Where the sidecar issues the credentials of sources that have no granter. */
  readonly endpoints: readonly Endpoint[];
  #revision = 0;

  constructor(context: InventoryContext, kinds: KnownKinds) {
    this.context = context;
    this.#kinds = kinds;
    this.namespaces = this.of(NAMESPACES);
    this.kinds = this.of(KINDS_OF_CLUSTER);
    this.endpoints = kinds.roleSources.flatMap(({ endpoint }) => endpoint ?? []);
  }

  /** Returns a store. Opens the store if nothing has needed it before. */
  of<S extends Index>(key: StoreKey<S>): S {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each key opens the store that it names
    const known = this.#stores.get(key) as S | undefined;
    if (known !== undefined) return known;
    const opened = key.open(this);
    this.#stores.set(key, opened);
    return opened;
  }

  /** Whether the objects come from manifests or from a cluster. */
  get origin(): Origin {
    return this.context.origin;
  }

  /** The selector features that the controllers support. */
  get runtime(): Runtime {
    return this.context.runtime;
  }

  /** Returns the source that decides the role of the object. Throws an Error if none does. */
  sourceOf(object: RoleObject, settings: DecisionSettings): RoleSource {
    const source = this.#kinds.roleSources.find((one) => one.serves(object, settings));
    if (source === undefined) throw new Error(`nothing gives ${object.kind}.${object.group} a role`);
    return source;
  }

  /** Returns what grants roles in the mode. Throws an Error if nothing does. */
  granterIn(mode: DecisionSettings["mode"]): Granter {
    const granter = this.#kinds.roleSources.map((source) => source.granter).find((one) => one?.mode === mode);
    if (granter === undefined) throw new Error(`nothing grants roles in mode ${mode}`);
    return granter;
  }

  /** Returns the roles that the objects of all sources name. */
  roleTargets(settings: Pick<DecisionSettings, "ackSystemNamespace">): RoleTargets {
    const all = this.#kinds.roleSources.map((source) => source.targets(this, settings));
    return { targets: all.flatMap(({ targets }) => targets), omitted: all.flatMap(({ omitted }) => omitted) };
  }

  /** Returns the types of objects that the update of a Namespace can give another role; null for none. */
  movedBy(update: NamespaceUpdate, settings: DecisionSettings): KindFilter | null {
    const filters = this.#kinds.roleSources.flatMap((source) => source.movedBy?.(update, this, settings) ?? []);
    return filters.length === 0 ? null : (type) => filters.some((includes) => includes(type));
  }

  /** Increases with each change. */
  get revision(): number {
    return this.#revision;
  }

  /** Applies changes of the objects that decisions read. Ignores changes of other objects. */
  apply(changes: readonly InventoryChange[]): void {
    this.#revision += 1;
    for (const change of changes) {
      if (change.type === "put") {
        const id = objectReference(change.object);
        this.#storeOf(id)?.put(change.object, id);
      } else if (change.type === "remove") this.#storeOf(change)?.remove(change);
      else if (change.type === "unlisted") this.#unlisted.add(change.store.name, change.item);
      else this.#unlisted.delete(change.store.name, change.item);
    }
  }

  /**
   * Whether the inventory includes the objects of a store. An inventory of a cluster includes them if its source reads
   * them and has listed all of them. An inventory of manifests includes them if the manifests contain at least one. A
   * store that `isPartial` is included even if some of its kinds have not been listed: objects may be missing, but each
   * object in the store exists.
   */
  includes(key: StoreKey): boolean {
    if (this.context.origin === "file") return this.of(key).size > 0;
    const isExcluded = this.context.excluded?.includes(key) === true;
    return !isExcluded && (key.isPartial === true || this.unlisted(key).size === 0);
  }

  /** Returns the items of a store that have not been listed. The store may lack objects of an unlisted item. */
  unlisted({ name }: Pick<StoreKey, "name">): ReadonlySet<string> {
    return this.#unlisted.get(name);
  }

  /** Returns the store of an object; null if decisions do not read it. */
  #storeOf(id: ObjectID): Store | null {
    const key = this.#kinds.kindOf(id)?.store;
    return key === undefined ? null : this.of(key);
  }
}
