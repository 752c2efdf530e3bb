import { SELECTORS } from "../ack/selectors.ts";
import { USE_SELECTOR_ANNOTATION } from "../core/annotation-keys.ts";
import type { Inventory } from "../core/inventory.ts";
import type { ResourceQuery } from "../core/ack-resource.ts";
import { nearMisses } from "../ack/near-misses.ts";
import { accountOfARN } from "../formats/arn.ts";
import { formatFieldPath } from "../formats/json.ts";
import { compareText, printable } from "../formats/text.ts";
import { decisiveFaults, type JudgedSelector } from "../ack/selector.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import { choiceOf } from "../ack/selection.ts";
import { type ComparedResource, conditionsOf, NAMESPACE_LABELS } from "../ack/selector-conditions.ts";

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
  /** Null for a malformed selector, which grants no role. */
  readonly roleARN: string | null;
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
    ...[...inventory.of(SELECTORS).values()].map((selector) => explainSelector(selector, input)),
    ...[...inventory.of(SELECTORS).malformed.values()].map((selector) => explainMalformed(selector, input)),
  ];
  return explanations.toSorted((a, b) => compareText(a.selector, b.selector));
}

/** The number of selectors that do not select a resource and that a short explanation contains. */
const MAX_MISSES = 3;

/** The selectors that decide about a resource. */
export interface NearestSelectors {
  /** Those that select it or that its annotation `use-selector` names, then those that nearly select it. */
  readonly nearest: readonly SelectorExplanation[];
  /** The number of the others, none of which selects the resource. */
  readonly omitted: number;
}

/**
 * Explains the selectors that select the resource or that its annotation `use-selector` names. Those follow that
 * probably should select it, and those that miss it by the fewest criteria.
 */
export function explainNearest(inventory: Inventory, query: ResourceQuery): NearestSelectors {
  const { named = [], missing = [] } = Object.groupBy(explain(inventory, query), ({ selects, chosen }) => (
    selects || chosen === true ? "named" : "missing"
  ));
  const probable = nearMisses(inventory, query).map(({ selector }) => selector).toReversed();
  const misses = missing
    .map((explanation) => ({ explanation, distance: distanceOf(explanation, inventory, query) }))
    .toSorted(({ distance: a, explanation: one }, { distance: b, explanation: other }) => (
      probable.indexOf(other.selector) - probable.indexOf(one.selector) || a.account - b.account
      || a.criteria - b.criteria || a.failing - b.failing || b.holding - a.holding
    ));
  const nearest = misses.slice(0, MAX_MISSES).map(({ explanation }) => explanation);
  return { nearest: [...named, ...nearest], omitted: missing.length - nearest.length };
}

/** How far a selector is from selecting a resource. */
interface Distance {
  /** 1 if its role is in another account than the one that the status of the resource records, else 0. */
  readonly account: number;
  /** The number of fields of its spec that do not match. A malformed selector has one more. */
  readonly criteria: number;
  /** The number of conditions in these fields that do not hold. */
  readonly failing: number;
  readonly holding: number;
}

function distanceOf(
  { selector, malformed, parts, roleARN }: SelectorExplanation, inventory: Inventory,
  { namespace, status: { ownerAccountID } }: ResourceQuery,
): Distance {
  const isElsewhereInAWS = ownerAccountID !== null && roleARN !== null && accountOfARN(roleARN) !== ownerAccountID;
  const account = Number(isElsewhereInAWS);
  if (malformed) {
    const names = inventory.of(SELECTORS).malformed.get(selector)?.spec.namespaceSelector?.names ?? [];
    const isElsewhere = names.length > 0 && !names.includes(namespace);
    return { account, criteria: isElsewhere ? 2 : 1, failing: 0, holding: 0 };
  }
  const failing = parts.filter(({ holds }) => !holds);
  // The field of a path such as spec.namespaceSelector.names.
  const fields = new Set(failing.map(({ path }) => path.split(".")[1]));
  return { account, criteria: fields.size, failing: failing.length, holding: parts.length - failing.length };
}

interface ExplainInput extends ComparedResource {
  /** The name in the annotation `use-selector`, or null. */
  readonly choice: string | null;
}

function chosenField(name: string, { choice }: ExplainInput): Pick<SelectorExplanation, "chosen"> {
  return choice === null ? {} : { chosen: choice === name };
}

function explainMalformed(selector: JudgedSelector, input: ExplainInput): SelectorExplanation {
  const { name } = selector;
  const message = `The selector is malformed, so controllers ignore it: ${decisiveFaults(selector).join("; ")}.`;
  return {
    selector: name, roleARN: null, selects: false, ...chosenField(name, input), malformed: true, parts: [], message,
  };
}

function explainSelector(selector: EffectiveSelector, input: ExplainInput): SelectorExplanation {
  const { name, roleARN } = selector;
  const parts = partsOf(selector, input);
  const failing = parts.filter(({ holds }) => !holds);
  const selects = failing.length === 0;
  const choice = chosenField(name, input);
  const note = selects && choice.chosen === false ? ` ${notChosenText(name)}` : "";
  const message = messageOf(parts, failing) + note;
  return { selector: name, roleARN, selects, ...choice, malformed: false, parts, message };
}

function notChosenText(name: string): string {
  return `The annotation ${USE_SELECTOR_ANNOTATION} does not name ${name}, so the resource does not use its role.`;
}

function messageOf(parts: readonly PartExplanation[], failing: readonly PartExplanation[]): string {
  if (parts.length === 0) return "The selector has no conditions, so it selects every resource.";
  if (failing.length === 0) return "The selector selects the resource: every condition matches.";
  return `The selector does not select the resource: ${failing.map(partText).join("; ")}.`;
}

/** Returns `PATH: selector requires X, resource has Y`, or what its namespace has. */
export function partText({ path, wants, carries }: PartExplanation): string {
  const subject = path.startsWith(`${NAMESPACE_LABELS}.`) ? "namespace" : "resource";
  return `${path}: selector requires ${wants}, ${subject} has ${carries}`;
}

/** Escapes control characters, because users can write any text in names and labels. */
function partsOf(selector: EffectiveSelector, input: ExplainInput): PartExplanation[] {
  return conditionsOf(selector).map(({ path, wants, compare }) => {
    const { carries, holds } = compare(input);
    return { path: formatFieldPath(path), wants: printable(wants), carries: printable(carries), holds };
  });
}
