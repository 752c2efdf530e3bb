import { ACCOUNT_MAP, TEAM_MAP } from "../annotation-keys.ts";
import type { Origin, Runtime } from "../context.ts";
import type { Identity } from "../identities/identity.ts";
import { isIdentityKind, referrerKindOf } from "../identities/kinds.ts";
import { field, type JsonObject, stringMap } from "../kubernetes/json.ts";
import { isSelector, SELECTOR_GROUP, SELECTOR_KIND } from "../kubernetes/kinds.ts";
import { objectReference } from "../kubernetes/object-meta.ts";
import { IdentityStore } from "./identities.ts";
import { KindStore } from "./kinds.ts";
import { NamespaceStore } from "./namespaces.ts";
import { ReferrerStore } from "./referrers.ts";
import { ResourceStore } from "./resources.ts";
import { SecretStore } from "./secrets.ts";
import { SelectorStore } from "./selectors.ts";
import { ReversibleMap, SetIndex } from "./set-index.ts";

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
   * Whether the objects of an item have been listed from the cluster. An item of the collection `resources` is, for
   * example, the kind `Queue.sqs.services.k8s.aws`.
   */
  | { readonly type: "unlisted" | "listed"; readonly collection: Collection; readonly item: string };

/**
 * The collections that an inventory may omit. Every inventory includes the selectors. `config maps` are the CARM maps
 * in the namespace of the controllers. `referrers` are the objects that refer to CAPA identities. `secrets` are the
 * Secrets in the namespace of `--identity-secret-namespace`, without their values.
 */
export type Collection =
  | "namespaces"
  | "kinds"
  | "resources"
  | "config maps"
  | "config maps of other namespaces"
  | "identities"
  | "referrers"
  | "secrets";

export interface InventoryContext {
  readonly runtime: Runtime;
  readonly origin: Origin;
  /** The collections that the source does not read from the cluster. */
  readonly excluded?: readonly Collection[];
  /**
   * Whether the inventory serves only decisions on grants. Such an inventory drops the data that grants do not read:
   * the objects of IAMRoleSelectors, and namespaces that exceed a limit. Default: false.
   */
  readonly isForGrants?: boolean;
}

type Writes = "put" | "remove";

/** The cluster state that decisions depend on. Only `apply` changes the state, one object at a time. */
export class Inventory {
  readonly namespaces: Omit<NamespaceStore, Writes>;
  readonly selectors: Omit<SelectorStore, Writes | "evictNamespace">;
  readonly kinds: Omit<KindStore, Writes>;
  readonly resources: Omit<ResourceStore, Writes>;
  readonly identities: Omit<IdentityStore, Writes>;
  readonly referrers: Omit<ReferrerStore, Writes | "updateAccounts">;
  readonly secrets: Omit<SecretStore, Writes>;
  readonly #context: InventoryContext;
  readonly #namespaces: NamespaceStore;
  readonly #selectors: SelectorStore;
  readonly #kinds = new KindStore();
  readonly #resources = new ResourceStore();
  readonly #identities: IdentityStore;
  readonly #referrers: ReferrerStore;
  readonly #secrets = new SecretStore();
  /** By `NAMESPACE/NAME`. */
  readonly #configMaps = new Map<string, ReversibleMap>();
  readonly #unlisted = new SetIndex<string>();

  constructor(context: InventoryContext) {
    this.#context = context;
    this.#namespaces = new NamespaceStore(context);
    this.#selectors = new SelectorStore(context, this.#namespaces);
    this.namespaces = this.#namespaces;
    this.selectors = this.#selectors;
    this.kinds = this.#kinds;
    this.resources = this.#resources;
    this.#identities = new IdentityStore(context);
    this.#referrers = new ReferrerStore(context, this.#identities);
    this.identities = this.#identities;
    this.referrers = this.#referrers;
    this.secrets = this.#secrets;
  }

  /** Whether the objects come from manifests or from a cluster. */
  get origin(): Origin {
    return this.#context.origin;
  }

  /** The selector features that the controllers support. */
  get runtime(): Runtime {
    return this.#context.runtime;
  }

  /**
   * Applies changes of selectors, Namespaces, CustomResourceDefinitions, CARM ConfigMaps, ACK resources, CAPA
   * identities, objects that refer to identities, and Secrets. Ignores changes of other objects.
   */
  apply(changes: readonly InventoryChange[]): void {
    for (const change of changes) {
      if (change.type === "put") this.#put(change.object);
      else if (change.type === "remove") this.#remove(change);
      else if (change.type === "unlisted") this.#unlisted.add(change.collection, change.item);
      else this.#unlisted.delete(change.collection, change.item);
    }
  }

