import type { Labels } from "../formats/label-selector.ts";
import { type EffectiveSelector, selectsNamespace } from "../core/effective-selector.ts";
import { GroupIndex, labelKey, SetIndex } from "../core/set-index.ts";
import type { NamespaceStore } from "../core/namespaces.ts";

type Label = readonly [key: string, value: string];

/** The criterion by which a selector is indexed. A selector is indexed by its narrowest criterion. */
type IndexEntry =
  | { readonly by: "name"; readonly keys: ReadonlySet<string> }
  | { readonly by: "label"; readonly label: Label }
  | { readonly by: "expression" }
  /** `label` is the index key of one label that the selector requires of a resource; "" if it requires none. */
  | { readonly by: "group"; readonly keys: readonly string[]; readonly label: string };

/**
 * Finds the selectors that may select a resource, without a scan of all selectors. A selector that has a namespace
 * restriction is indexed by namespace name or by one label. A selector that has no namespace restriction is indexed by
 * API group, and by one label that it requires of a resource. The selectors that match a stored namespace are cached
 * until a change affects them.
 */
export class SelectorIndex {
  readonly #namespaces: Pick<NamespaceStore, "withLabel" | "countWithLabel">;
  readonly #byName = new SetIndex<EffectiveSelector>();
  readonly #byLabel = new SetIndex<EffectiveSelector>();
  readonly #byExpression = new Set<EffectiveSelector>();
  readonly #byGroup = new GroupIndex<EffectiveSelector>();
  readonly #entries = new Map<EffectiveSelector, IndexEntry>();
  readonly #cache = new Map<string, SelectorList>();

  constructor(namespaces: Pick<NamespaceStore, "withLabel" | "countWithLabel">) {
    this.#namespaces = namespaces;
  }

  add(selector: EffectiveSelector): void {
    const entry = this.#entryOf(selector);
    this.#entries.set(selector, entry);
    this.#change("add", entry, selector);
  }

  delete(selector: EffectiveSelector): void {
    const entry = this.#entries.get(selector);
    if (entry === undefined) return;
    this.#entries.delete(selector);
    this.#change("delete", entry, selector);
  }

