import { USE_SELECTOR_ANNOTATION } from "../contract/annotation-keys.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ResourceQuery } from "../contract/ack-resource.ts";
import { type FieldPath, formatFieldPath } from "../formats/json.ts";
import { type LabelRequirement, type Labels, type LabelSelector, satisfies } from "../formats/label-selector.ts";
import { compareText, printable } from "../formats/text.ts";
import { decisiveFaults, type JudgedSelector } from "../model/selector.ts";
import type { EffectiveSelector } from "../model/effective-selector.ts";
import type { TypeEntry } from "../model/resource-types.ts";
import { choiceOf } from "./selection.ts";

/** A condition of a selector, and the actual value of the resource or its namespace. */
interface PartExplanation {
  /** The field path of the condition in the selector. */
  readonly path: string;
  readonly wants: string;
  readonly carries: string;
  readonly holds: boolean;
}

/**
 * Explains why a selector selects or does not select a resource. A selector selects a resource if every condition in
 * `parts` holds.
 */
export interface SelectorExplanation {
  readonly selector: string;
  readonly selects: boolean;
  /**
   * Whether the annotation `use-selector` names the selector. Absent if no annotation `use-selector` applies to the
   * resource.
   */
  readonly chosen?: boolean;
  /** Whether the selector is malformed. Controllers ignore a malformed selector, so its `parts` are empty. */
  readonly malformed: boolean;
  readonly parts: readonly PartExplanation[];
  /** The explanation in one or two sentences. */
  readonly message: string;
}

/**
 * Explains for each selector why it selects or does not select the resource, sorted by selector name. The run time is
 * proportional to the number of selectors.
 */
export function explain(inventory: Inventory, query: ResourceQuery): SelectorExplanation[] {
  const input = {
    inventory, query, type: inventory.kinds.typeOf(query), choice: choiceOf(inventory, query)?.name ?? null,
  };
  const explanations = [
    ...[...inventory.selectors.values()].map((selector) => explainSelector(selector, input)),
    ...[...inventory.selectors.malformed.values()].map((selector) => explainMalformed(selector, input)),
  ];
  return explanations.toSorted((a, b) => compareText(a.selector, b.selector));
}

/** The number of selectors that do not select a resource and that a short explanation contains. */
const MAX_MISSES = 3;

/**
 * Explains the selectors that select the resource or that its annotation `use-selector` names, followed by those that
 * miss it by the fewest criteria. `omitted` is the number of the others, none of which selects the resource.
 */
export function explainNearest(
  inventory: Inventory, query: ResourceQuery,
): { readonly nearest: readonly SelectorExplanation[]; readonly omitted: number } {
  const { named = [], missing = [] } = Object.groupBy(explain(inventory, query), ({ selects, chosen }) => (
    selects || chosen === true ? "named" : "missing"
  ));
  const misses = missing
    .map((explanation) => ({ explanation, distance: distanceOf(explanation, inventory, query) }))
    .toSorted(({ distance: a }, { distance: b }) => (
      a.criteria - b.criteria || a.failing - b.failing || b.holding - a.holding
    ));
  const nearest = misses.slice(0, MAX_MISSES).map(({ explanation }) => explanation);
  return { nearest: [...named, ...nearest], omitted: missing.length - nearest.length };
}

/** How far a selector is from selecting a resource. */
interface Distance {
  /** The number of fields of its spec that do not match. A malformed selector has one more. */
  readonly criteria: number;
  /** The number of conditions in these fields that do not hold. */
  readonly failing: number;
  readonly holding: number;
}

function distanceOf(
  { selector, malformed, parts }: SelectorExplanation, inventory: Inventory, { namespace }: ResourceQuery,
): Distance {
  if (malformed) {
    const names = inventory.selectors.malformed.get(selector)?.spec.namespaceSelector?.names ?? [];
    const isElsewhere = names.length > 0 && !names.includes(namespace);
    return { criteria: isElsewhere ? 2 : 1, failing: 0, holding: 0 };
  }
  const failing = parts.filter(({ holds }) => !holds);
  // The field of a path such as spec.namespaceSelector.names.
  const fields = new Set(failing.map(({ path }) => path.split(".")[1]));
  return { criteria: fields.size, failing: failing.length, holding: parts.length - failing.length };
}

interface ExplainInput {
  readonly inventory: Inventory;
  readonly query: ResourceQuery;
  readonly type: TypeEntry;
  /** The name in the annotation `use-selector`, or null. */
  readonly choice: string | null;
}

function chosenField(name: string, { choice }: ExplainInput): Pick<SelectorExplanation, "chosen"> {
  return choice === null ? {} : { chosen: choice === name };
}

function explainMalformed(selector: JudgedSelector, input: ExplainInput): SelectorExplanation {
  const { name } = selector;
  const message = `The selector is malformed, so controllers ignore it: ${decisiveFaults(selector).join("; ")}.`;
  return { selector: name, selects: false, ...chosenField(name, input), malformed: true, parts: [], message };
}

