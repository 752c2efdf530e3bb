import { objectExcess } from "./limits.ts";
import { field, isJsonObject, type JsonObject, stringAt, stringMap } from "../formats/json.ts";
import type { Labels } from "../formats/label-selector.ts";
import { NAME_LABEL } from "../formats/names.ts";
import type { ObjectID } from "../formats/object-meta.ts";
import { NameIndex } from "../formats/nearest.ts";
import { labelKey, SetIndex } from "./set-index.ts";
import type { InventoryContext, StoreKey } from "./store.ts";

interface Namespace {
  readonly labels: Labels;
  readonly annotations: ReadonlyMap<string, string>;
  readonly isTerminating: boolean;
}

/** The keys of the labels of namespaces, and the values of each key. */
interface LabelNames {
  readonly keys: NameIndex;
  readonly values: ReadonlyMap<string, NameIndex>;
}

type NamespaceName = Pick<ObjectID, "name">;

/** The Namespaces of an inventory, indexed by name and label. */
export class NamespaceStore {
  readonly #isForGrants: boolean;
  readonly #observers: ((name: string) => void)[] = [];
  /** The namespaces that were dropped because they exceed a limit. */
  readonly #oversized = new Set<string>();
  readonly #namespaces = new Map<string, Namespace>();
  readonly #byLabel = new SetIndex<string>();
  #revision = 0;
  #index: NameIndex | null = null;
  #labels: LabelNames | null = null;

  constructor({ isForGrants = false }: Pick<InventoryContext, "isForGrants"> = {}) {
    this.#isForGrants = isForGrants;
  }

  /** The observer receives the name of each namespace after it was stored or removed. */
  observe(observer: (name: string) => void): void {
    this.#observers.push(observer);
  }

  get size(): number {
    return this.#namespaces.size;
  }

  /** A number that changes with each change of a namespace. */
  get revision(): number {
    return this.#revision;
  }

  put(object: JsonObject, { name }: NamespaceName): void {
    this.#delete(name);
    this.#add(object, name);
    for (const observer of this.#observers) observer(name);
  }

  remove({ name }: NamespaceName): void {
    this.#delete(name);
    for (const observer of this.#observers) observer(name);
  }

  #add(object: JsonObject, name: string): void {
    this.#index = this.#labels = null;
    if (this.#isForGrants && objectExcess(object) !== null) {
      this.#oversized.add(name);
      return;
    }
    const metadata = field(object, "metadata");
    const labelsOf = field(metadata, "labels");
    const labels = stringMap({ ...(isJsonObject(labelsOf) && labelsOf), [NAME_LABEL]: name });
    const annotations = stringMap(field(metadata, "annotations"));
    const isTerminating = (stringAt(object, "metadata", "deletionTimestamp") ?? "") !== ""
      || stringAt(object, "status", "phase") === "Terminating";
    const stored = annotations.size === 0 ? NO_ANNOTATIONS : annotations;
    this.#namespaces.set(name, { labels, annotations: stored, isTerminating });
    this.#indexLabels("add", name, labels);
  }

  #delete(name: string): void {
    this.#revision += 1;
    this.#index = this.#labels = null;
    this.#oversized.delete(name);
    const namespace = this.#namespaces.get(name);
    if (namespace === undefined) return;
    this.#namespaces.delete(name);
    this.#indexLabels("delete", name, namespace.labels);
  }

  /** Indexes the labels, except the name label, by which `withLabel` finds its only namespace without an index. */
  #indexLabels(method: "add" | "delete", name: string, labels: Labels): void {
    for (const [key, value] of labels) if (key !== NAME_LABEL) this.#byLabel[method](labelKey(key, value), name);
  }

  has(name: string): boolean {
    return this.#namespaces.has(name);
  }

  /**
   * Whether the namespace exists but was dropped, because it exceeds a limit. For such a namespace, `has` returns
   * false.
   */
  isOversized(name: string): boolean {
    return this.#oversized.has(name);
  }

  get names(): Iterable<string> {
    return this.#namespaces.keys();
  }

  /** Returns the namespaces that the name misspells. Indexes all names at the first call after a change. */
  misspelledBy(name: string): readonly string[] {
    this.#index ??= new NameIndex(this.names);
    return this.#index.misspelled(name);
  }

  /**
   * Returns the values that the value misspells, or the keys that the key misspells if no namespace has a label with
   * this key. Returns no names if a namespace has the label.
   */
  misspelledLabel(key: string, value: string): { readonly part: "key" | "value"; readonly nearest: readonly string[] } {
    this.#labels ??= this.#labelsOfAll();
    if (this.countWithLabel(key, value) > 0) return { part: "value", nearest: [] };
    const values = this.#labels.values.get(key);
    if (values !== undefined) return { part: "value", nearest: values.misspelled(value) };
    return { part: "key", nearest: this.#labels.keys.misspelled(key) };
  }

  #labelsOfAll(): LabelNames {
    const values = new Map<string, Set<string>>();
    for (const { labels } of this.#namespaces.values()) {
      for (const [key, value] of labels) values.set(key, (values.get(key) ?? new Set()).add(value));
    }
    return {
      keys: new NameIndex(values.keys()),
      values: new Map(Array.from(values, ([key, names]) => [key, new NameIndex(names)])),
    };
  }

  /**
   * Returns the labels of a namespace. For an unknown namespace, returns only the name label, which the API server sets
   * on every namespace.
   */
  labelsOf(name: string): Labels {
    return this.#namespaces.get(name)?.labels ?? new Map([[NAME_LABEL, name]]);
  }

  annotationsOf(name: string): ReadonlyMap<string, string> {
    return this.#namespaces.get(name)?.annotations ?? NO_ANNOTATIONS;
  }

  /** Whether the namespace is being deleted. Kubernetes also deletes every object in such a namespace. */
  isTerminating(name: string): boolean {
    return this.#namespaces.get(name)?.isTerminating === true;
  }

  /** Returns the known namespaces that have the label. */
  withLabel(key: string, value: string): ReadonlySet<string> {
    if (key === NAME_LABEL) return new Set(this.has(value) ? [value] : []);
    return this.#byLabel.get(labelKey(key, value));
  }

  /** Returns the number of known namespaces that have the label. */
  countWithLabel(key: string, value: string): number {
    return key === NAME_LABEL ? Number(this.has(value)) : this.#byLabel.count(labelKey(key, value));
  }
}

/** The store of Namespaces. */
export const NAMESPACES: StoreKey<NamespaceStore> = {
  name: "namespaces", open: ({ context }) => new NamespaceStore(context),
};

const NO_ANNOTATIONS: ReadonlyMap<string, string> = new Map();
