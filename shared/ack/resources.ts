import { annotatedKey, type AnnotatedStore } from "../core/annotated-objects.ts";
import type { StoreKey } from "../core/store.ts";
import { type ACKResource, resourceOf } from "../core/ack-resource.ts";
import type { JsonObject } from "../formats/json.ts";
import type { ObjectID } from "../formats/object-meta.ts";
import { LabelIndex, type LabelNames } from "../core/label-index.ts";
import { SetIndex } from "../core/set-index.ts";

/**
 * The maximum number of values in a pool. A pool that is full is cleared. Even a large cluster has fewer distinct
 * values than this maximum.
 */
const MAX_POOL_SIZE = 65_536;

/**
 * Stores equal strings and maps only once. `JSON.parse` creates a separate copy of the same labels, roles and regions
 * for each object.
 */
export class InternPool {
  readonly #strings = new Map<string, string>();
  readonly #maps = new Map<string, ReadonlyMap<string, string>>();

  string(value: string): string {
    return getOrCreate(this.#strings, value, () => value);
  }

  map(value: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
    const create = (): ReadonlyMap<string, string> => (
      new Map(Array.from(value, ([key, text]) => [this.string(key), this.string(text)]))
    );
    return getOrCreate(this.#maps, JSON.stringify([...value]), create);
  }
}

function getOrCreate<Value>(pool: Map<string, Value>, key: string, create: () => Value): Value {
  const found = pool.get(key);
  if (found !== undefined) return found;
  if (pool.size === MAX_POOL_SIZE) pool.clear();
  const created = create();
  pool.set(key, created);
  return created;
}

type ResourceName = Pick<ACKResource, "group" | "kind" | "namespace" | "name">;

/**
 * The ACK resources of an inventory, indexed by namespace, group, label and account. Stores only the fields that affect
 * decisions.
 */
export class ResourceStore implements AnnotatedStore<ACKResource> {
  readonly #pool = new InternPool();
  readonly #byKey = new Map<string, ACKResource>();
  readonly #byNamespace = new SetIndex<ACKResource>();
  readonly #byGroup = new SetIndex<ACKResource>();
  readonly #labels = new LabelIndex<ACKResource>();
  readonly #byAccount = new SetIndex<ACKResource>();

  get size(): number {
    return this.#byKey.size;
  }

  put(object: JsonObject): void {
    const resource = this.#intern(resourceOf(object));
    const { group, kind, namespace, name } = resource;
    if (name === null) return;
    this.remove({ group, kind, namespace, name });
    this.#byKey.set(annotatedKey(resource), resource);
    this.#index("add", resource);
  }

  #index(method: "add" | "delete", resource: ACKResource): void {
    const { group, labels, namespace, status: { ownerAccountID } } = resource;
    this.#byNamespace[method](namespace, resource);
    this.#byGroup[method](group, resource);
    for (const [label, value] of labels) this.#labels[method](label, value, resource);
    if (ownerAccountID !== null) this.#byAccount[method](ownerAccountID, resource);
  }

  /**
   * Returns a copy that shares equal strings and maps with other resources, to save memory. A cluster may have hundreds
   * of thousands of resources.
   */
  #intern(resource: ACKResource): ACKResource {
    const pool = this.#pool;
    const { group, version, kind, namespace, labels, annotations, status } = resource;
    const optional = (value: string | null): string | null => (value === null ? null : pool.string(value));
    return {
      ...resource,
      group: pool.string(group),
      version: pool.string(version),
      kind: pool.string(kind),
      namespace: pool.string(namespace),
      labels: pool.map(labels),
      annotations: pool.map(annotations),
      status: { ...status, ownerAccountID: optional(status.ownerAccountID), region: optional(status.region) },
    };
  }

  remove({ group, kind, namespace, name }: ObjectID): void {
    const key = annotatedKey({ group, kind, namespace, name });
    const resource = this.#byKey.get(key);
    if (resource === undefined) return;
    this.#byKey.delete(key);
    this.#index("delete", resource);
  }

  /** Returns the resource that has the given group, kind, namespace and name, or null if no such resource exists. */
  get(name: ResourceName): ACKResource | null {
    return this.#byKey.get(annotatedKey(name)) ?? null;
  }

  /** Returns the resource that has the key of `annotatedKey`, or null if no such resource exists. */
  withKey(key: string): ACKResource | null {
    return this.#byKey.get(key) ?? null;
  }

  inNamespace(namespace: string): ReadonlySet<ACKResource> {
    return this.#byNamespace.get(namespace);
  }

  /** Returns the resources whose status names the account as their owner. */
  ofAccount(accountID: string): ReadonlySet<ACKResource> {
    return this.#byAccount.get(accountID);
  }

  ofGroup(group: string): ReadonlySet<ACKResource> {
    return this.#byGroup.get(group);
  }

  withLabel(label: string, value: string): ReadonlySet<ACKResource> {
    return this.#labels.get(label, value);
  }

  /** The keys and values of the labels of all resources. */
  get labels(): LabelNames {
    return this.#labels;
  }

  /** Returns one set of resources for each group. */
  groups(): readonly ReadonlySet<ACKResource>[] {
    return [...this.#byGroup.sets()];
  }

  all(): Iterable<ACKResource> {
    return this.#byKey.values();
  }
}

/** The store of ACK resources. */
export const RESOURCES: StoreKey<ResourceStore> = {
  name: "resources", isPartial: true, open: () => new ResourceStore(),
};
