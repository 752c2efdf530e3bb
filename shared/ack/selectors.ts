import type { JsonObject } from "../formats/json.ts";
import type { ObjectID } from "../formats/object-meta.ts";
import type { Labels } from "../formats/label-selector.ts";
import { type Paced, paced } from "../formats/paced.ts";
import { judgeStored } from "./judge-selector.ts";
import type { JudgedSelector } from "./selector.ts";
import type { InventoryContext, StoreKey } from "../core/store.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import { NO_EXTRAS } from "../core/session.ts";
import { NAMESPACES, type NamespaceStore } from "../core/namespaces.ts";
import { OverlapIndex } from "./overlap-index.ts";
import { SelectorIndex } from "./selector-index.ts";
import { GroupIndex, SetIndex } from "../core/set-index.ts";

/** Adding one selector to the overlap index takes about 5 µs, or 1 ms if its lists have the maximum length. */
const INDEXED_BETWEEN_PAUSES = 5;

/**
 * The IAMRoleSelectors of an inventory, decoded once and indexed by name, role and namespace. The methods `get`, `has`,
 * `keys`, `values` and `size` cover only the effective selectors.
 */
export class SelectorStore {
  readonly #context: InventoryContext;
  readonly #namespaces: NamespaceStore;
  readonly #index: SelectorIndex;
  readonly #effective = new Map<string, EffectiveSelector>();
  readonly #malformed = new Map<string, JudgedSelector>();
  readonly #faulty = new Map<string, JudgedSelector>();
  /** The selectors without session settings, by role. */
  readonly #byRole = new SetIndex<EffectiveSelector>();
  /** The other selectors, by role and then by their session settings. */
  readonly #bySession = new GroupIndex<EffectiveSelector>();
  readonly #faultyByRole = new SetIndex<JudgedSelector>();
  /**
   * The overlap index. Null until the first lookup, so that sidecars, which never compare selectors, do not build the
   * index.
   */
  #overlaps: OverlapIndex | null = null;
  /** The selectors that the first lookup has not added to `#overlaps` yet. */
  readonly #unindexed = new Set<EffectiveSelector>();
  #withNamespaceLabels = 0;
  #revision = 0;

