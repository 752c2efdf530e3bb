import type { Labels } from "../kubernetes/label-selector.ts";
import { type EffectiveSelector, selectsNamespace } from "../selectors/effective.ts";
import { labelKey, SetIndex } from "./set-index.ts";

/** Where a selector stands in the index. Each stands in one kind of place, the narrowest that it can be found by. */
type Place =
  | { readonly by: "name"; readonly keys: readonly string[] }
  | { readonly by: "label"; readonly keys: readonly string[] }
  | { readonly by: "expression" }
  | { readonly by: "group"; readonly keys: readonly string[] };

/**
 * Finds the few selectors that can select a resource without looking at the others. Selectors that restrict the namespace
 * are found by its name or by one of its labels, and the result is kept for each known namespace until a change touches it;
 * those that do not are found by API group.
 */
export class SelectorIndex {
  readonly #byName = new SetIndex<EffectiveSelector>();
  readonly #byLabel = new SetIndex<EffectiveSelector>();
  readonly #byExpression = new Set<EffectiveSelector>();
  readonly #byGroup = new SetIndex<EffectiveSelector>();
  readonly #namespacesByLabel = new SetIndex<string>();
  readonly #places = new Map<EffectiveSelector, Place>();
  readonly #kept = new Map<string, readonly EffectiveSelector[]>();

  add(selector: EffectiveSelector): void {
    const place = this.#placeOf(selector);
    this.#places.set(selector, place);
    if (place.by === "expression") this.#byExpression.add(selector);
    else for (const key of place.keys) this.#indexOf(place.by).add(key, selector);
    this.#forget(place);
  }

  delete(selector: EffectiveSelector): void {
    const place = this.#places.get(selector);
    if (place === undefined) return;
    this.#places.delete(selector);
    if (place.by === "expression") this.#byExpression.delete(selector);
    else for (const key of place.keys) this.#indexOf(place.by).delete(key, selector);
    this.#forget(place);
  }

  addNamespace(name: string, labels: Labels): void {
    this.#kept.delete(name);
    for (const [key, value] of labels) this.#namespacesByLabel.add(labelKey(key, value), name);
  }

  deleteNamespace(name: string, labels: Labels): void {
    this.#kept.delete(name);
    for (const [key, value] of labels) this.#namespacesByLabel.delete(labelKey(key, value), name);
  }

  namespacesWith(key: string, value: string): ReadonlySet<string> {
    return this.#namespacesByLabel.get(labelKey(key, value));
  }

  /** The selectors that restrict the namespace and select this one. `current`: these are its labels, and the result is kept. */
  inNamespace(name: string, labels: Labels, current: boolean): readonly EffectiveSelector[] {
    const kept = current ? this.#kept.get(name) : undefined;
    if (kept !== undefined) return kept;
    const candidates = new Set(this.#byName.get(name));
    for (const [key, value] of labels) for (const selector of this.#byLabel.get(labelKey(key, value))) candidates.add(selector);
    for (const selector of this.#byExpression) candidates.add(selector);
    const selecting = [...candidates].filter((selector) => selectsNamespace(selector, name, labels));
    if (current) this.#kept.set(name, selecting);
    return selecting;
  }

  /** The selectors that hold for every namespace and may hold for a kind of `group`. */
  everywhere(group: string): readonly ReadonlySet<EffectiveSelector>[] {
    return [this.#byGroup.get(group), this.#byGroup.get(ANY_GROUP)];
  }

  /** Any one label that a selector wants will find it; the one that the fewest have keeps the places small. */
  #placeOf({ namespaces, namespaceLabels, types }: EffectiveSelector): Place {
    if (namespaces !== null) return { by: "name", keys: [...namespaces] };
    const [first, ...others] = namespaceLabels?.matchLabels.map(([key, value]) => labelKey(key, value)) ?? [];
    if (first !== undefined) return { by: "label", keys: [others.reduce((rarest, key) => (this.#having(key) < this.#having(rarest) ? key : rarest), first)] };
    if (namespaceLabels !== null) return { by: "expression" };
    const groups = new Set(types?.map((entry) => entry.group) ?? [ANY_GROUP]);
    return { by: "group", keys: groups.has(ANY_GROUP) ? [ANY_GROUP] : [...groups] }; // found once, whatever the group
  }

  #having(key: string): number {
    return this.#byLabel.get(key).size + this.#namespacesByLabel.get(key).size;
  }

  #indexOf(by: "name" | "label" | "group"): SetIndex<EffectiveSelector> {
    if (by === "name") return this.#byName;
    return by === "label" ? this.#byLabel : this.#byGroup;
  }

  #forget(place: Place): void {
    if (this.#kept.size === 0) return;
    if (place.by === "expression") this.#kept.clear();
    if (place.by === "name") for (const name of place.keys) this.#kept.delete(name);
    if (place.by === "label") for (const key of place.keys) for (const name of this.#namespacesByLabel.get(key)) this.#kept.delete(name);
  }
}

const ANY_GROUP = "";
