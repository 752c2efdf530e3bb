import type { Origin, Runtime } from "./context.ts";
import type { StoreName } from "./kind-row.ts";
import { kindOf } from "../kinds.ts";
import type { JsonObject } from "../formats/json.ts";
import { type ObjectID, objectReference } from "../formats/object-meta.ts";
import { CARMMapStore, KindStore, SecretStore } from "./small-stores.ts";
import { IdentityAccountStore } from "../capa/identity-accounts.ts";
import { IdentityStore } from "../capa/identities.ts";
import { ReferrerStore } from "../capa/referrers.ts";
import { NamespaceStore } from "./namespaces.ts";
import { ResourceStore } from "../ack/resources.ts";
import { SelectorStore } from "../ack/selectors.ts";
import { SetIndex } from "./set-index.ts";
import type { Judge } from "../ack/selector.ts";

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
 * Secrets in the namespace of `--identity-secret-namespace`, without their values, and `identity accounts` the accounts
 * of their access keys.
 */
export type Collection = StoreName | "config maps of other namespaces";

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

/** The stored objects of the kinds whose rows name the store. */
interface Store {
  readonly size: number;
  put(object: JsonObject, id: ObjectID): void;
  remove(id: ObjectID): void;
}

/** The cluster state that decisions depend on. Only `apply` changes the state, one object at a time. */
export class Inventory {
  readonly namespaces: Omit<NamespaceStore, Writes>;
  readonly selectors: Omit<SelectorStore, Writes | "evictNamespace">;
  readonly kinds: Omit<KindStore, Writes>;
  readonly resources: Omit<ResourceStore, Writes>;
  readonly identities: Omit<IdentityStore, Writes>;
  readonly referrers: Omit<ReferrerStore, Writes | "updateAccounts">;
  readonly secrets: Omit<SecretStore, Writes>;
  readonly identityAccounts: Omit<IdentityAccountStore, Writes>;
  readonly carmMaps: Omit<CARMMapStore, Writes>;
  readonly #context: InventoryContext;
  readonly #stores: Record<StoreName, Store>;
  readonly #unlisted = new SetIndex<string>();
  #revision = 0;

  /** `judge` finds the faults of the selectors: checks stand above the inventory. */
  constructor(context: InventoryContext, judge: Judge) {
    this.#context = context;
    const namespaces = new NamespaceStore(context, (name) => selectors.evictNamespace(name));
    const selectors: SelectorStore = new SelectorStore(context, judge, namespaces);
    const identities = new IdentityStore(context, (identity) => referrers.updateAccounts(identity));
    const referrers: ReferrerStore = new ReferrerStore(context, identities);
    const [kinds, resources, secrets] = [new KindStore(), new ResourceStore(), new SecretStore()];
    const [carmMaps, identityAccounts] = [new CARMMapStore(), new IdentityAccountStore(secrets)];
    this.#stores = {
      selectors, namespaces, kinds, resources, identities, referrers, secrets, "config maps": carmMaps,
      "identity accounts": identityAccounts,
    };
    [this.namespaces, this.selectors, this.kinds, this.resources] = [namespaces, selectors, kinds, resources];
    [this.identities, this.referrers, this.secrets, this.carmMaps] = [identities, referrers, secrets, carmMaps];
    this.identityAccounts = identityAccounts;
  }

  /** Whether the objects come from manifests or from a cluster. */
  get origin(): Origin {
    return this.#context.origin;
  }

  /** The selector features that the controllers support. */
  get runtime(): Runtime {
    return this.#context.runtime;
  }

  /** Increases with each change. */
  get revision(): number {
    return this.#revision;
  }

  /**
   * Applies changes of selectors, Namespaces, CustomResourceDefinitions, CARM ConfigMaps, ACK resources, CAPA
   * identities, objects that refer to identities, Secrets, and the ConfigMap of their accounts. Ignores changes of
   * other objects.
   */
  apply(changes: readonly InventoryChange[]): void {
    this.#revision += 1;
    for (const change of changes) {
      if (change.type === "put") {
        const id = objectReference(change.object);
        this.#storeOf(id)?.put(change.object, id);
      } else if (change.type === "remove") this.#storeOf(change)?.remove(change);
      else if (change.type === "unlisted") this.#unlisted.add(change.collection, change.item);
      else this.#unlisted.delete(change.collection, change.item);
    }
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
    return this.#stores[collection === "config maps of other namespaces" ? "config maps" : collection].size > 0;
  }

  /**
   * Returns the items of a collection that have not been listed. The inventory may lack objects of an unlisted item.
   */
  unlisted(collection: Collection): ReadonlySet<string> {
    return this.#unlisted.get(collection);
  }

  /** Returns the store of an object; null if decisions do not read it. */
  #storeOf(id: ObjectID): Store | null {
    const name = kindOf(id)?.store;
    return name === undefined ? null : this.#stores[name];
  }
}
