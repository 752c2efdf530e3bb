import { REPLACES_ANNOTATION } from "../annotation-keys.ts";
import type { Fault, SelectorCheck, SelectorSubject } from "../checks/check.ts";
import { SELECTOR_SELF_CHECKS } from "../checks/selectors/self-checks.ts";
import type { Origin, Runtime } from "../context.ts";
import type { FieldPath } from "../kubernetes/field-path.ts";
import type { JsonObject } from "../kubernetes/json.ts";
import { objectMeta } from "../kubernetes/object-meta.ts";
import { compile, type EffectiveSelector } from "./effective.ts";
import { readSelectorSpec, type SelectorSpec } from "./iamroleselector.ts";
import { readExtras } from "./session-annotations.ts";

/** An IAMRoleSelector, read and checked once: the input of every other check, of the inventory and of the grants. */
export interface DecodedSelector {
  readonly object: JsonObject;
  readonly spec: SelectorSpec;
  /** The selector as controllers apply it; null if it is malformed. */
  readonly effective: EffectiveSelector | null;
  readonly name: string;
  /** `spec.arn`; "" if it is missing. */
  readonly roleARN: string;
  readonly faults: readonly CheckedFault[];
}

/** Reads an IAMRoleSelector, runs every self check once, and decides whether it is effective. */
export function decodeSelector(
  object: JsonObject, context: { readonly origin: Origin; readonly runtime: Runtime },
): DecodedSelector {
  const spec = readSelectorSpec(object);
  const faults = selectorFaults({ object, spec, ...context });
  const { arn, name } = spec;
  if (arn === null || isMalformed(faults, context.runtime)) return { object, spec, effective: null, name, roleARN: arn ?? "", faults };
  const annotations = { replaces: replacedBy(object), extras: readExtras(object, spec), grantable: isGrantable(faults) };
  return { object, spec, effective: { ...compile({ ...spec, arn }, context), ...annotations }, name, roleARN: arn, faults };
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
 * Returns every fault that the selector shows without any other object, in the order of the catalogue. Below a value of the wrong type
 * no other fault is reported.
 */
function selectorFaults(subject: SelectorSubject): CheckedFault[] {
  const found = SELECTOR_SELF_CHECKS.flatMap((check) => [...check.find(subject)].map((fault) => ({ check, fault })));
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
