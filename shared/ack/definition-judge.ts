import { definedKind } from "../core/ack-groups.ts";
import type { AdmissionRequest } from "../core/admission.ts";
import { bindChecks, type BoundChecks } from "../core/bind.ts";
import { waiverChecks } from "../core/binding.ts";
import { type CheckInput, contextOf } from "../core/check.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Judge } from "../core/judge.ts";
import { noteOf, type Problem, type ProblemScope } from "../core/problem.ts";
import { paced } from "../formats/paced.ts";
import { AUD_08, AUD_09, DEFINITION_CHECKS, KIND_DELETION_CHECKS } from "./definitions.ts";
import { OTHER_DEFINITION, RESOURCE_DEFINITION, SELECTOR_DEFINITION } from "./kinds.ts";
import { storedDefinition } from "./stored-objects.ts";

const checks = [...KIND_DELETION_CHECKS, ...DEFINITION_CHECKS];

/** How CustomResourceDefinitions are judged: only `audit` judges them in files. */
const common = {
  checks, bind, isCheckedInFiles: () => false, stored: storedDefinition,
  // Only WAIVER-01 applies to a definition that is not deleted.
  readsInventory: (operation: AdmissionRequest["operation"]) => operation === "DELETE",
};

export const SELECTOR_DEFINITION_JUDGE: Judge = { ...common, kind: SELECTOR_DEFINITION };
export const RESOURCE_DEFINITION_JUDGE: Judge = { ...common, kind: RESOURCE_DEFINITION };
export const OTHER_DEFINITION_JUDGE: Judge = {
  ...common, kind: OTHER_DEFINITION,
  storeProblems: {
    * scan(scope, report) {
      yield* paced(definitionProblems(scope), BETWEEN_PAUSES, (problem) => {
        report(problem);
        return true;
      });
    },
  },
};

const BETWEEN_PAUSES = 200;

function bind(input: CheckInput, settings: DecisionSettings): BoundChecks[] {
  const { inventory = null, object, storedSelectors: selectors = [] } = input;
  if (inventory === null) return [waiverChecks(input, settings)];
  const deletion = { ...contextOf(input, settings, inventory), ...definedKind(object), object };
  const stored = { ...definedKind(object), inventory, selectors, extraGroups: settings.injection.extraGroups };
  return [
    bindChecks(KIND_DELETION_CHECKS, deletion, null), bindChecks(DEFINITION_CHECKS, stored, null),
    waiverChecks(input, settings),
  ];
}

/** Yields a problem for each ACK kind of an unknown group, and for a CRD of IAMRoleSelector that lacks fields. */
function* definitionProblems({ inventory, settings }: ProblemScope): Iterable<Problem> {
  for (const { group, kind, name, uid } of inventory.kinds.definitions()) {
    const subject = {
      apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", namespace: "", name, uid,
    };
    const stored = { group, kind, inventory, selectors: [], extraGroups: settings.injection.extraGroups };
    const missing = Array.from(AUD_08.find(stored), ({ message }) => message);
    if (missing.length > 0) {
      yield { subject, reason: "SelectorFieldsPruned", note: noteOf(missing.join("; "), AUD_08.fix) };
    }
    for (const { message } of AUD_09.find(stored)) {
      yield { subject, reason: "UnknownACKGroup", note: noteOf(message, AUD_09.fix) };
    }
  }
}
