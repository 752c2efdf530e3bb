import type { LabelRequirement, LabelSelector } from "../kubernetes/label-selector.ts";
import { NAME_LABEL } from "../kubernetes/names.ts";
import type { EffectiveSelector } from "./effective.ts";
import type { TypeEntry } from "./type-entry.ts";

/** From so many pairs of type entries on nobody compares them: such selectors are taken to meet. */
const PAIRS_OF_ENTRIES = 10_000;

/**
 * Whether some resource, there today or not, could be selected by both. Exact over names and labels, `matchExpressions` included;
 * it says yes where it would take too long to tell.
 */
export function canOverlap(a: EffectiveSelector, b: EffectiveSelector): boolean {
  return canMeet(a.namespaces, b.namespaces)
    && isSatisfiable([...namespaceRequirements(a), ...namespaceRequirements(b)])
    && isSatisfiable([...requirementsOf(a.resourceLabels), ...requirementsOf(b.resourceLabels)])
    && typesMeet(a.types, b.types);
}

/** Told before anything is built, since most selectors name their namespaces. */
function canMeet(a: ReadonlySet<string> | null, b: ReadonlySet<string> | null): boolean {
  if (a === null || b === null) return true;
  const [few, many] = a.size <= b.size ? [a, b] : [b, a];
  for (const name of few) if (many.has(name)) return true;
  return false;
}

/** Names are one more label, which every namespace carries. */
function namespaceRequirements({ namespaces, namespaceLabels }: EffectiveSelector): LabelRequirement[] {
  if (namespaces === null && namespaceLabels === null) return [];
  const name: LabelRequirement = namespaces === null
    ? { key: NAME_LABEL, operator: "Exists", values: [] }
    : { key: NAME_LABEL, operator: "In", values: [...namespaces] };
  return [name, ...requirementsOf(namespaceLabels)];
}

function requirementsOf(selector: LabelSelector | null): LabelRequirement[] {
  if (selector === null) return [];
  const equal = selector.matchLabels.map(([key, value]): LabelRequirement => ({ key, operator: "In", values: [value] }));
  return [...equal, ...selector.matchExpressions];
}

/** Whether any labels satisfy all of the requirements. Keys do not depend on one another, so each is looked at by itself. */
function isSatisfiable(requirements: readonly LabelRequirement[]): boolean {
  return [...Map.groupBy(requirements, ({ key }) => key).values()].every(isSatisfiableKey);
}

function isSatisfiableKey(requirements: readonly LabelRequirement[]): boolean {
  const valuesOf = (operator: LabelRequirement["operator"]): (readonly string[])[] => requirements.filter((one) => one.operator === operator).map(({ values }) => values);
  const mustBeAbsent = valuesOf("DoesNotExist").length > 0;
  const [first, ...others] = valuesOf("In").map((values) => new Set(values));
  // What NotIn excludes leaves other values.
  if (first === undefined) return !mustBeAbsent || valuesOf("Exists").length === 0;
  const excluded = new Set(valuesOf("NotIn").flat());
  return !mustBeAbsent && [...first].some((value) => !excluded.has(value) && others.every((values) => values.has(value)));
}

function typesMeet(a: readonly TypeEntry[] | null, b: readonly TypeEntry[] | null): boolean {
  if (a === null || b === null || a.length * b.length > PAIRS_OF_ENTRIES) return true;
  return a.some((one) => b.some((other) => entriesMeet(one, other)));
}

function entriesMeet(a: TypeEntry, b: TypeEntry): boolean {
  return partsMeet(a.group, b.group) && partsMeet(a.version, b.version) && partsMeet(a.kind, b.kind);
}

function partsMeet(a: string, b: string): boolean {
  return a === "" || b === "" || a === b;
}
