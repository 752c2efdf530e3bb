import { type LabelSelector, satisfies } from "../formats/label-selector.ts";
import { NAME_LABEL } from "../formats/names.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { NamespaceStore } from "../core/namespaces.ts";
import { SetIndex } from "../core/set-index.ts";

type Values = ReadonlySet<string>;

/**
 * Maps each criterion of a selector to the values that the selector allows. Contains only criteria that allow a list of
 * values. If two selectors have the same criterion but allow no common value, they never overlap.
 */
type Criteria = ReadonlyMap<string, Values>;

/** The criterion for the name of the namespace, from `names` or from the name label. */
const NAME = "name ";
const NAMESPACE_LABEL = "namespace label ";
const NO_VALUES: Values = new Set();

/** Selectors that have the same criteria, possibly with different values. */
interface Family {
  /** Whether the selectors list namespaces in `names`. */
  readonly isListing: boolean;
  readonly criteria: Values;
  readonly members: Set<EffectiveSelector>;
  /** Maps a criterion and a value to the selectors that allow the value. */
  readonly byValue: SetIndex<EffectiveSelector>;
}

type KnownNamespaces = Pick<NamespaceStore, "has" | "labelsOf" | "withLabel">;

/**
 * Finds the selectors that may overlap with a selector, without a comparison of each pair. Selectors whose criteria
 * differ only in their values form a family. A lookup visits each family once. It chooses one criterion that both
 * the selector and the family use, and finds candidates by the selector's values for this criterion. Most clusters have
 * few families: one for each combination of label keys.
 */
export class OverlapIndex {
  readonly #namespaces: KnownNamespaces;
  readonly #families = new Map<string, Family>();
  /** Maps each listed namespace to the selectors that list it. */
  readonly #byName = new SetIndex<EffectiveSelector>();
  /** The listed namespaces that do not exist. A namespace that does not exist yet can get any labels. */
  readonly #unknownNames = new Set<string>();

  constructor(namespaces: KnownNamespaces) {
    this.#namespaces = namespaces;
  }

  add(selector: EffectiveSelector): void {
    this.#change("add", selector, criteriaOf(selector));
  }

  delete(selector: EffectiveSelector): void {
    const criteria = criteriaOf(selector);
    const { members } = this.#change("delete", selector, criteria);
    if (members.size === 0) this.#families.delete(familyKey(selector, criteria));
  }

