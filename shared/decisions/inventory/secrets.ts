import { readSecretMetadata, type SecretMetadata } from "../identities/secret-metadata.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import type { ObjectID } from "../kubernetes/object-meta.ts";

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
