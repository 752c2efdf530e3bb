import { type ACKResource, resourceOf } from "../kubernetes/ack-resource.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import { isACKGroup } from "../kubernetes/kinds.ts";
import { labelKey, SetIndex } from "./set-index.ts";

/** More than a large cluster has, and few enough to be forgotten together when there are more. */
const MOST = 65_536;

/**
 * Gives equal texts and equal maps as one. `JSON.parse` makes each anew, and the same labels, roles and regions stand in thousands of objects.
 */
export class Interned {
  readonly #texts = new Map<string, string>();
  readonly #maps = new Map<string, ReadonlyMap<string, string>>();

  text(value: string): string {
    return one(this.#texts, value, () => value);
  }

  map(value: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
    return one(this.#maps, JSON.stringify([...value]), () => new Map(Array.from(value, ([key, text]) => [this.text(key), this.text(text)])));
  }
}

function one<Value>(known: Map<string, Value>, key: string, make: () => Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  if (known.size === MOST) known.clear();
  const made = make();
  known.set(key, made);
  return made;
}

/** The ACK resources of an inventory, as much of each as decisions read: found by namespace, group or label, never by a scan. */
export class ResourceStore {
  readonly #interned = new Interned();
  readonly #byKey = new Map<string, ACKResource>();
  readonly #byNamespace = new SetIndex<ACKResource>();
  readonly #byGroup = new SetIndex<ACKResource>();
  readonly #byLabel = new SetIndex<ACKResource>();
  readonly #byAccount = new SetIndex<ACKResource>();

  get size(): number {
    return this.#byKey.size;
  }

  put(object: JsonObject): void {
    const resource = this.#compact(resourceOf(object));
    if (!isACKGroup(resource.group) || resource.name === null) return;
    this.remove(resource.group, resource.kind, resource.namespace, resource.name);
    this.#byKey.set(keyOf(resource.group, resource.kind, resource.namespace, resource.name), resource);
    this.#byNamespace.add(resource.namespace, resource);
    this.#byGroup.add(resource.group, resource);
    for (const [label, value] of resource.labels) this.#byLabel.add(labelKey(label, value), resource);
    if (resource.status.ownerAccountID !== null) this.#byAccount.add(resource.status.ownerAccountID, resource);
  }

  /** The same, its texts and maps shared with those of other resources: there may be some hundred thousand. */
  #compact(resource: ACKResource): ACKResource {
    const interned = this.#interned;
    const { group, version, kind, namespace, labels, annotations, status } = resource;
    const text = (value: string | null): string | null => (value === null ? null : interned.text(value));
    return {
      ...resource,
      group: interned.text(group),
      version: interned.text(version),
      kind: interned.text(kind),
      namespace: interned.text(namespace),
      labels: interned.map(labels),
      annotations: interned.map(annotations),
      status: { ...status, ownerAccountID: text(status.ownerAccountID), region: text(status.region) },
    };
  }

  remove(group: string, kind: string, namespace: string, name: string): void {
    const key = keyOf(group, kind, namespace, name);
    const resource = this.#byKey.get(key);
    if (resource === undefined) return;
    this.#byKey.delete(key);
    this.#byNamespace.delete(namespace, resource);
    this.#byGroup.delete(group, resource);
    for (const [label, value] of resource.labels) this.#byLabel.delete(labelKey(label, value), resource);
    if (resource.status.ownerAccountID !== null) this.#byAccount.delete(resource.status.ownerAccountID, resource);
  }

  /** The resource of that group, kind, namespace and name, or null. */
  get({ group, kind, namespace, name }: Pick<ACKResource, "group" | "kind" | "namespace" | "name">): ACKResource | null {
    return this.#byKey.get(keyOf(group, kind, namespace, name ?? "")) ?? null;
  }

  inNamespace(namespace: string): ReadonlySet<ACKResource> {
    return this.#byNamespace.get(namespace);
  }

  /** Those that exist in the account, as ACK recorded it. */
  ofAccount(accountID: string): ReadonlySet<ACKResource> {
    return this.#byAccount.get(accountID);
  }

  ofGroup(group: string): ReadonlySet<ACKResource> {
    return this.#byGroup.get(group);
  }

  withLabel(label: string, value: string): ReadonlySet<ACKResource> {
    return this.#byLabel.get(labelKey(label, value));
  }

  /** Every group's. */
  groups(): readonly ReadonlySet<ACKResource>[] {
    return [...this.#byGroup.sets()];
  }

  all(): Iterable<ACKResource> {
    return this.#byKey.values();
  }
}

function keyOf(group: string, kind: string, namespace: string, name: string): string {
  return `${group}/${kind}/${namespace}/${name}`;
}
