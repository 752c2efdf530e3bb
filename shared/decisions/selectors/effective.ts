import type { Origin, Runtime } from "../context.ts";
import {
  isEmptySelector, isOperator, type LabelRequirement, type Labels, type LabelSelector, labelsSatisfy,
} from "../kubernetes/label-selector.ts";
import type { LabelRequirementSpec, LabelSelectorSpec, SelectorSpec } from "./iamroleselector.ts";
import type { SessionExtras } from "./session.ts";
import { effectiveEntry, entryHolds, type TypeEntry } from "./type-entry.ts";

/** An IAMRoleSelector that takes part, made ready for matching. A part that is null holds for everything. */
export interface EffectiveSelector {
  readonly name: string;
  readonly resourceVersion: string | null;
  readonly roleARN: string;
  readonly namespaces: ReadonlySet<string> | null;
  readonly namespaceLabels: LabelSelector | null;
  readonly types: readonly TypeEntry[] | null;
  readonly resourceLabels: LabelSelector | null;
  /** The selectors that it says it replaces: an overlap with them is meant, and ends with their removal. */
  readonly replaces: ReadonlySet<string>;
  /** What it asks of the sessions of its role, with every template filled in but `{group}`. */
  readonly extras: SessionExtras;
  /** Whether a role may be granted on it: it has no fault but waivable ones. */
  readonly grantable: boolean;
}

type Parts = Omit<EffectiveSelector, "replaces" | "extras" | "grantable">;

export function compile(spec: SelectorSpec & { readonly arn: string }, context: { readonly origin: Origin; readonly runtime: Runtime }): Parts {
  const names = spec.namespaceSelector?.names ?? [];
  const types = spec.resourceTypeSelector ?? [];
  return {
    name: spec.name,
    resourceVersion: spec.resourceVersion,
    roleARN: spec.arn,
    namespaces: names.length === 0 ? null : new Set(names),
    namespaceLabels: compileLabels(spec.namespaceSelector?.labelSelector ?? null, context.runtime),
    types: types.length === 0 ? null : types.map((entry) => effectiveEntry(entry, context)),
    resourceLabels: compileLabels(spec.resourceLabelSelector, context.runtime),
  };
}

/** Under `ack` the expressions are dropped, as the controllers do; IRS-35 reports that. */
function compileLabels(spec: LabelSelectorSpec | null, runtime: Runtime): LabelSelector | null {
  if (spec === null) return null;
  const matchExpressions = runtime === "ack" ? [] : spec.matchExpressions.filter(isRequirement);
  const selector = { matchLabels: [...spec.matchLabels], matchExpressions };
  return isEmptySelector(selector) ? null : selector;
}

/** Under `extended` a selector with any other operator is malformed. */
function isRequirement(spec: LabelRequirementSpec): spec is LabelRequirementSpec & LabelRequirement {
  return isOperator(spec.operator);
}

export function selectsNamespace(selector: EffectiveSelector, namespace: string, labels: Labels): boolean {
  return (selector.namespaces === null || selector.namespaces.has(namespace))
    && (selector.namespaceLabels === null || labelsSatisfy(labels, selector.namespaceLabels));
}

/** The part of the decision that is left once the namespace is selected. */
export function selectsWithinNamespace(selector: EffectiveSelector, type: TypeEntry, labels: Labels): boolean {
  return (selector.types === null || selector.types.some((entry) => entryHolds(entry, type)))
    && (selector.resourceLabels === null || labelsSatisfy(labels, selector.resourceLabels));
}
