import { carmAnnotations, usesCARM } from "../carm/maps.ts";
import { objectExcess } from "../checks/any-kind/limits.ts";
import type { Runtime } from "../context.ts";
import { type JsonObject, stringAt } from "../kubernetes/json.ts";
import type { Labels } from "../kubernetes/label-selector.ts";
import { NAME_LABEL } from "../kubernetes/names.ts";
import { objectMeta } from "../kubernetes/object-meta.ts";
import { labelKey, SetIndex } from "./set-index.ts";

interface Namespace {
  readonly labels: Labels;
  readonly annotations: ReadonlyMap<string, string>;
  readonly isTerminating: boolean;
}

interface NamespaceContext {
  readonly runtime: Runtime;
  readonly isForGrants?: boolean;
}

/** The Namespaces of an inventory, indexed by name and label. */
export class NamespaceStore {
  readonly #context: NamespaceContext;
  /** The namespaces that were dropped because they exceed a limit. */
  readonly #oversized = new Set<string>();
  readonly #namespaces = new Map<string, Namespace>();
  readonly #byLabel = new SetIndex<string>();
  readonly #usingCARM = new Set<string>();

  constructor(context: NamespaceContext) {
    this.#context = context;
  }

  get size(): number {
    return this.#namespaces.size;
  }

  put(object: JsonObject, name: string): void {
    this.remove(name);
    if (this.#context.isForGrants === true && objectExcess(object) !== null) {
      this.#oversized.add(name);
      return;
    }
    const meta = objectMeta(object);
    const labels = new Map([...meta.labels, [NAME_LABEL, name]]);
    const isTerminating = (stringAt(object, "metadata", "deletionTimestamp") ?? "") !== ""
      || stringAt(object, "status", "phase") === "Terminating";
    this.#namespaces.set(name, { labels, annotations: meta.annotations, isTerminating });
    for (const [key, value] of labels) this.#byLabel.add(labelKey(key, value), name);
    if (usesCARM(carmAnnotations(name, meta.annotations), this.#context)) this.#usingCARM.add(name);
  }

  remove(name: string): void {
    this.#oversized.delete(name);
    const namespace = this.#namespaces.get(name);
    if (namespace === undefined) return;
    this.#namespaces.delete(name);
    for (const [key, value] of namespace.labels) this.#byLabel.delete(labelKey(key, value), name);
    this.#usingCARM.delete(name);
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
    return this.#byLabel.get(labelKey(key, value));
  }

  /** The namespaces whose annotations name an account or a team for CARM. */
  get usingCARM(): ReadonlySet<string> {
    return this.#usingCARM;
  }
}

const NO_ANNOTATIONS: ReadonlyMap<string, string> = new Map();
