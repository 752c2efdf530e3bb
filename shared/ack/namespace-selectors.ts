import { SELECTORS } from "./selectors.ts";
import type { Inventory } from "../core/inventory.ts";
import { rarestLabel, requiredLabels } from "./selector-index.ts";
import { labelKey, SetIndex } from "../core/set-index.ts";
import { type Labels, satisfies } from "../formats/label-selector.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { TypeEntry } from "../core/resource-types.ts";
import type { Steps } from "./grant-types.ts";

/**
 * Caches the selectors of a namespace for one decision, so that the decision reads the selectors of each group only
 * once.
 */
export class NamespaceSelectors {
  readonly #inventory: Inventory;
  readonly #namespace: string;
  readonly #steps: Steps;
  readonly #groups = new Map<string, GroupSelectors>();

  constructor(inventory: Inventory, namespace: string, steps: Steps) {
    this.#inventory = inventory;
    this.#namespace = namespace;
    this.#steps = steps;
  }

  ofGroup(group: string): GroupSelectors {
    const found = this.#groups.get(group) ?? new GroupSelectors(group, this.#read(group), this.#steps);
    this.#groups.set(group, found);
    return found;
  }

  *#read(group: string): Iterable<EffectiveSelector> {
    yield* this.#inventory.of(SELECTORS).inNamespace(this.#namespace);
    for (const clusterWide of this.#inventory.of(SELECTORS).clusterWide(group)) yield* clusterWide;
  }
}

/**
 * The selectors that select resources of one namespace and group, indexed by type and label. A lookup visits few
 * selectors that do not match.
 */
class GroupSelectors {
  readonly all: readonly EffectiveSelector[];
  readonly #steps: Steps;
  /**
   * Maps a type and a label to selectors. A selector that requires several labels is indexed only by the label that the
   * fewest selectors require.
   */
  readonly #index = new SetIndex<EffectiveSelector>();
  /** The selectors that have a `resourceLabelSelector`, by type. */
  readonly #readingLabels = new SetIndex<EffectiveSelector>();
  /** The labels that the index contains. */
  readonly #labels = new Set<string>();

  constructor(group: string, selectors: Iterable<EffectiveSelector>, steps: Steps) {
    this.all = [...selectors];
    this.#steps = steps;
    const required = byRequiredLabel(this.all, steps);
    for (const selector of this.all) {
      const label = rarestLabel(selector, (one) => required.get(one).size);
      if (label !== "") this.#labels.add(label);
      for (const type of typeKeys(selector, group, steps)) {
        this.#index.add(type + label, selector);
        if (selector.resourceLabels !== null) this.#readingLabels.add(type, selector);
      }
    }
  }

  /**
   * Yields the selectors that select a resource that has the type and the labels. If `labels` is null, yields only the
   * selectors that do not depend on labels.
   */
  *selecting(type: TypeEntry, labels: Labels | null): Iterable<EffectiveSelector> {
    for (const selector of this.#visit(this.#index, type, ["", ...this.#indexed(labels)])) {
      if (matchesLabels(selector, labels)) yield selector;
    }
  }

  /** Yields the selectors that select a resource of the type only if the resource has certain labels. */
  readingLabels(type: TypeEntry): Iterable<EffectiveSelector> {
    return this.#visit(this.#readingLabels, type, [""]);
  }

  #indexed(labels: Labels | null): string[] {
    if (labels === null || this.#labels.size === 0) return [];
    return Array.from(labels, ([key, value]) => labelKey(key, value)).filter((label) => this.#labels.has(label));
  }

  *#visit(
    index: SetIndex<EffectiveSelector>, type: TypeEntry, labels: readonly string[],
  ): Iterable<EffectiveSelector> {
    const visited = new Set<EffectiveSelector>();
    for (const key of lookupKeys(type, labels)) {
      this.#steps.take();
      for (const selector of index.get(key)) {
        this.#steps.take();
        if (!visited.has(selector)) yield selector;
        visited.add(selector);
      }
    }
  }
}

/** Yields the index keys of the type and of every less specific type, each combined with each label. */
function* lookupKeys({ kind, version }: TypeEntry, labels: readonly string[]): Iterable<string> {
  const types = new Set([kind, ""].flatMap((one) => [typeKey(one, version), typeKey(one, "")]));
  for (const type of types) for (const label of labels) yield type + label;
}

function matchesLabels({ resourceLabels }: EffectiveSelector, labels: Labels | null): boolean {
  return resourceLabels === null || (labels !== null && satisfies(labels, resourceLabels));
}

/** Returns an index that maps each required label to the selectors that require it. */
function byRequiredLabel(selectors: readonly EffectiveSelector[], steps: Steps): SetIndex<EffectiveSelector> {
  const index = new SetIndex<EffectiveSelector>();
  for (const selector of selectors) {
    const labels = requiredLabels(selector);
    steps.take(1 + labels.length);
    for (const label of labels) index.add(label, selector);
  }
  return index;
}

/** Adding an entry to the index takes about as long as this number of comparisons. */
const STEPS_PER_ENTRY = 2;

/**
 * Yields the index key of each kind and version that the selector names in the group. The value "" means any kind or
 * version.
 */
function* typeKeys({ types }: EffectiveSelector, group: string, steps: Steps): Iterable<string> {
  if (types === null) yield typeKey("", "");
  for (const entry of types?.entries ?? []) {
    steps.take(STEPS_PER_ENTRY);
    if (entry.group === "" || entry.group === group) yield typeKey(entry.kind, entry.version);
  }
}

/** Returns an index key. JSON escapes the texts, which can contain any character. */
function typeKey(kind: string, version: string): string {
  return JSON.stringify([kind, version]);
}