  constructor(context: InventoryContext, namespaces: NamespaceStore) {
    this.#context = context;
    this.#namespaces = namespaces;
    this.#index = new SelectorIndex(namespaces);
    namespaces.observe((name) => this.#evictNamespace(name));
  }

  put(object: JsonObject, { name }: Pick<ObjectID, "name">): void {
    this.remove({ name });
    const all = judgeStored(object, this.#context);
    // An inventory for grants drops the object, because a faulty selector can have 500,000 values, which take 30 times
    // the memory of their JSON text.
    const decoded = this.#context.isForGrants === true ? { ...all, object: {} } : all;
    const { effective, roleARN } = decoded;
    if (effective === null || !effective.grantable) {
      this.#faulty.set(name, decoded);
      this.#faultyByRole.add(roleARN, decoded);
    }
    if (effective === null) {
      this.#malformed.set(name, decoded);
      return;
    }
    this.#effective.set(name, effective);
    this.#index.add(effective);
    this.#overlaps?.add(effective);
    this.#indexRole("add", effective);
    if (effective.namespaceLabels !== null) this.#withNamespaceLabels++;
  }

  #indexRole(method: "add" | "delete", selector: EffectiveSelector): void {
    const { roleARN, extras } = selector;
    if (extras === NO_EXTRAS) this.#byRole[method](roleARN, selector);
    else this.#bySession[method](roleARN, JSON.stringify(extras), selector);
  }

  /** A number that changes with each change of a selector. */
  get revision(): number {
    return this.#revision;
  }

  remove({ name }: Pick<ObjectID, "name">): void {
    this.#revision += 1;
    this.#malformed.delete(name);
    const faulty = this.#faulty.get(name);
    if (faulty !== undefined) this.#faultyByRole.delete(faulty.roleARN, faulty);
    this.#faulty.delete(name);
    const selector = this.#effective.get(name);
    if (selector === undefined) return;
    this.#effective.delete(name);
    this.#index.delete(selector);
    if (!this.#unindexed.delete(selector)) this.#overlaps?.delete(selector);
    this.#indexRole("delete", selector);
    if (selector.namespaceLabels !== null) this.#withNamespaceLabels--;
  }

  /** Evicts the cached result for a namespace, which was stored or removed. */
  #evictNamespace(name: string): void {
    this.#index.evict(name);
    this.#overlaps?.updateNamespace(name);
  }

  get size(): number {
    return this.#effective.size;
  }

  get(name: string): EffectiveSelector | undefined {
    return this.#effective.get(name);
  }

  has(name: string): boolean {
    return this.#effective.has(name);
  }

  keys(): MapIterator<string> {
    return this.#effective.keys();
  }

  values(): MapIterator<EffectiveSelector> {
    return this.#effective.values();
  }

  /** The malformed selectors, by name. Controllers ignore malformed selectors. */
  get malformed(): ReadonlyMap<string, JudgedSelector> {
    return this.#malformed;
  }

  /**
   * The selectors that grant no role, by name: the malformed ones and, with `--runtime ack`, effective ones that have a
   * non-waivable deny fault.
   */
  get faulty(): ReadonlyMap<string, JudgedSelector> {
    return this.#faulty;
  }

  /** Whether any effective selector depends on namespace labels. */
  get readsNamespaceLabels(): boolean {
    return this.#withNamespaceLabels > 0;
  }

  /** Returns the effective selectors whose ARN is `roleARN`. */
  ofRole(roleARN: string): ReadonlySet<EffectiveSelector> {
    const [first = NO_SELECTORS, ...others] = this.sessionsOfRole(roleARN);
    return others.length === 0 ? first : new Set([first, ...others].flatMap((selectors) => [...selectors]));
  }

  /** Yields the effective selectors whose ARN is `roleARN`, one set for each distinct session settings. */
  *sessionsOfRole(roleARN: string): Iterable<ReadonlySet<EffectiveSelector>> {
    const withoutSettings = this.#byRole.get(roleARN);
    if (withoutSettings.size > 0) yield withoutSettings;
    yield* this.#bySession.get(roleARN).sets();
  }

  /** Returns the faulty selectors whose ARN is `roleARN`, including malformed selectors. */
  faultyOfRole(roleARN: string): ReadonlySet<JudgedSelector> {
    return this.#faultyByRole.get(roleARN);
  }

  /**
   * Returns the selectors that have a namespace restriction and match the namespace. If `labels` is set, it replaces
   * the stored labels of the namespace.
   */
  inNamespace(name: string, labels?: Labels): readonly EffectiveSelector[] {
    const isStored = labels === undefined && this.#namespaces.has(name);
    return this.#index.inNamespace(name, labels ?? this.#namespaces.labelsOf(name), isStored).all;
  }

  /**
   * Yields the selectors that have a namespace restriction, match the namespace and can select a resource with the
   * labels, and possibly selectors that cannot select it.
   */
  inNamespaceFor(name: string, resourceLabels: Labels): Iterable<EffectiveSelector> {
    const isStored = this.#namespaces.has(name);
    return this.#index.inNamespace(name, this.#namespaces.labelsOf(name), isStored).for(resourceLabels);
  }

  /**
   * Returns every selector that can overlap with the given selector, and possibly others. Returns no selector twice.
   * The first lookup builds an index in steps. Lookups and changes may run between the steps.
   */
  *overlapCandidates(selector: EffectiveSelector): Paced<Iterable<EffectiveSelector>> {
    const index = this.#overlaps ?? new OverlapIndex(this.#namespaces);
    if (this.#overlaps === null) for (const one of this.#effective.values()) this.#unindexed.add(one);
    this.#overlaps = index;
    yield* paced(this.#unindexed, INDEXED_BETWEEN_PAUSES, (one) => {
      this.#unindexed.delete(one);
      index.add(one);
      return true;
    });
    return index.candidates(selector);
  }

  /**
   * Returns the selectors that have no namespace restriction and may select a kind in `group`. If `labels` is set, may
   * omit selectors that do not select a resource with these labels.
   */
  clusterWide(group: string, labels?: Labels): readonly ReadonlySet<EffectiveSelector>[] {
    return this.#index.clusterWide(group, labels);
  }
}

/** The store of IAMRoleSelectors. */
export const SELECTORS: StoreKey<SelectorStore> = {
  name: "selectors", open: (stores) => new SelectorStore(stores.context, stores.of(NAMESPACES)),
};

const NO_SELECTORS: ReadonlySet<EffectiveSelector> = new Set();
