import { REPLACES_ANNOTATION } from "../annotation-keys.ts";
import type { Fault, SelectorCheck } from "../checks/check.ts";
import { SELECTOR_CHECKS } from "../checks/selectors/self-checks.ts";
import type { Origin, Runtime } from "../context.ts";
import type { FieldPath } from "../kubernetes/field-path.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import { objectMeta } from "../kubernetes/object-meta.ts";
import { compile, type EffectiveSelector } from "./effective.ts";
import { readSelectorSpec } from "./iamroleselector.ts";
import { readExtras } from "./session-annotations.ts";

export interface DecodedSelector {
  /** Null when the selector is malformed and takes no part. */
  readonly effective: EffectiveSelector | null;
  readonly name: string;
  /** As it is written; "" where it is not. */
  readonly roleARN: string;
  readonly faults: readonly CheckedFault[];
}

/** Decides whether an IAMRoleSelector takes part, and as what. */
export function decodeSelector(object: JsonObject, context: { readonly origin: Origin; readonly runtime: Runtime }): DecodedSelector {
  const faults = selectorFaults(object, context);
  const spec = readSelectorSpec(object);
  const { arn } = spec;
  const says = { replaces: replacedBy(object), extras: readExtras(object, spec), grantable: isGrantable(faults) };
  const selector = arn === null || isMalformed(faults, context.runtime) ? null : { ...compile({ ...spec, arn }, context), ...says };
  return { effective: selector, name: spec.name, roleARN: arn ?? "", faults };
}

function replacedBy(object: JsonObject): ReadonlySet<string> {
  const names = (objectMeta(object).annotations.get(REPLACES_ANNOTATION) ?? "").split(",");
  return new Set(names.map((name) => name.trim()).filter((name) => name !== ""));
}

/** A fault and the check that found it. */
export interface CheckedFault {
  readonly check: SelectorCheck;
  readonly fault: Fault;
}

/**
 * Every fault of an IAMRoleSelector that can be told from the object alone, in the catalogue's order. Below a value of the
 * wrong type nothing else is reported, since there is nothing to judge.
 */
export function selectorFaults(object: JsonObject, { origin, runtime }: { origin: Origin; runtime: Runtime }): CheckedFault[] {
  const subject = { object, spec: readSelectorSpec(object), origin, runtime };
  const found = SELECTOR_CHECKS.flatMap((check) => [...check.find(subject)].map((fault) => ({ check, fault })));
  const isMisshapen = ({ check, fault }: CheckedFault): boolean => check.id === "IRS-00" && fault.dropsSelector === true;
  const misshapen = new Set(found.filter(isMisshapen).map(({ fault }) => JSON.stringify(fault.path)));
  return misshapen.size === 0 ? found : found.filter((one) => isMisshapen(one) || !isAtOrBelow(one.fault.path, misshapen));
}

function isAtOrBelow(path: FieldPath, tops: ReadonlySet<string>): boolean {
  return path.some((_, i) => tops.has(JSON.stringify(path.slice(0, i + 1))));
}

/**
 * Whether the selector takes no part. Under `ack` that is what the shipped controllers drop, under `extended` any fault that
 * a check denies and nobody can waive. Severities set by users change neither.
 */
export function isMalformed(faults: readonly CheckedFault[], runtime: Runtime): boolean {
  return runtime === "ack" ? faults.some(({ fault }) => fault.dropsSelector === true) : !isGrantable(faults);
}

/** Whether a role may be granted on the selector: it has no fault that a check denies, waivable ones aside. */
export function isGrantable(faults: readonly CheckedFault[]): boolean {
  return faults.every(({ check }) => check.severity === "warn" || check.waivable);
}
