import { ReversibleMap } from "./set-index.ts";
import { field, type JsonObject, stringMap } from "../formats/json.ts";
import type { ObjectID } from "../formats/object-meta.ts";
import { readSecretMetadata, type SecretMetadata } from "../model/identity-secret.ts";

type SecretName = Pick<ObjectID, "namespace" | "name">;

/** The metadata of the Secrets of an inventory. Stores no value of a Secret. */
export class SecretStore {
  readonly #byNamespace = new Map<string, Map<string, SecretMetadata>>();

  /** The number of namespaces that have a Secret. */
  get size(): number {
    return this.#byNamespace.size;
  }

  put(object: JsonObject, { namespace: written, name }: SecretName): void {
    // In a manifest, a missing namespace usually stands for `default`.
    const namespace = written === "" ? "default" : written;
    const secrets = this.#byNamespace.get(namespace) ?? new Map<string, SecretMetadata>();
    this.#byNamespace.set(namespace, secrets.set(name, readSecretMetadata(object)));
  }

  remove({ namespace, name }: SecretName): void {
    const secrets = this.#byNamespace.get(namespace);
    secrets?.delete(name);
    if (secrets?.size === 0) this.#byNamespace.delete(namespace);
  }

  /** Returns the metadata of the Secret, or null if the Secret does not exist. */
  get(namespace: string, name: string): SecretMetadata | null {
    return this.#byNamespace.get(namespace)?.get(name) ?? null;
  }

  /** Whether the inventory contains a Secret in the namespace. */
  hasNamespace(namespace: string): boolean {
    return this.#byNamespace.has(namespace);
  }
}

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
