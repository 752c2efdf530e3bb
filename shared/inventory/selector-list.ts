import type { Labels } from "../formats/label-selector.ts";
import type { EffectiveSelector } from "../model/effective-selector.ts";
import { labelKey, SetIndex } from "./set-index.ts";

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
  for (const selector of selectors) index.add(rarestLabel(selector, (label) => requiring.get(label).size), selector);
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
