import type { FieldPath } from "../field-path.ts";
import { readSelector } from "../iamroleselector.ts";
import type { JsonObject } from "../json.ts";
import type { Origin } from "../type-entry.ts";
import { SELECTOR_CHECKS } from "./catalogue.ts";
import type { Check, Fault, Runtime, SelectorSubject } from "./check.ts";

/** A fault and the check that found it. */
export interface CheckedFault {
  readonly check: Check<SelectorSubject>;
  readonly fault: Fault;
}

/**
 * Every fault of an IAMRoleSelector that can be told from the object alone, in the catalogue's order. Below a value of the
 * wrong type nothing else is reported, since there is nothing to judge.
 */
export function selectorFaults(object: JsonObject, { origin, runtime }: { origin: Origin; runtime: Runtime }): CheckedFault[] {
  const subject = { object, written: readSelector(object), origin, runtime };
  const found = SELECTOR_CHECKS.flatMap((check) => [...check.find(subject)].map((fault) => ({ check, fault })));
  const misshapen = found.filter(({ check, fault }) => check.id === "IRS-00" && fault.dropsSelector === true);
  return found.filter((one) => misshapen.includes(one) || !misshapen.some(({ fault }) => isAtOrBelow(one.fault.path, fault.path)));
}

function isAtOrBelow(path: FieldPath, top: FieldPath): boolean {
  return top.length <= path.length && top.every((step, i) => JSON.stringify(step) === JSON.stringify(path[i]));
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