function explainSelector(selector: EffectiveSelector, input: ExplainInput): SelectorExplanation {
  const { name } = selector;
  const parts = partsOf(selector, input);
  const failing = parts.filter(({ holds }) => !holds);
  const selects = failing.length === 0;
  const choice = chosenField(name, input);
  const note = selects && choice.chosen === false ? ` ${notChosenText(name)}` : "";
  return { selector: name, selects, ...choice, malformed: false, parts, message: messageOf(parts, failing) + note };
}

function notChosenText(name: string): string {
  return `The annotation ${USE_SELECTOR_ANNOTATION} does not name ${name}, so the resource does not use its role.`;
}

function messageOf(parts: readonly PartExplanation[], failing: readonly PartExplanation[]): string {
  if (parts.length === 0) return "The selector has no conditions, so it selects every resource.";
  if (failing.length === 0) return "The selector selects the resource: every condition matches.";
  return `The selector does not select the resource: ${failing.map(partText).join("; ")}.`;
}

/** Returns `PATH: selector requires X, resource has Y`. */
export function partText({ path, wants, carries }: PartExplanation): string {
  return `${path}: selector requires ${wants}, resource has ${carries}`;
}

function partsOf(selector: EffectiveSelector, { inventory, query, type }: ExplainInput): PartExplanation[] {
  const { namespaces, namespaceLabels, types, resourceLabels } = selector;
  const parts: PartExplanation[] = [];
  if (namespaces !== null) {
    parts.push(partOf(["spec", "namespaceSelector", "names"], {
      wants: `namespace ${anyOf([...namespaces])}`,
      carries: `namespace ${query.namespace}`,
      holds: namespaces.has(query.namespace),
    }));
  }
  if (namespaceLabels !== null) {
    const labels = inventory.namespaces.labelsOf(query.namespace);
    const note = inventory.namespaces.has(query.namespace) ? "" : " (unknown Namespace)";
    parts.push(...labelParts(["spec", "namespaceSelector", "labelSelector"], namespaceLabels, { labels, note }));
  }
  if (types !== null) {
    parts.push(partOf(["spec", "resourceTypeSelector"], {
      wants: anyOf(types.entries.map(entryText)),
      carries: typeText(type),
      holds: types.matches(type),
    }));
  }
  if (resourceLabels !== null) {
    parts.push(...labelParts(["spec", "resourceLabelSelector"], resourceLabels, { labels: query.labels, note: "" }));
  }
  return parts;
}

interface ActualLabels {
  readonly labels: Labels;
  /** A note that is appended if a label is missing. */
  readonly note: string;
}

/** Returns one part for each label and expression. */
function labelParts(
  path: FieldPath, { matchLabels, matchExpressions }: LabelSelector, { labels, note }: ActualLabels,
): PartExplanation[] {
  const actual = (key: string): string => {
    const value = labels.get(key);
    return value === undefined ? `no label ${key}${note}` : `${key}=${value}`;
  };
  return [
    ...matchLabels.map(([key, value]) => partOf([...path, "matchLabels", { key }], {
      wants: `${key}=${value}`, carries: actual(key), holds: labels.get(key) === value,
    })),
    ...matchExpressions.map((requirement, i) => partOf([...path, "matchExpressions", i], {
      wants: requirementText(requirement),
      carries: actual(requirement.key),
      holds: satisfies(labels, { matchLabels: [], matchExpressions: [requirement] }),
    })),
  ];
}

/** Formats a requirement in the syntax of `kubectl get -l`. */
function requirementText({ key, operator, values }: LabelRequirement): string {
  if (operator === "Exists") return key;
  if (operator === "DoesNotExist") return `!${key}`;
  return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(", ")})`;
}

function entryText({ group, version, kind }: TypeEntry): string {
  const named = [version, group].filter((text) => text !== "").join(".");
  if (kind === "") return `any kind of ${version !== "" && group === "" ? `version ${version}` : named}`;
  return named === "" ? `${kind} of any group` : `${kind}.${named}`;
}

function typeText({ group, version, kind }: TypeEntry): string {
  return `${kind}.${version}.${group}`;
}

const MAX_ALTERNATIVES = 10;

function anyOf(texts: readonly string[]): string {
  const more = texts.length - MAX_ALTERNATIVES;
  const shown = more > 0 ? [...texts.slice(0, MAX_ALTERNATIVES), `${more} others`] : texts;
  return shown.join(" or ");
}

/** Returns a condition. Escapes control characters, because users can write any text in names and labels. */
function partOf(path: FieldPath, { wants, carries, holds }: Omit<PartExplanation, "path">): PartExplanation {
  return { path: formatFieldPath(path), wants: printable(wants), carries: printable(carries), holds };
}
