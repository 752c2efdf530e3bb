import { judgeSelector, SELECTOR_SELF_CHECKS } from "./judge-selector.ts";
import { SELECTOR, SELECTOR_LIKE } from "./kinds.ts";
import { pendingSelectors } from "./pending-selectors.ts";
import { selectorTarget } from "./role-targets.ts";
import { IRS_04, IRS_04_OF_REGION, IRS_05, IRS_07, IRS_24, IRS_25, IRS_27, IRS_40 } from "./selector-account.ts";
import { IRS_15, IRS_48 } from "./selector-breadth.ts";
import { selectorChange, type SelectorChange } from "./selector-change.ts";
import { IRS_17, IRS_18, overlappingSelectors } from "./selector-conflicts.ts";
import { IRS_00_OF_CRD, IRS_16, IRS_51 } from "./selector-crd.ts";
import { IRS_13, IRS_52 } from "./selector-kinds.ts";
import { IRS_19, IRS_20, IRS_30, IRS_31 } from "./selector-moves.ts";
import { IRS_10, IRS_10_OF_RESOURCES, IRS_10_OF_SOME, IRS_22 } from "./selector-reach.ts";
import { restoreRestrictions } from "./selector-repairs.ts";
import { IRS_53 } from "./selector-template.ts";
import { IRS_57 } from "./selector-widening.ts";
import { completionPatch, type JudgedSelector, type SelectorFault } from "./selector.ts";
import { SELECTORS } from "./selectors.ts";
import { storedSelector } from "./stored-objects.ts";
import { EXTERNAL_ID_ANNOTATION } from "../core/annotation-keys.ts";
import { bindChecks, type BoundChecks } from "../core/bind.ts";
import { waiverChecks } from "../core/binding.ts";
import {
  type Check, type CheckInput, contextOf, findingSentences, hasOldObject, operationOf, type QuickCheck,
} from "../core/check.ts";
import type { DecisionSettings } from "../core/context.ts";
import { selectorSubject } from "../core/event-subjects.ts";
import { mutationExemptionOf } from "../core/exemptions.ts";
import type { Judge } from "../core/judge.ts";
import { noteOf, type Problem, type StoreProblems } from "../core/problem.ts";
import { by, type Repair, set } from "../core/repair.ts";
import { formatFieldPath } from "../formats/json.ts";
import { paced } from "../formats/paced.ts";
import { listOf } from "../formats/text.ts";

/** A note has room for a few faults. `audit` lists all faults. */
const MAX_FAULTS = 3;
const BETWEEN_PAUSES = 5;
const NONE: ReadonlySet<string> = new Set();

const OVERLAP_FIX = "restrict the selectors so that only one of them selects each resource, or name the replaced "
  + "selector in the annotation ack-role-resolver.io/replaces";

/** The faulty IAMRoleSelectors, and those that can select the same resources. */
const SELECTOR_PROBLEMS: StoreProblems = {
  revision: (inventory) => inventory.of(SELECTORS).revision,
  * scan({ inventory }, report) {
    const selectors = inventory.of(SELECTORS);
    yield* paced([...selectors.faulty.values()], BETWEEN_PAUSES, (selector) => {
      report(faultProblem(selector, selectors.malformed.has(selector.name)));
      return true;
    });
    // With --runtime extended, an annotation of a resource chooses one of several selectors.
    if (inventory.runtime === "extended") return;
    for (const selector of selectors.values()) {
      // A namespace that does not exist has no resources. IRS-17 and NS-01 check the writes that change this.
      const names = yield* overlappingSelectors(inventory, selector, NONE, "existing");
      yield 0;
      if (names.length === 0) continue;
      const message = `the selector can select the same resources as ${listOf(names)}, and controllers do not `
        + "reconcile a resource that two selectors select";
      report({ subject: selectorSubject(selector), reason: "SelectorsOverlap", note: noteOf(message, OVERLAP_FIX) });
    }
  },
};

function faultProblem({ name, spec: { uid }, faults }: JudgedSelector, isMalformed: boolean): Problem {
  const denying = faults.filter((one) => one.withholdsGrant);
  const texts = denying.slice(0, MAX_FAULTS).map(({ code, path, message, fix }) => {
    // The message of a fault can quote the value, and an external ID is a secret.
    const isSecret = path.some((part) => typeof part === "object" && part.key === EXTERNAL_ID_ANNOTATION);
    const text = findingSentences({ message: isSecret ? "the value is not valid" : message, fix });
    return `${code} ${formatFieldPath(path)}: ${text}`;
  });
  const effect = isMalformed ? "Controllers ignore this selector." : "Sidecars grant no role of this selector.";
  const others = denying.length - texts.length;
  const more = others > 0 ? ` ${others} more: run \`ack-role-resolver audit --cluster\`.` : "";
  return {
    subject: selectorSubject({ name, uid }), reason: isMalformed ? "MalformedSelector" : "FaultySelector",
    note: `${effect} ${texts.join(" ")}${more}`,
  };
}

/** The checks that compare a change of an IAMRoleSelector with the stored selector, the inventory or the settings. */
const SELECTOR_CHANGE_CHECKS: readonly Check<SelectorChange>[] = [
  IRS_00_OF_CRD,
  IRS_04,
  IRS_04_OF_REGION,
  IRS_05,
  IRS_07,
  IRS_10,
  IRS_10_OF_SOME,
  IRS_10_OF_RESOURCES,
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
  IRS_57,
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
  const selfChecks = bindChecks(JUDGED_SELECTOR_CHECKS, old === null ? decoded : withUpdateRepairs(decoded, old), old);
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

/** Returns the selector with the repairs that an update allows: no role of a stored selector may change. */
function withUpdateRepairs(selector: JudgedSelector, old: JudgedSelector): JudgedSelector {
  if (selector.faults.length === 0) return selector;
  const faults = selector.faults.map((fault): SelectorFault => {
    const isRole = formatFieldPath(fault.path) === "spec.arn";
    if (isRole && old.spec.arn !== null) return { ...fault, repairs: restoredRole(selector, old.spec.arn) };
    if (fault.code !== IRS_15.id || fault.severity === "warn") return fault;
    const isNew = !old.faults.some(({ code, severity }) => code === IRS_15.id && severity !== "warn");
    return isNew ? { ...fault, repairs: restoreRestrictions(selector.object, old.object) } : fault;
  });
  return { ...selector, faults };
}

function restoredRole({ spec: { arn } }: JudgedSelector, old: string): readonly Repair[] {
  return arn === old ? [] : by(set(["spec", "arn"], old));
}

/** Whether the selector exceeds a limit, so that no other check examines it. A user must be able to delete it. */
export function exceedsSelectorLimit(input: CheckInput, { runtime }: DecisionSettings): boolean {
  const { faults } = judgeSelector(input.object, { origin: input.origin, runtime });
  return operationOf(input) !== "DELETE" && faults.some(({ code }) => code === IRS_48.id);
}
