import type { FieldPath, JsonObject } from "../formats/json.ts";
import {
  decodeSelector, type DecodedSelector, type JudgedSelector, type SelectorCheck, type SelectorContext,
  type SelectorFault, withFaults,
} from "./selector.ts";
import { type CheckEntry, type Fault, findFaults, fixOfFault } from "../core/check.ts";
import { IRS_15, IRS_48 } from "./selector-breadth.ts";
import { IRS_08, IRS_09, IRS_11, IRS_35 } from "./selector-matches.ts";
import { IRS_54, IRS_55, IRS_56 } from "./selector-policy.ts";
import { IRS_01, IRS_02, IRS_03 } from "./selector-role.ts";
import { IRS_42, IRS_43, IRS_44, IRS_45, IRS_46, IRS_47 } from "./selector-session.ts";
import { IRS_00 } from "./selector-shape.ts";
import { IRS_12, IRS_13B } from "./selector-types.ts";

const CHECKS_WITHIN_LIMITS: readonly SelectorCheck[] = [
  IRS_00, IRS_01, IRS_02, IRS_03, IRS_08, IRS_09, IRS_11, IRS_12, IRS_13B, IRS_15, IRS_35, IRS_42,
  IRS_43, IRS_44, IRS_45, IRS_46, IRS_47, IRS_54, IRS_55, IRS_56,
];

/** The checks of settings that annotations add. They find nothing in a selector without them, as most are. */
const OF_ANNOTATIONS: ReadonlySet<SelectorCheck> = new Set([
  IRS_42, IRS_43, IRS_44, IRS_45, IRS_46, IRS_47, IRS_54, IRS_55, IRS_56,
]);
const CHECKS_WITHOUT_ANNOTATIONS = CHECKS_WITHIN_LIMITS.filter((check) => !OF_ANNOTATIONS.has(check));

/** The checks that need only the IAMRoleSelector itself. They decide whether it is effective and grants its role. */
export const SELECTOR_SELF_CHECKS: readonly SelectorCheck[] = [...CHECKS_WITHIN_LIMITS, IRS_48];

/** Caches the selectors of each origin and runtime: objects do not change, and several steps of a review judge them. */
const JUDGED = new Map<string, WeakMap<JsonObject, JudgedSelector>>();

/** Decodes an IAMRoleSelector, and runs its self checks. A source calls it, which reads each object only once. */
export function judgeStored(object: JsonObject, context: SelectorContext): JudgedSelector {
  const decoded = decodeSelector(object, context);
  return withFaults(decoded, selectorFaults(decoded));
}

/** Like `judgeStored`, but remembers the result while the object exists. */
export function judgeSelector(object: JsonObject, context: SelectorContext): JudgedSelector {
  const key = `${context.origin} ${context.runtime}`;
  const cache = JUDGED.get(key) ?? new WeakMap<JsonObject, JudgedSelector>();
  JUDGED.set(key, cache);
  const known = cache.get(object);
  if (known !== undefined) return known;
  const judged = judgeStored(object, context);
  cache.set(object, judged);
  return judged;
}

/**
 * Returns the faults of every self check, in catalog order. If a value has a wrong type, omits all other faults of this
 * value and of its fields.
 */
function selectorFaults(decoded: DecodedSelector): SelectorFault[] {
  const found: SelectorFault[] = [];
  addFaults(found, IRS_48, decoded);
  if (found.length > 0) return found;
  const checks = decoded.isAnnotated ? CHECKS_WITHIN_LIMITS : CHECKS_WITHOUT_ANNOTATIONS;
  for (const check of checks) addFaults(found, check, decoded);
  if (found.length === 0) return found;
  const misshapen = new Set(found.filter(isMisshapen).map(({ path }) => JSON.stringify(path)));
  return misshapen.size === 0 ? found : found.filter((one) => isMisshapen(one) || !isAtOrBelow(one.path, misshapen));
}

/** Whether the fault is a value of a wrong type. */
function isMisshapen({ code, dropsSelector }: SelectorFault): boolean {
  return code === IRS_00.id && dropsSelector === true;
}

function addFaults(found: SelectorFault[], check: SelectorCheck, decoded: DecodedSelector): void {
  const { id: code, fix } = check;
  for (const fault of findFaults(check, decoded)) {
    found.push({ ...fault, fix: fixOfFault(fault, fix), code, withholdsGrant: withholdsGrant(check, fault) });
  }
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
