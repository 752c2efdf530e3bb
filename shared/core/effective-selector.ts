import type { Origin, Runtime } from "./context.ts";
import {
  isEmptySelector, isOperator, type LabelRequirement, type LabelRequirementSpec, type Labels, type LabelSelector,
  type LabelSelectorSpec, satisfies,
} from "../formats/label-selector.ts";
import type { SelectorSpec } from "./iamroleselector.ts";
import type { SessionExtras } from "./session.ts";
import { effectiveEntry, type TypeEntry, TypeSet } from "./resource-types.ts";

/** An IAMRoleSelector as controllers apply it, ready for matching. A condition that is null matches everything. */
export interface EffectiveSelector {
  readonly name: string;
  readonly resourceVersion: string | null;
  /** Null for a selector in a manifest. */
  readonly uid: string | null;
  readonly roleARN: string;
  readonly namespaces: ReadonlySet<string> | null;
  readonly namespaceLabels: LabelSelector | null;
  readonly types: TypeSet | null;
  readonly resourceLabels: LabelSelector | null;
  /**
   * The names of the selectors that this selector replaces. An overlap with a replaced selector is intended until that
   * selector is deleted.
   */
  readonly replaces: ReadonlySet<string>;
  /** The session settings of the role. Every template in the settings except `{group}` is filled in. */
  readonly extras: SessionExtras;
  /** Whether the sidecar may grant the role: the selector has no non-waivable deny fault. */
  readonly grantable: boolean;
}

/** Whether the labels of a resource decide whether the selector selects it. */
export function readsResourceLabels(selector: EffectiveSelector | undefined): boolean {
  return selector !== undefined && selector.resourceLabels !== null;
}

type CompiledSpec = Omit<EffectiveSelector, "replaces" | "extras" | "grantable">;

interface Context {
  readonly origin: Origin;
  readonly runtime: Runtime;
}

/** Compiles the spec of a well-formed selector for matching. */
export function compileSpec(spec: SelectorSpec & { readonly arn: string }, context: Context): CompiledSpec {
  const names = spec.namespaceSelector?.names ?? [];
  const types = spec.resourceTypeSelector ?? [];
  return {
    name: spec.name,
    resourceVersion: spec.resourceVersion,
    uid: spec.uid,
    roleARN: spec.arn,
    namespaces: names.length === 0 ? null : new Set(names),
    namespaceLabels: compileLabels(spec.namespaceSelector?.labelSelector ?? null, context.runtime),
    types: types.length === 0 ? null : new TypeSet(types.map((entry) => effectiveEntry(entry, context))),
    resourceLabels: compileLabels(spec.resourceLabelSelector, context.runtime),
  };
}

/**
 * Compiles a label selector. With `--runtime ack`, drops `matchExpressions` as shipped controllers do; IRS-35 denies
 * such selectors.
 */
function compileLabels(spec: LabelSelectorSpec | null, runtime: Runtime): LabelSelector | null {
  if (spec === null) return null;
  const matchExpressions = runtime === "ack" ? [] : spec.matchExpressions.filter(isRequirement);
  const selector = { matchLabels: [...spec.matchLabels], matchExpressions };
  return isEmptySelector(selector) ? null : selector;
}

/**
 * Whether the operator is valid. The result is always true for a well-formed selector, because IRS-11 denies other
 * operators.
 */
function isRequirement(spec: LabelRequirementSpec): spec is LabelRequirementSpec & LabelRequirement {
  return isOperator(spec.operator);
}

/** Whether the selector selects a namespace that has the given name and labels. */
export function selectsNamespace(selector: EffectiveSelector, namespace: string, labels: Labels): boolean {
  return (selector.namespaces === null || selector.namespaces.has(namespace))
    && (selector.namespaceLabels === null || satisfies(labels, selector.namespaceLabels));
}

/**
 * Whether the selector selects a resource that has the given type and labels. Does not check the namespace of the
 * resource, which the caller must check.
 */
export function selectsWithinNamespace(selector: EffectiveSelector, type: TypeEntry, labels: Labels): boolean {
  return (selector.types === null || selector.types.matches(type))
    && (selector.resourceLabels === null || satisfies(labels, selector.resourceLabels));
}
