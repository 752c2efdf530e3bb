import type { Runtime } from "../core/context.ts";
import { type Identity, identityKey, readIdentity, referenceKey } from "./identity.ts";
import {
  CAPA_VERSION, type IdentityReference, INFRASTRUCTURE_GROUP, ROLE_IDENTITY, STATIC_IDENTITY,
} from "../core/capa-kinds.ts";
import type { Inventory } from "../core/inventory.ts";
import type { JsonObject } from "../formats/json.ts";
import { apiVersionOf, type EventSubject, type ObjectID } from "../formats/object-meta.ts";
import type { ObjectName } from "../core/repair.ts";
import { NameIndex } from "../formats/nearest.ts";
import { SetIndex } from "../core/set-index.ts";
import type { StoreKey } from "../core/store.ts";

/** The CAPA identities of an inventory, indexed by name, source and Secret. */
export class IdentityStore {
  readonly #runtime: Runtime;
  readonly #observers: ((identity: Identity) => void)[] = [];
  readonly #byKey = new Map<string, Identity>();
  readonly #bySource = new SetIndex<Identity>();
  readonly #bySecret = new SetIndex<Identity>();
  #names: ReadonlyMap<string, NameIndex> | null = null;

  constructor({ runtime }: { readonly runtime: Runtime }) {
    this.#runtime = runtime;
  }

  /** The observer receives each identity after it was stored or removed. */
  observe(observer: (identity: Identity) => void): void {
    this.#observers.push(observer);
  }

  #notify(identity: Identity): void {
    for (const observer of this.#observers) observer(identity);
  }

  get size(): number {
    return this.#byKey.size;
  }

  put(object: JsonObject): void {
    const identity = readIdentity(object, this.#runtime);
    if (identity === null || identity.name === "") return;
    this.#delete(this.get(identity, identity.namespace));
    this.#byKey.set(identityKey(identity), identity);
    this.#index("add", identity);
    this.#notify(identity);
  }

  remove({ kind, name, namespace }: Omit<ObjectID, "group">): void {
    const identity = this.get({ kind, name }, namespace);
    this.#delete(identity);
    if (identity !== null) this.#notify(identity);
  }

  #delete(identity: Identity | null): void {
    if (identity === null) return;
    this.#byKey.delete(identityKey(identity));
    this.#index("delete", identity);
  }

  #index(method: "add" | "delete", identity: Identity): void {
    this.#names = null;
    if (identity.kind === ROLE_IDENTITY && identity.source !== null) {
      this.#bySource[method](referenceKey(identity.source, ""), identity);
    }
    if (identity.kind === STATIC_IDENTITY) this.#bySecret[method](identity.secretName ?? "", identity);
  }

  /**
   * Returns the identity to which an object in the namespace refers, or null if the identity does not exist. Only an
   * AWSServiceAccountIdentity is looked up in the namespace.
   */
  get(reference: IdentityReference, namespace: string): Identity | null {
    return this.#byKey.get(referenceKey(reference, namespace)) ?? null;
  }

  /** Returns the names of the kind that the name misspells. Indexes all names at the first call after a change. */
  misspelledBy({ kind, name }: IdentityReference): readonly string[] {
    this.#names ??= new Map(Array.from(
      Map.groupBy(this.all(), (identity) => identity.kind),
      ([ofKind, identities]) => [ofKind, new NameIndex(identities.map((identity) => identity.name))],
    ));
    return this.#names.get(kind)?.misspelled(name) ?? [];
  }

  /** Returns the role identities whose `sourceIdentityRef` names the identity. */
  withSource(reference: IdentityReference): ReadonlySet<Identity> {
    return this.#bySource.get(referenceKey(reference, ""));
  }

  /** Returns the static identities that read the Secret. */
  withSecret(name: string): ReadonlySet<Identity> {
    return this.#bySecret.get(name);
  }

  all(): Iterable<Identity> {
    return this.#byKey.values();
  }
}

/** The store of CAPA identities. */
export const IDENTITIES: StoreKey<IdentityStore> = {
  name: "identities", open: ({ context }) => new IdentityStore(context),
};

/** Returns the name of an identity in an edit. Only an AWSServiceAccountIdentity has a namespace. */
export function identityObjectName(
  { kind, name, namespace }: Pick<Identity, "namespace"> & IdentityReference,
): ObjectName {
  const apiVersion = `${INFRASTRUCTURE_GROUP}/${CAPA_VERSION}`;
  return { apiVersion, kind, namespace: namespace === "" ? null : namespace, name };
}

/** Returns the subject of an Event in the storage version of the kind. */
export function identitySubject(
  { kind, namespace, name, uid }: Pick<Identity, "kind" | "namespace" | "name" | "uid">,
  { kinds }: Pick<Inventory, "kinds">,
): EventSubject {
  const type = kinds.typeOf({ group: INFRASTRUCTURE_GROUP, version: CAPA_VERSION, kind });
  return { apiVersion: apiVersionOf(type), kind, namespace, name, uid };
}
