import { objectExcess } from "./limits.ts";
import { field, isJsonObject, type JsonObject, stringAt, stringMap } from "../formats/json.ts";
import type { Labels } from "../formats/label-selector.ts";
import { NAME_LABEL } from "../formats/names.ts";
import type { ObjectID } from "../formats/object-meta.ts";
import { NameIndex } from "../formats/nearest.ts";
import { LabelIndex, type LabelNames } from "./label-index.ts";
import type { InventoryContext, StoreKey } from "./store.ts";

interface Namespace {
  readonly labels: Labels;
  readonly annotations: ReadonlyMap<string, string>;
  readonly isTerminating: boolean;
}

type NamespaceName = Pick<ObjectID, "name">;

/** The Namespaces of an inventory, indexed by name and label. */
export class NamespaceStore {
  readonly #isForGrants: boolean;
  readonly #observers: ((name: string) => void)[] = [];
  /** The namespaces that were dropped because they exceed a limit. */
  readonly #oversized = new Set<string>();
  readonly #namespaces = new Map<string, Namespace>();
  readonly #labels = new LabelIndex<string>();
  #revision = 0;
  #index: NameIndex | null = null;

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
    this.#index = null;
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
    this.#index = null;
    this.#oversized.delete(name);
    const namespace = this.#namespaces.get(name);
    if (namespace === undefined) return;
    this.#namespaces.delete(name);
    this.#indexLabels("delete", name, namespace.labels);
  }

  #indexLabels(method: "add" | "delete", name: string, labels: Labels): void {
    for (const [key, value] of labels) this.#labels[method](key, value, name);
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

  /** The keys and values of the labels of all namespaces. */
  get labels(): LabelNames {
    return this.#labels;
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
    return this.#labels.get(key, value);
  }

  /** Returns the number of known namespaces that have the label. */
  countWithLabel(key: string, value: string): number {
    return this.#labels.count(key, value);
  }
}

/** The store of Namespaces. */
export const NAMESPACES: StoreKey<NamespaceStore> = {
  name: "namespaces", open: ({ context }) => new NamespaceStore(context),
};

const NO_ANNOTATIONS: ReadonlyMap<string, string> = new Map();
