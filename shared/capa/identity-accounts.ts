import { field, type JsonObject, stringMap } from "../formats/json.ts";
import type { ObjectID } from "../formats/object-meta.ts";
import { accountInEntry } from "./identity-secret.ts";
import { SECRETS, type SecretStore } from "./secrets.ts";
import type { StoreKey } from "../core/store.ts";

/** The accounts that sidecars have recorded for the Secrets of static identities, by namespace. */
export class IdentityAccountStore {
  readonly #secrets: Pick<SecretStore, "get">;
  /** By namespace, then by the name of the Secret. */
  readonly #entries = new Map<string, ReadonlyMap<string, string>>();

  constructor(secrets: Pick<SecretStore, "get">) {
    this.#secrets = secrets;
  }

  get size(): number {
    return this.#entries.size;
  }

  put(object: JsonObject, { namespace }: Pick<ObjectID, "namespace">): void {
    this.#entries.set(namespace, stringMap(field(object, "data")));
  }

  remove({ namespace }: Pick<ObjectID, "namespace">): void {
    this.#entries.delete(namespace);
  }

  /** Returns the account of the access key in the Secret; null if it is unknown, for example after a change of it. */
  accountOf(namespace: string, name: string): string | null {
    const entry = this.#entries.get(namespace)?.get(name);
    const secret = entry === undefined ? null : this.#secrets.get(namespace, name);
    return entry === undefined || secret === null ? null : accountInEntry(entry, secret);
  }

  /** Yields the names of the Secrets whose access key is of the account. */
  *secretsOf(namespace: string, accountID: string): Iterable<string> {
    for (const name of this.#entries.get(namespace)?.keys() ?? []) {
      if (this.accountOf(namespace, name) === accountID) yield name;
    }
  }
}

/** The accounts of the access keys in the Secrets of static identities. */
export const IDENTITY_ACCOUNTS_STORE: StoreKey<IdentityAccountStore> = {
  name: "identity accounts", open: (stores) => new IdentityAccountStore(stores.of(SECRETS)),
};