  #change(method: "add" | "delete", selector: EffectiveSelector, criteria: Criteria): Family {
    const family = this.#familyOf(selector, criteria);
    family.members[method](selector);
    for (const [criterion, values] of criteria) {
      for (const value of values) family.byValue[method](criterion + value, selector);
    }
    for (const name of selector.namespaces ?? NO_VALUES) {
      this.#byName[method](name, selector);
      this.updateNamespace(name);
    }
    return family;
  }

  /** The caller must call this function when a namespace is stored or removed. */
  updateNamespace(name: string): void {
    if (this.#namespaces.has(name) || this.#byName.count(name) === 0) this.#unknownNames.delete(name);
    else this.#unknownNames.add(name);
  }

  /** Yields every selector that can overlap with the given selector, and possibly others. Yields no selector twice. */
  *candidates(selector: EffectiveSelector): Iterable<EffectiveSelector> {
    const search = new Search(selector, this.#namespaces, this.#unknownNames);
    if (search.selectsNothing) return;
    for (const family of Array.from(this.#families.values())) yield* search.candidatesIn(family);
  }

  #familyOf(selector: EffectiveSelector, criteria: Criteria): Family {
    const key = familyKey(selector, criteria);
    const family = this.#families.get(key) ?? {
      isListing: selector.namespaces !== null, criteria: new Set(criteria.keys()), members: new Set(),
      byValue: new SetIndex(),
    };
    this.#families.set(key, family);
    return family;
  }
}

/** A search for the selectors that may overlap with one selector. */
class Search {
  readonly #namespaces: KnownNamespaces;
  readonly #unknownNames: Values;
  readonly #criteria: Criteria;
  /** Whether the selector selects no namespace, because it does not match the labels of any namespace that it lists. */
  readonly selectsNothing: boolean;
  /**
   * The listed namespaces that the selector can select; null if the selector lists none or if one of them does not
   * exist.
   */
  readonly #names: Values | null;
  /**
   * The existing namespaces that have one label that the selector requires; null if the selector lists namespaces or
   * requires no label.
   */
  readonly #withLabels: Values | null;

  constructor(selector: EffectiveSelector, namespaces: KnownNamespaces, unknownNames: Values) {
    this.#namespaces = namespaces;
    this.#unknownNames = unknownNames;
    this.#criteria = criteriaOf(selector);
    const names = selectableNames(selector, namespaces);
    this.selectsNothing = names?.size === 0;
    this.#names = names !== null && [...names].every((name) => namespaces.has(name)) ? names : null;
    this.#withLabels = selector.namespaces === null ? namespacesWithLabels(selector, namespaces) : null;
  }

  /**
   * Yields the members of the family that have a value of one criterion in common with the selector. Chooses the
   * criterion that yields the fewest members.
   */
  *candidatesIn(family: Family): Iterable<EffectiveSelector> {
    const { criteria, members, byValue } = family;
    let fewest: readonly ReadonlySet<EffectiveSelector>[] = [members];
    let size = members.size;
    for (const criterion of criteria) {
      const values = this.#valuesFor(criterion, family, size);
      if (values === null || values.size >= size) continue;
      const sets = Array.from(values, (value) => byValue.get(criterion + value));
      const total = sets.reduce((sum, set) => sum + set.size, 0);
      if (total < size) [fewest, size] = [sets, total];
    }
    // Merges the sets if there are several, because a selector with several values is in several sets.
    yield* fewest.length === 1 ? fewest.flatMap((set) => [...set]) : new Set(fewest.flatMap((set) => [...set]));
  }

  /**
   * Returns the values that the selector allows for a criterion of the family; null if the selector allows any value.
   */
  #valuesFor(criterion: string, { isListing }: Family, size: number): Values | null {
    const values = this.#criteria.get(criterion) ?? null;
    if (values !== null) return values;
    // The selector does not restrict the criterion itself, but the namespaces that it can select have only some of the
    // values.
    if (criterion === NAME && isListing) return this.#sharedNames(size);
    if (!criterion.startsWith(NAMESPACE_LABEL) || isListing || this.#names === null) return null;
    const key = criterion.slice(NAMESPACE_LABEL.length, -1);
    const found = Array.from(this.#names, (name) => this.#namespaces.labelsOf(name).get(key));
    return new Set(found.filter((value) => value !== undefined));
  }

  /**
   * Returns the namespaces that the selector can select by label, including unknown ones; null if the selector requires
   * no label, or if there are at least `size` such namespaces.
   */
  #sharedNames(size: number): Values | null {
    if (this.#withLabels === null || this.#withLabels.size + this.#unknownNames.size >= size) return null;
    return new Set([...this.#withLabels, ...this.#unknownNames]);
  }
}

function selectableNames(
  { namespaces, namespaceLabels }: EffectiveSelector, known: KnownNamespaces,
): Values | null {
  if (namespaces === null || namespaceLabels === null) return namespaces;
  return new Set(Array.from(namespaces).filter((name) => (
    !known.has(name) || satisfies(known.labelsOf(name), namespaceLabels)
  )));
}

/** Returns the existing namespaces that have one of the required labels: the label that the fewest namespaces have. */
function namespacesWithLabels({ namespaceLabels }: EffectiveSelector, known: KnownNamespaces): Values | null {
  const [first, ...others] = (namespaceLabels?.matchLabels ?? []).map((label) => known.withLabel(...label));
  if (first === undefined) return null;
  return others.reduce((fewest, set) => (set.size < fewest.size ? set : fewest), first);
}

function familyKey({ namespaces }: EffectiveSelector, criteria: Criteria): string {
  return JSON.stringify([namespaces !== null, ...[...criteria.keys()].toSorted()]);
}

function criteriaOf({ namespaces, namespaceLabels, types, resourceLabels }: EffectiveSelector): Criteria {
  const criteria = new Map<string, Values>();
  for (const [key, values] of allowedValues(namespaceLabels)) {
    criteria.set(key === NAME_LABEL ? NAME : `${NAMESPACE_LABEL}${key}=`, values);
  }
  if (namespaces !== null) criteria.set(NAME, namespaces);
  for (const [key, values] of allowedValues(resourceLabels)) criteria.set(`resource label ${key}=`, values);
  for (const part of ["group", "version", "kind"] as const) {
    const values = new Set(types?.entries.map((entry) => entry[part]));
    if (values.size > 0 && !values.has("")) criteria.set(`${part} `, values);
  }
  return criteria;
}

/** Yields each label key for which the selector allows only listed values. */
function* allowedValues(selector: LabelSelector | null): Iterable<readonly [key: string, values: Values]> {
  for (const { key, operator, values } of selector?.matchExpressions ?? []) {
    if (operator === "In") yield [key, new Set(values)];
  }
  for (const [key, value] of selector?.matchLabels ?? []) yield [key, new Set([value])];
}
