import type { LabelRequirement, LabelSelector } from "../formats/label-selector.ts";
import { NAME_LABEL } from "../formats/names.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { TypeEntry } from "../core/resource-types.ts";

/**
 * The maximum number of pairs of type entries that are compared. Two selectors that have more pairs count as
 * overlapping.
 */
const MAX_ENTRY_PAIRS = 10_000;

/**
 * Whether both selectors can select the same resource, even if no such resource exists. The result is exact for names
 * and labels, including `matchExpressions`. Returns true if the type lists are too long to compare.
 */
export function canOverlap(a: EffectiveSelector, b: EffectiveSelector): boolean {
  return namesOverlap(a.namespaces, b.namespaces)
    && isSatisfiable([...namespaceRequirements(a), ...namespaceRequirements(b)])
    && isSatisfiable([...requirementsOf(a.resourceLabels), ...requirementsOf(b.resourceLabels)])
    && typesOverlap(a.types?.entries ?? null, b.types?.entries ?? null);
}

/**
 * Whether both lists contain the same namespace. `canOverlap` compares the lists first, because most selectors list
 * namespaces by name.
 */
function namesOverlap(a: ReadonlySet<string> | null, b: ReadonlySet<string> | null): boolean {
  if (a === null || b === null) return true;
  const [few, many] = a.size <= b.size ? [a, b] : [b, a];
  for (const name of few) if (many.has(name)) return true;
  return false;
}

/**
 * Returns the label requirements for a namespace. Converts namespace names to a requirement on the name label, which
 * every namespace has.
 */
function namespaceRequirements({ namespaces, namespaceLabels }: EffectiveSelector): LabelRequirement[] {
  if (namespaces === null && namespaceLabels === null) return [];
  const name: LabelRequirement = namespaces === null
    ? { key: NAME_LABEL, operator: "Exists", values: [] }
    : { key: NAME_LABEL, operator: "In", values: [...namespaces] };
  return [name, ...requirementsOf(namespaceLabels)];
}

function requirementsOf(selector: LabelSelector | null): LabelRequirement[] {
  if (selector === null) return [];
  const equal = selector.matchLabels.map(([key, value]): LabelRequirement => ({
    key,
    operator: "In",
    values: [value],
  }));
  return [...equal, ...selector.matchExpressions];
}

/** Whether a set of labels exists that satisfies the label selector. */
export function canBeSatisfied(selector: LabelSelector): boolean {
  return isSatisfiable(requirementsOf(selector));
}

/** Whether a set of labels exists that satisfies all requirements. Checks the requirements of each key separately. */
function isSatisfiable(requirements: readonly LabelRequirement[]): boolean {
  return [...Map.groupBy(requirements, ({ key }) => key).values()].every(isSatisfiableKey);
}

function isSatisfiableKey(requirements: readonly LabelRequirement[]): boolean {
  const valuesOf = (operator: LabelRequirement["operator"]): (readonly string[])[] => (
    requirements.filter((one) => one.operator === operator).map(({ values }) => values)
  );
  const mustBeAbsent = valuesOf("DoesNotExist").length > 0;
  const [first, ...others] = valuesOf("In").map((values) => new Set(values));
  // Without an In requirement, there is always a value that NotIn does not exclude.
  if (first === undefined) return !mustBeAbsent || valuesOf("Exists").length === 0;
  const excluded = new Set(valuesOf("NotIn").flat());
  return (
    !mustBeAbsent && [...first].some((value) => !excluded.has(value) && others.every((values) => values.has(value)))
  );
}

function typesOverlap(a: readonly TypeEntry[] | null, b: readonly TypeEntry[] | null): boolean {
  if (a === null || b === null || a.length * b.length > MAX_ENTRY_PAIRS) return true;
  return a.some((one) => b.some((other) => entriesOverlap(one, other)));
}

function entriesOverlap(a: TypeEntry, b: TypeEntry): boolean {
  return partsOverlap(a.group, b.group) && partsOverlap(a.version, b.version) && partsOverlap(a.kind, b.kind);
}

function partsOverlap(a: string, b: string): boolean {
  return a === "" || b === "" || a === b;
}