  /** Returns the data of a CARM ConfigMap, or null if the ConfigMap does not exist. */
  configMap(namespace: string, name: string): ReadonlyMap<string, string> | null {
    return this.#configMaps.get(`${namespace}/${name}`)?.values ?? null;
  }

  /** Returns the keys of a CARM ConfigMap that have the value. */
  configMapKeys(namespace: string, name: string, value: string): ReadonlySet<string> {
    return this.#configMaps.get(`${namespace}/${name}`)?.keysOf(value) ?? NO_KEYS;
  }

  /** Yields the namespaces that have a CARM ConfigMap named `name`. */
  *namespacesOfConfigMap(name: string): Iterable<string> {
    for (const key of this.#configMaps.keys()) if (key.endsWith(`/${name}`)) yield key.slice(0, -name.length - 1);
  }

  /**
   * Whether the inventory includes a collection. An inventory of a cluster includes a collection if its source reads
   * the collection and has listed the objects of the collection. An inventory of manifests includes a collection if the
   * manifests contain at least one object of the collection. The inventory of a cluster includes the resources even if
   * some kinds have not been listed: resources may be missing, but each resource in the inventory exists.
   */
  includes(collection: Collection): boolean {
    if (this.#context.origin === "cluster") {
      const isExcluded = this.#context.excluded?.includes(collection) === true;
      return !isExcluded && (collection === "resources" || this.unlisted(collection).size === 0);
    }
    const stores = {
      namespaces: this.#namespaces,
      kinds: this.#kinds,
      resources: this.#resources,
      "config maps": this.#configMaps,
      "config maps of other namespaces": this.#configMaps,
      identities: this.#identities,
      referrers: this.#referrers,
      secrets: this.#secrets,
    };
    return stores[collection].size > 0;
  }

  /**
   * Returns the items of a collection that have not been listed. The inventory may lack objects of an unlisted item.
   */
  unlisted(collection: Collection): ReadonlySet<string> {
    return this.#unlisted.get(collection);
  }

  #put(object: JsonObject): void {
    const { group, kind, namespace, name } = objectReference(object);
    switch (`${kind}.${group}`) {
      case "Namespace.":
        this.#namespaces.put(object, name);
        return this.#selectors.evictNamespace(name);
      case "ConfigMap.":
        if (CARM_MAPS.has(name)) {
          this.#configMaps.set(`${namespace}/${name}`, new ReversibleMap(stringMap(field(object, "data"))));
        }
        return;
      case "Secret.":
        // In a manifest, a missing namespace usually stands for `default`.
        return this.#secrets.put(object, namespace === "" ? "default" : namespace, name);
      case KIND_DEFINITION:
        return this.#kinds.put(object);
      default:
        if (isSelector(object)) this.#selectors.put(object, name);
        else if (isIdentityKind({ group, kind })) this.#updateAccounts(this.#identities.put(object));
        else if (referrerKindOf({ group, kind }) !== null) this.#referrers.put(object);
        else this.#resources.put(object);
    }
  }

  #remove({ group, kind, namespace, name }: Extract<InventoryChange, { type: "remove" }>): void {
    switch (`${kind}.${group}`) {
      case "Namespace.":
        this.#namespaces.remove(name);
        return this.#selectors.evictNamespace(name);
      case "ConfigMap.":
        return void this.#configMaps.delete(`${namespace}/${name}`);
      case "Secret.":
        return this.#secrets.remove(namespace, name);
      case KIND_DEFINITION:
        return this.#kinds.remove(name);
      case `${SELECTOR_KIND}.${SELECTOR_GROUP}`:
        return this.#selectors.remove(name);
      default:
        if (isIdentityKind({ group, kind })) this.#updateAccounts(this.#identities.remove(kind, name, namespace));
        else if (referrerKindOf({ group, kind }) !== null) this.#referrers.remove(group, kind, namespace, name);
        else this.#resources.remove(group, kind, namespace, name);
    }
  }

  #updateAccounts(identity: Identity | null): void {
    if (identity !== null) this.#referrers.updateAccounts(identity);
  }
}

const NO_KEYS: ReadonlySet<string> = new Set();
const KIND_DEFINITION = "CustomResourceDefinition.apiextensions.k8s.io";
const CARM_MAPS: ReadonlySet<string> = new Set([ACCOUNT_MAP, TEAM_MAP]);
