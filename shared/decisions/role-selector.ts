import { readSelector, type WrittenLabelSelector, type WrittenRequirement, type WrittenSelector } from "./iamroleselector.ts";
import type { JsonObject } from "./json.ts";
import type { Runtime } from "./checks/check.ts";
import { type CheckedFault, isGrantable, isMalformed, selectorFaults } from "./checks/self-faults.ts";
import { objectMeta } from "./object-meta.ts";
import { isEmptySelector, isOperator, type LabelRequirement, type Labels, labelsSatisfy, type LabelSelector } from "./label-selector.ts";
import { REPLACES_ANNOTATION } from "./selector-annotations.ts";
import { readExtras } from "./session-extras.ts";
import type { SessionExtras } from "./session.ts";
import { effectiveEntry, entryHolds, type Origin, type TypeEntry } from "./type-entry.ts";

/** An IAMRoleSelector that takes part, made ready for matching. A part that is null holds for everything. */
export interface RoleSelector {
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

export interface DecodedSelector {
  /** Null when the selector is malformed and takes no part. */
  readonly selector: RoleSelector | null;
  readonly name: string;
  /** As it is written; "" where it is not. */
  readonly roleARN: string;
  readonly faults: readonly CheckedFault[];
}

/** Decides whether an IAMRoleSelector takes part, and as what. */
export function decodeSelector(object: JsonObject, context: { readonly origin: Origin; readonly runtime: Runtime }): DecodedSelector {
  const faults = selectorFaults(object, context);
  const written = readSelector(object);
  const { arn } = written;
  const says = { replaces: replacedBy(object), extras: readExtras(object, written), grantable: isGrantable(faults) };
  const selector = arn === null || isMalformed(faults, context.runtime) ? null : { ...compile({ ...written, arn }, context), ...says };
  return { selector, name: written.name, roleARN: arn ?? "", faults };
}

function replacedBy(object: JsonObject): ReadonlySet<string> {
  const names = (objectMeta(object).annotations.get(REPLACES_ANNOTATION) ?? "").split(",");
  return new Set(names.map((name) => name.trim()).filter((name) => name !== ""));
}

type Parts = Omit<RoleSelector, "replaces" | "extras" | "grantable">;

function compile(written: WrittenSelector & { readonly arn: string }, context: { readonly origin: Origin; readonly runtime: Runtime }): Parts {
  const names = written.namespaceSelector?.names ?? [];
  const types = written.resourceTypeSelector ?? [];
  return {
    name: written.name,
    resourceVersion: written.resourceVersion,
    roleARN: written.arn,
    namespaces: names.length === 0 ? null : new Set(names),
    namespaceLabels: compileLabels(written.namespaceSelector?.labelSelector ?? null, context.runtime),
    types: types.length === 0 ? null : types.map((entry) => effectiveEntry(entry, context)),
    resourceLabels: compileLabels(written.resourceLabelSelector, context.runtime),
  };
}

/** Under `ack` the expressions are dropped, as the controllers do; IRS-35 reports that. */
function compileLabels(written: WrittenLabelSelector | null, runtime: Runtime): LabelSelector | null {
  if (written === null) return null;
  const matchExpressions = runtime === "ack" ? [] : written.matchExpressions.filter(isRequirement);
  const selector = { matchLabels: [...written.matchLabels], matchExpressions };
  return isEmptySelector(selector) ? null : selector;
}

/** Under `extended` a selector with any other operator is malformed. */
function isRequirement(written: WrittenRequirement): written is WrittenRequirement & LabelRequirement {
  return isOperator(written.operator);
}

export function selectsNamespace(selector: RoleSelector, namespace: string, labels: Labels): boolean {
  return (selector.namespaces === null || selector.namespaces.has(namespace))
    && (selector.namespaceLabels === null || labelsSatisfy(labels, selector.namespaceLabels));
}

/** The part of the decision that is left once the namespace is selected. */
export function selectsWithinNamespace(selector: RoleSelector, type: TypeEntry, labels: Labels): boolean {
  return (selector.types === null || selector.types.some((entry) => entryHolds(entry, type)))
    && (selector.resourceLabels === null || labelsSatisfy(labels, selector.resourceLabels));
}
