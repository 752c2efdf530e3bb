import { ACCOUNT_MAP, TEAM_MAP } from "../annotation-keys.ts";
import { carmAnnotations, namesOwner } from "../carm/annotations.ts";
import type { Origin, Runtime } from "../context.ts";
import { field, type JsonObject, stringAt, stringMap } from "../kubernetes/json.ts";
import { isSelector, SELECTOR_GROUP, SELECTOR_KIND } from "../kubernetes/kinds.ts";
import type { Labels } from "../kubernetes/label-selector.ts";
import { NAME_LABEL } from "../kubernetes/names.ts";
import { objectMeta } from "../kubernetes/object-meta.ts";
import type { KnownFields } from "../kubernetes/shape.ts";
import { type DecodedSelector, decodeSelector } from "../selectors/decode.ts";
import type { EffectiveSelector } from "../selectors/effective.ts";
import type { TypeEntry } from "../selectors/type-entry.ts";
import { KindStore, type KindVersions } from "./kinds.ts";
import { ResourceStore } from "./resources.ts";
import { SelectorIndex } from "./selector-index.ts";
import { SetIndex } from "./set-index.ts";

export type InventoryChange =
  | { readonly type: "put"; readonly object: JsonObject }
  | { readonly type: "remove"; readonly group: string; readonly kind: string; readonly namespace: string; readonly name: string }
  /** Objects that the cluster may have and that are not known yet, and that they are now: `Queue.sqs.services.k8s.aws`. */
  | { readonly type: "unlisted" | "listed"; readonly sort: InventorySort; readonly what: string };

/** What an inventory holds beside selectors, which it always does. */
export type InventorySort = "namespaces" | "kinds" | "resources" | "config maps";

export interface InventoryContext {
  readonly runtime: Runtime;
  readonly origin: Origin;
  /** What the cluster has and the source does not read. */
  readonly unread?: readonly InventorySort[];
}

interface Namespace {
  readonly labels: Labels;
  readonly annotations: ReadonlyMap<string, string>;
  readonly terminating: boolean;
}

/**
 * All that the decisions know beside the object that they judge. It changes only through `apply`, a change at a time, and
 * nothing is rebuilt for one.
 */
export class Inventory {
  readonly #context: InventoryContext;
  readonly #selectors = new Map<string, EffectiveSelector>();
  readonly #malformed = new Map<string, DecodedSelector>();
  readonly #faulty = new Map<string, DecodedSelector>();
  readonly #namespaces = new Map<string, Namespace>();
  readonly #kinds = new KindStore();
  readonly #index = new SelectorIndex();
  readonly #byRole = new SetIndex<EffectiveSelector>();
  readonly #faultyByRole = new SetIndex<DecodedSelector>();
  readonly #namingOwners = new Set<string>();
  readonly #configMaps = new Map<string, ReadonlyMap<string, string>>();
  readonly #resources = new ResourceStore();
  readonly #unlisted = new SetIndex<string>();
  #readingNamespaceLabels = 0;

  constructor(context: InventoryContext) {
    this.#context = context;
  }

  /** Takes IAMRoleSelectors, Namespaces, CustomResourceDefinitions, the CARM ConfigMaps and ACK resources; others change nothing. */
  apply(changes: readonly InventoryChange[]): void {
    for (const change of changes) {
      if (change.type === "put") this.#put(change.object);
      else if (change.type === "remove") this.#remove(change);
      else if (change.type === "unlisted") this.#unlisted.add(change.sort, change.what);
      else this.#unlisted.delete(change.sort, change.what);
    }
  }

  get resources(): Omit<ResourceStore, "put" | "remove"> {
    return this.#resources;
  }

  /** The data of a CARM ConfigMap, or null when there is none of that name. */
  configMap(namespace: string, name: string): ReadonlyMap<string, string> | null {
    return this.#configMaps.get(`${namespace}/${name}`) ?? null;
  }

