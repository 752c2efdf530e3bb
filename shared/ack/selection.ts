import type { Outcome } from "../core/resolution.ts";
import { SELECTORS } from "./selectors.ts";
import type { ResourceQuery } from "../core/ack-resource.ts";
import { USE_SELECTOR_ANNOTATION } from "../core/annotation-keys.ts";
import type { Labels } from "../formats/label-selector.ts";
import { subdomainFaults } from "../formats/names.ts";
import { compareText, firstNames, quote, sortedListOf } from "../formats/text.ts";
import type { Inventory } from "../core/inventory.ts";
import { type EffectiveSelector, selectsWithinNamespace } from "../core/effective-selector.ts";

/** The maximum number of selectors that the sentence names. */
const MAX_LISTED = 20;

/**
 * Returns the error message for a conflict in the words of the IAMRoleSelector proposal, so that users recognize the
 * message. The message names the 20 selectors that sort first.
 */
export function conflictSentence(names: Iterable<string>): string {
  const { first, number } = firstNames(names, MAX_LISTED);
  const more = number > first.length ? ` and ${number - first.length} more` : "";
  const list = `[${first.join(", ")}${more}]`;
  return `Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: ${list}`;
}

/** The selector that sets the role of a resource, or the reason why no selector does. */
export interface Selection {
  readonly outcome: Outcome;
  /**
   * The selector that sets the role, or all conflicting selectors. If the resource is refused, all selectors that
   * select it. Empty for the outcome `default`. Unsorted.
   */
  readonly selectors: readonly EffectiveSelector[];
}

/** The value of the annotation `ack-role-resolver.io/use-selector`, and the object that has the annotation. */
export interface Choice {
  /** The name of a selector, or any other text, because users write the annotation. */
  readonly name: string;
  readonly from: "resource" | "namespace";
}

type Annotations = ReadonlyMap<string, string>;

/**
 * Returns the choice of the resource, or else of its namespace. Returns null if neither has the annotation, or if the
 * runtime does not support the annotation. An empty annotation is also a choice, which names no selector.
 * `namespaceAnnotations` replaces the stored annotations of the namespace.
 */
export function choiceOf(
  inventory: Inventory,
  { namespace, annotations }: Pick<ResourceQuery, "namespace" | "annotations">,
  namespaceAnnotations: Annotations = inventory.namespaces.annotationsOf(namespace),
): Choice | null {
  if (inventory.runtime !== "extended") return null;
  return choiceIn(annotations, "resource") ?? choiceIn(namespaceAnnotations, "namespace");
}

function choiceIn(annotations: Annotations, from: Choice["from"]): Choice | null {
  const name = annotations.get(USE_SELECTOR_ANNOTATION);
  return name === undefined ? null : { name, from };
}

/** Returns whether the choice is a valid object name, so that a selector can have this name. */
export function isSelectorName({ name }: Pick<Choice, "name">): boolean {
  return subdomainFaults(name).length === 0;
}

/**
 * Returns the selection for a resource. `selecting` are all selectors that select the resource. A choice must name one
 * of these selectors. Otherwise the resource is refused, even if only one selector or no selector selects the resource.
 */
export function selectionOf(selecting: readonly EffectiveSelector[], choice: Choice | null): Selection {
  if (choice !== null) {
    const chosen = selecting.find(({ name }) => name === choice.name);
    return chosen === undefined
      ? { outcome: "refused", selectors: selecting }
      : { outcome: "selected", selectors: [chosen] };
  }
  if (selecting.length > 1) return { outcome: "conflict", selectors: selecting };
  return { outcome: selecting.length === 0 ? "default" : "selected", selectors: selecting };
}

/**
 * The name with which the verb `use` on iamroleselectors grants the controllers' own role. No selector has this name,
 * because the name of an object contains no colon.
 */
export const DEFAULT_ROLE = "ack-role-resolver:default";

/** Returns a clause that names the selector, or the controllers' own role. */
export function describeRole(name: string): string {
  return name === DEFAULT_ROLE ? "the controllers' own role" : `IAMRoleSelector ${name}`;
}

/**
 * Returns the names of the selectors whose roles the resource uses or can use, sorted. If the resource is refused,
 * these are all selectors that select it, and the named selector, which may select it later. If no selector selects the
 * resource, the name is `DEFAULT_ROLE`.
 */
export function usedSelectors(inventory: Inventory, query: ResourceQuery): string[] {
  const choice = choiceOf(inventory, query);
  const { outcome, selectors } = selectionOf(selectingSelectors(inventory, query), choice);
  const names = selectors.map(({ name }) => name);
  if (outcome === "default") names.push(DEFAULT_ROLE);
  if (outcome === "refused" && choice !== null && isSelectorName(choice)) names.push(choice.name);
  return names.toSorted(compareText);
}

/** Returns the reason why a choice is refused. `selecting` are all selectors that select the resource. */
export function refusalMessage(
  inventory: Inventory, { name, from }: Choice, selecting: readonly EffectiveSelector[],
): string {
  const selectors = inventory.of(SELECTORS);
  const isMalformed = selectors.malformed.has(name);
  const exists = selectors.has(name);
  const state = isMalformed ? "is malformed" : exists ? "does not select the resource" : "does not exist";
  const names = selecting.length === 0 ? "No IAMRoleSelector" : sortedListOf(selecting.map((one) => one.name));
  return `The annotation ${USE_SELECTOR_ANNOTATION} of the ${from} names IAMRoleSelector ${quote(name)}, `
    + `which ${state}. ${names} ${selecting.length > 1 ? "select" : "selects"} the resource.`;
}

/** Returns the selection for a resource according to the inventory. */
export function selectionFor(inventory: Inventory, query: ResourceQuery): Selection {
  return selectionOf(selectingSelectors(inventory, query), choiceOf(inventory, query));
}

/**
 * Returns every selector that selects the resource, unsorted. `namespaceLabels` replaces the stored labels of the
 * namespace.
 */
export function selectingSelectors(
  inventory: Inventory, query: ResourceQuery, namespaceLabels?: Labels,
): EffectiveSelector[] {
  const type = inventory.kinds.typeOf(query);
  const selecting: EffectiveSelector[] = [];
  for (const selector of inventory.of(SELECTORS).inNamespace(query.namespace, namespaceLabels)) {
    if (selectsWithinNamespace(selector, type, query.labels)) selecting.push(selector);
  }
  for (const selectors of inventory.of(SELECTORS).clusterWide(query.group, query.labels)) {
    for (const selector of selectors)
      if (selectsWithinNamespace(selector, type, query.labels)) selecting.push(selector);
  }
  return selecting;
}
