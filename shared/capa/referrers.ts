import type { IdentityReference } from "../core/capa-kinds.ts";
import { annotatedKey, type AnnotatedStore } from "../core/annotated-objects.ts";
import type { Runtime } from "../core/context.ts";
import { accountText, type Identity, referenceKey } from "./identity.ts";
import {
  clusterOf, credentialsOf, readReferrer, referenceOf, type Referrer, taggedClusterName,
} from "./referrer.ts";
import type { JsonObject } from "../formats/json.ts";
import type { ObjectID } from "../formats/object-meta.ts";
import { GroupIndex, SetIndex } from "../core/set-index.ts";
import { IDENTITIES, type IdentityStore } from "./identities.ts";
import type { StoreKey } from "../core/store.ts";

/** The objects of an inventory that refer to CAPA identities, indexed by namespace, identity, Cluster and account. */
export class ReferrerStore implements AnnotatedStore<Referrer> {
  readonly #runtime: Runtime;
  readonly #identities: Pick<IdentityStore, "get">;
  readonly #byKey = new Map<string, Referrer>();
  /** The `accountText` of the identity of each referrer; null if it is unknown. */
  readonly #accounts = new Map<Referrer, string | null>();
  readonly #byNamespace = new SetIndex<Referrer>();
  readonly #byIdentity = new SetIndex<Referrer>();
  /** By namespace and name of the Cluster, then by identity. */
  readonly #byCluster = new GroupIndex<Referrer>();
  /** By name of the Cluster and account, then by namespace. */
  readonly #byTag = new GroupIndex<Referrer>();

  constructor({ runtime }: { readonly runtime: Runtime }, identities: Pick<IdentityStore, "get" | "observe">) {
    this.#runtime = runtime;
    this.#identities = identities;
    identities.observe((identity) => this.#updateAccounts(identity));
  }

  get size(): number {
    return this.#byKey.size;
  }

  put(object: JsonObject): void {
    const referrer = readReferrer(object);
    if (referrer === null || referrer.name === null) return;
    const { group, kind, namespace, name } = referrer;
    this.remove({ group, kind, namespace, name });
    this.#byKey.set(annotatedKey(referrer), referrer);
    this.#index("add", referrer);
    this.#setAccount(referrer, this.#accountOf(referrer));
  }

  #index(method: "add" | "delete", referrer: Referrer): void {
    const { namespace } = referrer;
    this.#byNamespace[method](namespace, referrer);
    const reference = referenceOf(referrer, this.#runtime);
    if (reference !== null) this.#byIdentity[method](referenceKey(reference, namespace), referrer);
    const cluster = clusterOf(referrer);
    if (cluster !== null) this.#byCluster[method](keyOf(namespace, cluster), credentialsKey(referrer), referrer);
  }

  remove({ group, kind, namespace, name }: ObjectID): void {
    const key = annotatedKey({ group, kind, namespace, name });
    const referrer = this.#byKey.get(key);
    if (referrer === undefined) return;
    this.#byKey.delete(key);
    this.#index("delete", referrer);
    this.#setAccount(referrer, null);
    this.#accounts.delete(referrer);
  }

  /** Updates the index by account after a change of an identity, in time proportional to the users of the identity. */
  #updateAccounts(identity: Identity): void {
    for (const referrer of this.ofIdentity(identity, identity.namespace)) {
      const account = this.#accountOf(referrer);
      // Every user of the identity has the same account.
      if (account === this.#accounts.get(referrer)) return;
      this.#setAccount(referrer, account);
    }
  }

  /** Returns the object that has the given group, kind, namespace and name, or null if it does not exist. */
  get(name: ReferrerName): Referrer | null {
    return this.#byKey.get(annotatedKey(name)) ?? null;
  }

  /** Returns the object that has the key of `annotatedKey`, or null if no such object exists. */
  withKey(key: string): Referrer | null {
    return this.#byKey.get(key) ?? null;
  }

  inNamespace(namespace: string): ReadonlySet<Referrer> {
    return this.#byNamespace.get(namespace);
  }

  /**
   * Returns the objects that refer to the identity, including the objects whose missing reference stands for the
   * identity. `namespace` is the namespace of an AWSServiceAccountIdentity.
   */
  ofIdentity(reference: IdentityReference, namespace = ""): ReadonlySet<Referrer> {
    return this.#byIdentity.get(referenceKey(reference, namespace));
  }

  /** Returns the objects of a Cluster, by the identity whose credentials they use. Omits templates. */
  ofCluster(namespace: string, clusterName: string): Iterable<ReadonlySet<Referrer>> {
    return this.#byCluster.get(keyOf(namespace, clusterName)).sets();
  }

  /** Returns the namespaces that contain a Cluster of this name in the account. `account` is an `accountText`. */
  namespacesOfCluster(clusterName: string, account: string): Iterable<string> {
    return this.#byTag.get(keyOf(clusterName, account)).keys();
  }

  all(): Iterable<Referrer> {
    return this.#byKey.values();
  }

  #accountOf(referrer: Referrer): string | null {
    const reference = referenceOf(referrer, this.#runtime);
    return accountText(reference, reference === null ? null : this.#identities.get(reference, referrer.namespace));
  }

  #setAccount(referrer: Referrer, account: string | null): void {
    const before = this.#accounts.get(referrer);
    this.#accounts.set(referrer, account);
    const name = taggedClusterName(referrer);
    if (name === null) return;
    if (typeof before === "string") this.#byTag.delete(keyOf(name, before), referrer.namespace, referrer);
    if (account !== null) this.#byTag.add(keyOf(name, account), referrer.namespace, referrer);
  }
}

/** The store of the objects that refer to CAPA identities. */
export const REFERRERS: StoreKey<ReferrerStore> = {
  name: "referrers", open: (stores) => new ReferrerStore(stores.context, stores.of(IDENTITIES)),
};

function credentialsKey(referrer: Referrer): string {
  return referenceKey(credentialsOf(referrer), referrer.namespace);
}

/** Encodes the parts as JSON, because the names in a manifest can contain any character. */
function keyOf(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}

type ReferrerName = Pick<Referrer, "group" | "kind" | "namespace" | "name">;