  /** The namespaces that hold a CARM ConfigMap of that name. */
  *namespacesOfConfigMap(name: string): Iterable<string> {
    for (const key of this.#configMaps.keys()) if (key.endsWith(`/${name}`)) yield key.slice(0, -name.length - 1);
  }

  /** The selectors that take part, by name. */
  get selectors(): ReadonlyMap<string, EffectiveSelector> {
    return this.#selectors;
  }

  /** The selectors that take no part, by name, with what is wrong. */
  get malformed(): ReadonlyMap<string, DecodedSelector> {
    return this.#malformed;
  }

  /** Every selector with a fault that a check denies, those that take part all the same included. */
  get faulty(): ReadonlyMap<string, DecodedSelector> {
    return this.#faulty;
  }

  /**
   * Whether it holds objects of a sort at all. What a cluster does not have is known; what manifests leave out is not. Of resources
   * some are known while kinds are `unlisted`, so that what they show is seen; that they show nothing is then no proof.
   */
  knows(sort: InventorySort): boolean {
    if (this.#context.origin === "cluster") return !this.#lacks(sort);
    const held = { "namespaces": this.#namespaces, "kinds": this.#kinds, "resources": this.#resources, "config maps": this.#configMaps };
    return held[sort].size > 0;
  }

  /** The objects of a sort that the cluster may have and that have not been listed: an answer of "none" is not known to hold for them. */
  unlisted(sort: InventorySort): ReadonlySet<string> {
    return this.#unlisted.get(sort);
  }

  #lacks(sort: InventorySort): boolean {
    return this.#context.unread?.includes(sort) === true || (sort !== "resources" && this.unlisted(sort).size > 0);
  }

  hasNamespace(name: string): boolean {
    return this.#namespaces.has(name);
  }

  /** Whether the namespace is on its way out, with all that is in it. */
  isTerminating(name: string): boolean {
    return this.#namespaces.get(name)?.terminating === true;
  }

  /** With the label that every namespace carries, known or not. */
  namespaceLabels(name: string): Labels {
    return this.#namespaces.get(name)?.labels ?? new Map([[NAME_LABEL, name]]);
  }

  namespaceAnnotations(name: string): ReadonlyMap<string, string> {
    return this.#namespaces.get(name)?.annotations ?? NO_ANNOTATIONS;
  }

  /** Whether the labels of an unknown namespace could decide anything. */
  get readsNamespaceLabels(): boolean {
    return this.#readingNamespaceLabels > 0;
  }

  get namespaceNames(): Iterable<string> {
    return this.#namespaces.keys();
  }

  /** The namespaces that name an account or a team for CARM. */
  get namespacesOfCARM(): ReadonlySet<string> {
    return this.#namingOwners;
  }

  /** The ACK kinds that are installed, in the version that is stored. */
  installedTypes(): Iterable<TypeEntry> {
    return this.#kinds.installedTypes();
  }

  /** The fields of an IAMRoleSelector that the cluster knows, or null when its CustomResourceDefinition is not known. */
  get selectorFields(): KnownFields | null {
    return this.#kinds.selectorFields;
  }

  /** The selectors that take part and grant the role. */
  selectorsOfRole(roleARN: string): ReadonlySet<EffectiveSelector> {
    return this.#byRole.get(roleARN);
  }

  /** The selectors with a fault that name the role, those that take no part included. */
  faultyOfRole(roleARN: string): ReadonlySet<DecodedSelector> {
    return this.#faultyByRole.get(roleARN);
  }

  /** Null when the kind's CustomResourceDefinition is not known. */
  kindVersions(group: string, kind: string): KindVersions | null {
    return this.#kinds.versions(group, kind);
  }

  /** The ACK groups of which a kind is known. */
  get groups(): ReadonlySet<string> {
    return new Set(Array.from(this.#kinds.installedTypes(), ({ group }) => group));
  }

  /** The kind as controllers compare it: in the version that they were built with, which is the one that is stored. */
  typeOf({ group, version, kind }: TypeEntry): TypeEntry {
    return { group, version: this.kindVersions(group, kind)?.storage ?? version, kind };
  }

  /** The selectors that select the namespace by what they say of it; `labels` in place of those that it carries. */
  selectorsOfNamespace(name: string, labels?: Labels): readonly EffectiveSelector[] {
    return this.#index.inNamespace(name, labels ?? this.namespaceLabels(name), labels === undefined && this.#namespaces.has(name));
  }

  /** The known namespaces that carry the label. */
  namespacesWithLabel(key: string, value: string): ReadonlySet<string> {
    return this.#index.namespacesWith(key, value);
  }

  /** The selectors that say nothing of namespaces and may hold for a kind of `group`. */
  selectorsOfEveryNamespace(group: string): readonly ReadonlySet<EffectiveSelector>[] {
    return this.#index.everywhere(group);
  }

  #put(object: JsonObject): void {
    const { group, kind, namespace, name } = objectMeta(object);
    switch (`${kind}.${group}`) {
      case "Namespace.":
        return this.#putNamespace(object, name);
      case "ConfigMap.":
        if (CARM_MAPS.has(name)) this.#configMaps.set(`${namespace}/${name}`, stringMap(field(object, "data")));
        return;
      case KIND_DEFINITION:
        return this.#kinds.put(object);
      default:
        if (isSelector(object)) this.#putSelector(object, name);
        else this.#resources.put(object);
    }
  }

  #remove({ group, kind, namespace, name }: Extract<InventoryChange, { type: "remove" }>): void {
    switch (`${kind}.${group}`) {
      case "Namespace.":
        return this.#removeNamespace(name);
      case "ConfigMap.":
        return void this.#configMaps.delete(`${namespace}/${name}`);
      case KIND_DEFINITION:
        return this.#kinds.remove(name);
      case `${SELECTOR_KIND}.${SELECTOR_GROUP}`:
        return this.#removeSelector(name);
      default:
        this.#resources.remove(group, kind, namespace, name);
    }
  }

  #putSelector(object: JsonObject, name: string): void {
    this.#removeSelector(name);
    const decoded = decodeSelector(object, this.#context);
    if (decoded.faults.some(({ check }) => check.severity === "deny" && !check.waivable)) {
      this.#faulty.set(name, decoded);
      this.#faultyByRole.add(decoded.roleARN, decoded);
    }
    if (decoded.effective === null) {
      this.#malformed.set(name, decoded);
      return;
    }
    this.#selectors.set(name, decoded.effective);
    this.#index.add(decoded.effective);
    this.#byRole.add(decoded.effective.roleARN, decoded.effective);
    if (decoded.effective.namespaceLabels !== null) this.#readingNamespaceLabels++;
  }

  #removeSelector(name: string): void {
    this.#malformed.delete(name);
    const faulty = this.#faulty.get(name);
    if (faulty !== undefined) this.#faultyByRole.delete(faulty.roleARN, faulty);
    this.#faulty.delete(name);
    const selector = this.#selectors.get(name);
    if (selector === undefined) return;
    this.#selectors.delete(name);
    this.#index.delete(selector);
    this.#byRole.delete(selector.roleARN, selector);
    if (selector.namespaceLabels !== null) this.#readingNamespaceLabels--;
  }

  #putNamespace(object: JsonObject, name: string): void {
    this.#removeNamespace(name);
    const meta = objectMeta(object);
    const labels = new Map([...meta.labels, [NAME_LABEL, name]]);
    const terminating = (stringAt(object, "metadata", "deletionTimestamp") ?? "") !== "" || stringAt(object, "status", "phase") === "Terminating";
    this.#namespaces.set(name, { labels, annotations: meta.annotations, terminating });
    this.#index.addNamespace(name, labels);
    if (namesOwner(carmAnnotations(name, meta.annotations), this.#context)) this.#namingOwners.add(name);
  }

  #removeNamespace(name: string): void {
    const namespace = this.#namespaces.get(name);
    if (namespace === undefined) return;
    this.#namespaces.delete(name);
    this.#index.deleteNamespace(name, namespace.labels);
    this.#namingOwners.delete(name);
  }
}

const NO_ANNOTATIONS: ReadonlyMap<string, string> = new Map();
const KIND_DEFINITION = "CustomResourceDefinition.apiextensions.k8s.io";
const CARM_MAPS: ReadonlySet<string> = new Set([ACCOUNT_MAP, TEAM_MAP]);