  #change(method: "add" | "delete", entry: IndexEntry, selector: EffectiveSelector): void {
    if (entry.by === "expression") this.#byExpression[method](selector);
    else if (entry.by === "label") this.#byLabel[method](labelKey(...entry.label), selector);
    else if (entry.by === "name") for (const key of entry.keys) this.#byName[method](key, selector);
    else for (const key of entry.keys) this.#byGroup[method](key, entry.label, selector);
    this.#evictAffected(entry);
  }

  /** Evicts the cached result for a namespace. */
  evict(namespace: string): void {
    this.#cache.delete(namespace);
  }

  /**
   * Returns the selectors that have a namespace restriction and match the namespace. `isStored` must be true if
   * `labels` are the stored labels of the namespace.
   */
  inNamespace(name: string, labels: Labels, isStored: boolean): SelectorList {
    const cached = isStored ? this.#cache.get(name) : undefined;
    if (cached !== undefined) return cached;
    const candidates = new Set(this.#byName.get(name));
    for (const [key, value] of labels) {
      for (const selector of this.#byLabel.get(labelKey(key, value))) candidates.add(selector);
    }
    for (const selector of this.#byExpression) candidates.add(selector);
    const selecting = new SelectorList([...candidates].filter((selector) => selectsNamespace(selector, name, labels)));
    if (isStored) this.#cache.set(name, selecting);
    return selecting;
  }

  /**
   * Returns the selectors that have no namespace restriction and may select a kind in `group`. If `labels` is set, may
   * omit selectors that do not select a resource with these labels.
   */
  clusterWide(group: string, labels?: Labels): readonly ReadonlySet<EffectiveSelector>[] {
    return [group, ANY_GROUP].flatMap((one) => setsFor(this.#byGroup.get(one), labels));
  }

  /**
   * Returns the index entry of a selector. If the selector requires several namespace labels, uses the label that the
   * fewest selectors and namespaces have, so that the sets stay small.
   */
  #entryOf(selector: EffectiveSelector): IndexEntry {
    const { namespaces, namespaceLabels, types } = selector;
    if (namespaces !== null) return { by: "name", keys: namespaces };
    const [first, ...others] = namespaceLabels?.matchLabels ?? [];
    if (first !== undefined) {
      const rarest = others.reduce((best, label) => (this.#usesOf(label) < this.#usesOf(best) ? label : best), first);
      return { by: "label", label: rarest };
    }
    if (namespaceLabels !== null) return { by: "expression" };
    const groups: ReadonlySet<string> = types?.groups ?? new Set([ANY_GROUP]);
    // A selector that selects any group has only one entry, so that no lookup returns the selector twice.
    const keys = groups.has(ANY_GROUP) ? [ANY_GROUP] : [...groups];
    const usesOf = (label: string): number => (
      keys.reduce((sum, group) => sum + this.#byGroup.get(group).count(label), 0)
    );
    return { by: "group", keys, label: rarestLabel(selector, usesOf) };
  }

  #usesOf(label: Label): number {
    return this.#byLabel.count(labelKey(...label)) + this.#namespaces.countWithLabel(...label);
  }

  #evictAffected(entry: IndexEntry): void {
    if (this.#cache.size === 0) return;
    if (entry.by === "expression") this.#cache.clear();
    if (entry.by === "name") for (const name of entry.keys) this.#cache.delete(name);
    if (entry.by === "label") for (const name of this.#namespaces.withLabel(...entry.label)) this.#cache.delete(name);
  }
}

const ANY_GROUP = "";

/** Returns the sets of selectors that require no label or one of the labels; possibly all sets, if there are few. */
function setsFor(
  sets: ReturnType<GroupIndex<EffectiveSelector>["get"]>, labels: Labels | undefined,
): readonly ReadonlySet<EffectiveSelector>[] {
  if (sets.size === 0) return [];
  if (labels === undefined || sets.size <= 1 + labels.size) return [...sets.sets()];
  const keys = ["", ...Array.from(labels, ([key, value]) => labelKey(key, value))];
  return keys.map((key) => sets.get(key)).filter(({ size }) => size > 0);
}

/** The maximum number of selectors that are compared one by one. Up to this number, an index takes more time. */
const MAX_UNINDEXED = 16;

/** Selectors that are looked up by the labels of a resource. */
export class SelectorList {
  readonly all: readonly EffectiveSelector[];
  /** Each selector by one label that it requires, or by "". The index is null until the first lookup. */
  #byLabel: SetIndex<EffectiveSelector> | null = null;

  constructor(all: readonly EffectiveSelector[]) {
    this.all = all;
  }

  /** Yields every selector that can select a resource with the labels, and possibly others. */
  for(labels: Labels): Iterable<EffectiveSelector> {
    return this.all.length <= MAX_UNINDEXED ? this.all : this.#lookUp(labels);
  }

  *#lookUp(labels: Labels): Iterable<EffectiveSelector> {
    const index = (this.#byLabel ??= indexOf(this.all));
    yield* index.get("");
    for (const [key, value] of labels) yield* index.get(labelKey(key, value));
  }
}

function indexOf(selectors: readonly EffectiveSelector[]): SetIndex<EffectiveSelector> {
  const requiring = new SetIndex<EffectiveSelector>();
  for (const selector of selectors) for (const label of requiredLabels(selector)) requiring.add(label, selector);
  const index = new SetIndex<EffectiveSelector>();
  for (const selector of selectors) index.add(rarestLabel(selector, (label) => requiring.count(label)), selector);
  return index;
}

/** Returns the index key of each label that the selector requires of a resource. */
export function requiredLabels({ resourceLabels }: Pick<EffectiveSelector, "resourceLabels">): string[] {
  return (resourceLabels?.matchLabels ?? []).map((label) => labelKey(...label));
}

/**
 * Returns the index key of the label by which a selector is indexed: of the labels that it requires, the label that the
 * fewest selectors use. Returns "" if the selector requires no label.
 */
export function rarestLabel(
  selector: Pick<EffectiveSelector, "resourceLabels">, usesOf: (label: string) => number,
): string {
  const [first = "", ...others] = requiredLabels(selector);
  return others.reduce((best, label) => (usesOf(label) < usesOf(best) ? label : best), first);
}
