import { bindChecks, type BoundChecks } from "../core/bind.ts";
import { waiverChecks } from "../core/binding.ts";
import { type Check, type CheckInput, contextOf, hasOldObject, operationOf, type QuickCheck } from "../core/check.ts";
import type { DecisionSettings } from "../core/context.ts";
import { mutationExemptionOf } from "../core/exemptions.ts";
import type { Judge } from "../core/judge.ts";
import { judgeSelector, SELECTOR_SELF_CHECKS } from "./judge-selector.ts";
import { SELECTOR, SELECTOR_LIKE } from "./kinds.ts";
import { pendingSelectors } from "./pending-selectors.ts";
import { selectorTarget } from "./role-targets.ts";
import { IRS_04, IRS_04_OF_REGION, IRS_05, IRS_07, IRS_24, IRS_25, IRS_27, IRS_40 } from "./selector-account.ts";
import { IRS_48 } from "./selector-breadth.ts";
import { selectorChange, type SelectorChange } from "./selector-change.ts";
import { IRS_17, IRS_18 } from "./selector-conflicts.ts";
import { IRS_00_OF_CRD, IRS_16, IRS_51 } from "./selector-crd.ts";
import { IRS_13, IRS_52 } from "./selector-kinds.ts";
import { IRS_19, IRS_20, IRS_30, IRS_31 } from "./selector-moves.ts";
import { SELECTOR_PROBLEMS } from "./selector-problems.ts";
import { IRS_10, IRS_10_OF_SOME, IRS_22 } from "./selector-reach.ts";
import { IRS_53 } from "./selector-template.ts";
import { completionPatch, type JudgedSelector } from "./selector.ts";
import { storedSelector } from "./stored-objects.ts";

/** The checks that compare a change of an IAMRoleSelector with the stored selector, the inventory or the settings. */
const SELECTOR_CHANGE_CHECKS: readonly Check<SelectorChange>[] = [
  IRS_00_OF_CRD,
  IRS_04,
  IRS_04_OF_REGION,
  IRS_05,
  IRS_07,
  IRS_10,
  IRS_10_OF_SOME,
  IRS_13,
  IRS_52,
  IRS_16,
  IRS_17,
  IRS_18,
  IRS_19,
  IRS_20,
  IRS_22,
  IRS_24,
  IRS_25,
  IRS_27,
  IRS_30,
  IRS_31,
  IRS_40,
];

const SPELLING = [IRS_51];
const TEMPLATE_CHECKS = [IRS_53];

/**
 * Self checks that return the faults that `judgeSelector` has found, so that no self check runs twice for a selector.
 */
const JUDGED_SELECTOR_CHECKS = SELECTOR_SELF_CHECKS.map((check): QuickCheck<JudgedSelector> => ({
  ...check,
  when: ({ faults }) => faults.length > 0,
  find: ({ faults }) => faults.filter(({ code }) => code === check.id),
}));

export const SELECTOR_JUDGE: Judge = {
  kind: SELECTOR,
  checks: [...SELECTOR_SELF_CHECKS, ...SELECTOR_CHANGE_CHECKS, IRS_51, IRS_53],
  bind: (input, settings) => [...spelling(input), ...selectorChecks(input, settings)],
  // Adds the empty fields that ACK's CustomResourceDefinition requires, and rewrites type entries that have the form
  // `{apiVersion, kind}`.
  complete: (object, request) => mutationExemptionOf(request) ?? completionPatch(object),
  namesRoles(input, settings) {
    const { effective } = judgeSelector(input.object, { origin: input.origin, runtime: settings.runtime });
    if (effective === null || exceedsSelectorLimit(input, settings)) return [];
    return [{ path: ["spec", "arn"], target: selectorTarget(effective) }];
  },
  review: { judgesObjectFirst: true, pending: pendingSelectors },
  storeProblems: SELECTOR_PROBLEMS,
  stored: storedSelector,
};

export const SELECTOR_LIKE_JUDGE: Judge = { kind: SELECTOR_LIKE, checks: SPELLING, bind: spelling };

function spelling({ object, inventory = null }: CheckInput): BoundChecks[] {
  return [bindChecks(SPELLING, { object, inventory }, null)];
}

function selectorChecks(input: CheckInput, settings: DecisionSettings): BoundChecks[] {
  const context = { origin: input.origin, runtime: settings.runtime };
  const decoded = judgeSelector(input.object, context);
  const old = hasOldObject(input) ? judgeSelector(input.old, context) : null;
  const selfChecks = bindChecks(JUDGED_SELECTOR_CHECKS, decoded, old);
  const { inventory = null, template } = input;
  if (inventory === null || exceedsSelectorLimit(input, settings)) return [selfChecks];
  const changeContext = contextOf(input, settings, inventory);
  const stored = input.old === null ? null : (old ?? decoded);
  const change = selectorChange(changeContext, input, { decoded, stored });
  // The checks also examine the old selector, to find the faults that it already has.
  const before = old === null ? null : selectorChange(changeContext, input, { decoded: old, stored: old });
  return [
    selfChecks, bindChecks(SELECTOR_CHANGE_CHECKS, change, before), waiverChecks(input, settings),
    ...(template === undefined ? [] : [bindChecks(TEMPLATE_CHECKS, { object: input.object, template }, null)]),
  ];
}

/** Whether the selector exceeds a limit, so that no other check examines it. A user must be able to delete it. */
export function exceedsSelectorLimit(input: CheckInput, { runtime }: DecisionSettings): boolean {
  const { faults } = judgeSelector(input.object, { origin: input.origin, runtime });
  return operationOf(input) !== "DELETE" && faults.some(({ code }) => code === IRS_48.id);
}
