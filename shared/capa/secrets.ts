import type { StoreKey } from "../core/store.ts";
import type { JsonObject } from "../formats/json.ts";
import { namespaceOrDefault, type ObjectID } from "../formats/object-meta.ts";
import { readSecretMetadata, type SecretMetadata } from "./identity-secret.ts";

type SecretName = Pick<ObjectID, "namespace" | "name">;

/** The metadata of the Secrets of an inventory. Stores no value of a Secret. */
export class SecretStore {
  readonly #byNamespace = new Map<string, Map<string, SecretMetadata>>();
  #revision = 0;

  /** Changes when a Secret is added or removed, or the known names of its keys change. */
  get revision(): number {
    return this.#revision;
  }

  /** The number of namespaces that have a Secret. */
  get size(): number {
    return this.#byNamespace.size;
  }

  put(object: JsonObject, { namespace: written, name }: SecretName): void {
    const namespace = namespaceOrDefault(written);
    const secrets = this.#byNamespace.get(namespace) ?? new Map<string, SecretMetadata>();
    const metadata = readSecretMetadata(object);
    if (JSON.stringify(secrets.get(name)?.keys) !== JSON.stringify(metadata.keys)) this.#revision += 1;
    this.#byNamespace.set(namespace, secrets.set(name, metadata));
  }

  remove({ namespace, name }: SecretName): void {
    const secrets = this.#byNamespace.get(namespace);
    if (secrets?.delete(name) === true) this.#revision += 1;
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

/** The Secrets in the namespace of `--identity-secret-namespace`, without their values. */
export const SECRETS: StoreKey<SecretStore> = { name: "secrets", open: () => new SecretStore() };
