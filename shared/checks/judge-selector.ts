import type { FieldPath, JsonObject } from "../formats/json.ts";
import {
  decodeSelector, type DecodedSelector, type JudgedSelector, type SelectorContext, type SelectorFault, withFaults,
} from "../model/selector.ts";
import type { CheckEntry, Fault, SelectorCheck } from "./check.ts";
import { IRS_15, IRS_48 } from "./selector-breadth.ts";
import { IRS_08, IRS_09, IRS_11, IRS_35 } from "./selector-matches.ts";
import { IRS_01, IRS_02, IRS_03 } from "./selector-role.ts";
import { IRS_42, IRS_43, IRS_44, IRS_45, IRS_46, IRS_47 } from "./selector-session.ts";
import { IRS_00 } from "./selector-shape.ts";
import { IRS_12, IRS_13B } from "./selector-types.ts";

const CHECKS_WITHIN_LIMITS: readonly SelectorCheck[] = [
  IRS_00, IRS_01, IRS_02, IRS_03, IRS_08, IRS_09, IRS_11, IRS_12, IRS_13B, IRS_15, IRS_35, IRS_42,
  IRS_43, IRS_44, IRS_45, IRS_46, IRS_47,
];

/** The checks that need only the IAMRoleSelector itself. They decide whether it is effective and grants its role. */
export const SELECTOR_SELF_CHECKS: readonly SelectorCheck[] = [...CHECKS_WITHIN_LIMITS, IRS_48];

/** Decodes an IAMRoleSelector, and runs its self checks. */
export function judgeSelector(object: JsonObject, context: SelectorContext): JudgedSelector {
  const decoded = decodeSelector(object, context);
  return withFaults(decoded, selectorFaults(decoded));
}

/**
 * Returns the faults of every self check, in catalog order. If a value has a wrong type, omits all other faults of this
 * value and of its fields.
 */
function selectorFaults(decoded: DecodedSelector): SelectorFault[] {
  const excess = faultsOf(IRS_48, decoded);
  if (excess.length > 0) return excess;
  const found = CHECKS_WITHIN_LIMITS.flatMap((check) => faultsOf(check, decoded));
  const misshapen = new Set(found.filter(isMisshapen).map(({ path }) => JSON.stringify(path)));
  return misshapen.size === 0 ? found : found.filter((one) => isMisshapen(one) || !isAtOrBelow(one.path, misshapen));
}

/** Whether the fault is a value of a wrong type. */
function isMisshapen({ code, dropsSelector }: SelectorFault): boolean {
  return code === IRS_00.id && dropsSelector === true;
}

function faultsOf(check: SelectorCheck, decoded: DecodedSelector): SelectorFault[] {
  const { id: code, fix } = check;
  return Array.from(check.find(decoded), (fault) => (
    { fix, ...fault, code, withholdsGrant: withholdsGrant(check, fault) }
  ));
}

/** Whether the fault withholds the role of a selector, so that a check that is off by default never does. */
export function withholdsGrant(
  { severity, waivable }: Pick<CheckEntry, "severity" | "waivable">, fault: Pick<Fault, "severity">,
): boolean {
  return severity === "deny" && waivable !== true && fault.severity !== "warn";
}

function isAtOrBelow(path: FieldPath, tops: ReadonlySet<string>): boolean {
  return path.some((_, i) => tops.has(JSON.stringify(path.slice(0, i + 1))));
}
