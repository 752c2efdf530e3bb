import { META_01 } from "./any-kind.ts";
import { bindChecks, type BoundChecks } from "./bind.ts";
import { type Check, type CheckContext, type CheckInput, contextOf, hasOldObject, operationOf } from "./check.ts";
import type { DecisionSettings } from "./context.ts";
import { Inventory } from "./inventory.ts";
import type { Bind } from "./judge.ts";
import { kindTable } from "./kind-table.ts";
import type { LimitCheck } from "./size-limits.ts";
import { WAIVER_01 } from "./waiver.ts";

// How most kinds bind their checks to a change.

// The lists are constants, because `plannedChecks` (plan.ts) remembers what applies of a list.
const META_CHECKS = [META_01];
const WAIVER_CHECKS = [WAIVER_01];

/**
 * Returns the checks of an object, or only the limit check and WAIVER-01 if the object exceeds a limit. The limit check
 * only warns controllers, and WAIVER-01 reads a limited part of one annotation.
 */
export function within(limit: LimitCheck, checks: Bind): Bind {
  const limits = [limit] as const;
  return (input, settings) => {
    const ofWaivers = waiverChecks(input, settings);
    if (exceeds(limit, input)) return [bindChecks(limits, input.object, null), ofWaivers];
    return [...checks(input, settings), bindChecks(META_CHECKS, input.object, input.old), ofWaivers];
  };
}

/** False at DELETE, because users must be able to delete an object that was stored before the limit existed. */
export function exceeds(limit: LimitCheck, input: CheckInput): boolean {
  const [excess] = operationOf(input) === "DELETE" ? [] : limit.find(input.object);
  return excess !== undefined;
}

/** Whether only the limit of an object is checked, because the object exceeds it. */
export function isLimited(bound: readonly BoundChecks[]): boolean {
  return bound.some(({ checks: [first, ...others] }) => first?.fixed === true && others.length === 0);
}

/** Returns the check of the waivers of the object, which applies to every kind. */
export function waiverChecks({ object, old, requester }: CheckInput, settings: DecisionSettings): BoundChecks {
  return bindChecks(WAIVER_CHECKS, { object, old, requester, settings }, null);
}

/**
 * Binds the checks to the change that they examine. Without an inventory, the checks run on an empty inventory. Binds
 * no check if `subjectOf` returns null.
 */
export function ofChange<Subject>(
  checks: readonly Check<Subject>[], subjectOf: (input: CheckInput, context: CheckContext) => Subject | null,
): Bind {
  return (input, settings) => {
    const { origin } = input;
    const inventory = input.inventory ?? new Inventory({ runtime: settings.runtime, origin }, NO_KINDS);
    const context = contextOf(input, settings, inventory);
    const subjects = [subjectOf(input, context)].filter((subject) => subject !== null);
    // The checks also examine the old object, to find the faults that it already has.
    const old = hasOldObject(input) ? subjectOf({ ...input, object: input.old }, context) : null;
    return subjects.map((subject) => bindChecks(checks, subject, old));
  };
}

const NO_KINDS = { ...kindTable([]), roleSources: [] };
