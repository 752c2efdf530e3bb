import type { FieldPath } from "../field-path.ts";
import { readSelector } from "../iamroleselector.ts";
import type { JsonObject } from "../json.ts";
import type { Origin } from "../type-entry.ts";
import type { Fault, Runtime, SelectorCheck } from "./check.ts";
import { SELECTOR_CHECKS } from "./selector-checks.ts";

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
  const subject = { object, written: readSelector(object), origin, runtime };
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
