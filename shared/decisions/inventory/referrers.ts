import type { Runtime } from "../context.ts";
import { identityKey, type IdentityReference } from "../identities/identity.ts";
import { readReferrer, type Referrer, referenceOf } from "../identities/referrer.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import { SetIndex } from "./set-index.ts";

/** The objects of an inventory that refer to CAPA identities, indexed by namespace, identity and Cluster. */
export class ReferrerStore {
  readonly #runtime: Runtime;
  readonly #byKey = new Map<string, Referrer>();
  readonly #byNamespace = new SetIndex<Referrer>();
  readonly #byIdentity = new SetIndex<Referrer>();

  constructor({ runtime }: { readonly runtime: Runtime }) {
    this.#runtime = runtime;
  }

  get size(): number {
    return this.#byKey.size;
  }

  put(object: JsonObject): void {
    const referrer = readReferrer(object);
    if (referrer === null || referrer.name === null) return;
    const { group, kind, namespace, name } = referrer;
    this.remove(group, kind, namespace, name);
    this.#byKey.set(keyOf(group, kind, namespace, name), referrer);
    this.#byNamespace.add(namespace, referrer);
    const reference = referenceOf(referrer, this.#runtime);
    if (reference !== null) this.#byIdentity.add(identityKey(reference, namespace), referrer);
  }

  remove(group: string, kind: string, namespace: string, name: string): void {
    const key = keyOf(group, kind, namespace, name);
    const referrer = this.#byKey.get(key);
    if (referrer === undefined) return;
    this.#byKey.delete(key);
    this.#byNamespace.delete(namespace, referrer);
    const reference = referenceOf(referrer, this.#runtime);
    if (reference !== null) this.#byIdentity.delete(identityKey(reference, namespace), referrer);
  }

  /** Returns the object that has the given group, kind, namespace and name, or null if it does not exist. */
  get({ group, kind, namespace, name }: Pick<Referrer, "group" | "kind" | "namespace" | "name">): Referrer | null {
    return this.#byKey.get(keyOf(group, kind, namespace, name ?? "")) ?? null;
  }

  inNamespace(namespace: string): ReadonlySet<Referrer> {
    return this.#byNamespace.get(namespace);
  }

  /**
   * Returns the objects that refer to the identity, including the objects whose missing reference stands for the
   * identity. `namespace` is the namespace of an AWSServiceAccountIdentity.
   */
  ofIdentity(reference: IdentityReference, namespace = ""): ReadonlySet<Referrer> {
    return this.#byIdentity.get(identityKey(reference, namespace));
  }

  all(): Iterable<Referrer> {
    return this.#byKey.values();
  }
}

/** Encodes the parts as JSON, because the names in a manifest can contain any character. */
function keyOf(...parts: readonly [group: string, kind: string, namespace: string, name: string]): string {
  return JSON.stringify(parts);
}
