import { ReversibleMap } from "../core/set-index.ts";
import type { StoreKey } from "../core/store.ts";
import { field, type JsonObject, stringMap } from "../formats/json.ts";
import type { ObjectID } from "../formats/object-meta.ts";

type MapName = Pick<ObjectID, "namespace" | "name">;

/** The CARM maps of an inventory. */
export class CARMMapStore {
  /** By `NAMESPACE/NAME`. */
  readonly #maps = new Map<string, ReversibleMap>();

  get size(): number {
    return this.#maps.size;
  }

  put(object: JsonObject, { namespace, name }: MapName): void {
    this.#maps.set(`${namespace}/${name}`, new ReversibleMap(stringMap(field(object, "data"))));
  }

  remove({ namespace, name }: MapName): void {
    this.#maps.delete(`${namespace}/${name}`);
  }

  /** Returns the data of a CARM map, or null if the ConfigMap does not exist. */
  data(namespace: string, name: string): ReadonlyMap<string, string> | null {
    return this.#maps.get(`${namespace}/${name}`)?.values ?? null;
  }

  /** Returns the keys of a CARM map that have the value. */
  keysOf(namespace: string, name: string, value: string): ReadonlySet<string> {
    return this.#maps.get(`${namespace}/${name}`)?.keysOf(value) ?? NO_KEYS;
  }

  /** Yields the namespaces that have a CARM map of this name. */
  *namespacesOf(name: string): Iterable<string> {
    for (const key of this.#maps.keys()) if (key.endsWith(`/${name}`)) yield key.slice(0, -name.length - 1);
  }
}

const NO_KEYS: ReadonlySet<string> = new Set();

/** The CARM maps in the namespace of the controllers. */
export const CARM_MAPS: StoreKey<CARMMapStore> = { name: "config maps", open: () => new CARMMapStore() };

/** The CARM maps in other namespaces, which few sources read. */
export const OTHER_CARM_MAPS: StoreKey<CARMMapStore> = {
  name: "config maps of other namespaces", open: (stores) => stores.of(CARM_MAPS),
};
