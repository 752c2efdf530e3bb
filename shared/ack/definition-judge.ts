import { definedKind } from "../core/ack-groups.ts";
import type { AdmissionRequest } from "../core/admission.ts";
import { bindChecks, type BoundChecks } from "../core/bind.ts";
import { waiverChecks } from "../core/binding.ts";
import { type CheckInput, contextOf } from "../core/check.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Judge } from "../core/judge.ts";
import { DEFINITION_CHECKS, KIND_DELETION_CHECKS } from "./definitions.ts";
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
export const OTHER_DEFINITION_JUDGE: Judge = { ...common, kind: OTHER_DEFINITION };

function bind(input: CheckInput, settings: DecisionSettings): BoundChecks[] {
  const { inventory = null, object, storedSelectors: selectors = [] } = input;
  if (inventory === null) return [waiverChecks(input, settings)];
  const deletion = { ...contextOf(input, settings, inventory), ...definedKind(object) };
  const stored = { ...definedKind(object), inventory, selectors, extraGroups: settings.injection.extraGroups };
  return [
    bindChecks(KIND_DELETION_CHECKS, deletion, null), bindChecks(DEFINITION_CHECKS, stored, null),
    waiverChecks(input, settings),
  ];
}
