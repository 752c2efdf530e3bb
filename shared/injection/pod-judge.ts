import type { JsonObject } from "../formats/json.ts";
import type { Judge } from "../core/judge.ts";
import { Inventory } from "../core/inventory.ts";
import { bindChecks, bindIn, type BoundChecks } from "../core/bind.ts";
import { POD_01, POD_02, POD_03, type PodCreation, podCreation } from "./pod-request.ts";
import { POD_04, POD_05, POD_09, POD_11 } from "./pod-sidecar.ts";
import { POD_06, POD_07, POD_08 } from "./pod-credentials.ts";
import type { DecisionSettings } from "../core/context.ts";
import { within } from "../core/binding.ts";
import { limitCheck } from "../core/size-limits.ts";
import { isPod, type PodTemplate, podTemplateOf, requestsSidecar } from "../core/pod.ts";
import { type CheckInput, operationOf, type QuickCheck } from "../core/check.ts";
import { POD } from "./kinds.ts";
import { namespaceOrDefault, objectReference } from "../formats/object-meta.ts";
/** The checks that run when a Pod that requests a sidecar is created. */
export const POD_CHECKS: readonly QuickCheck<PodCreation>[] = [
  POD_01, POD_02, POD_03, POD_04, POD_05, POD_06, POD_07, POD_08, POD_09, POD_11,
];

/**
 * The checks of a Pod before the webhook injects the sidecar. POD-09 is not part of them, because the identity webhook
 * of EKS can add the region.
 */
const OF_TEMPLATES = POD_CHECKS.filter((check) => check !== POD_04 && check !== POD_09);
const LIMIT = limitCheck(POD.limit);

/** Binds the checks of a Pod, or of the Pod that a workload creates. */
export const bindPod = within(LIMIT, podChecks);

export const POD_JUDGE: Judge = {
  kind: POD, checks: [...POD_CHECKS, LIMIT],
  // The checks ask what the webhook would inject now, which says nothing about a Pod that runs.
  bind: (input, settings) => (
    input.origin === "cluster" && operationOf(input) === "AUDIT" ? [] : bindPod(input, settings)
  ),
  isCheckedInFiles: isRequestingSidecar,
};

/** Whether the object is, or creates, a Pod that requests a sidecar. */
export function isRequestingSidecar(object: JsonObject, { namespaces }: Pick<Inventory, "namespaces">): boolean {
  return reviewedTemplate(object, namespaces) !== null;
}

/** Returns the Pod that a manifest creates if it requests a sidecar, else null. */
function reviewedTemplate(object: JsonObject, namespaces: Inventory["namespaces"]): PodTemplate | null {
  const template = podTemplateOf(object);
  const labels = namespaces.labelsOf(namespaceOrDefault(objectReference(object).namespace));
  return template !== null && requestsSidecar(template, labels) ? template : null;
}

/** Returns the checks of a Pod after its admission, or of the Pod that a manifest creates. */
function podChecks({ object, origin, inventory = null }: CheckInput, settings: DecisionSettings): BoundChecks[] {
  if (origin === "cluster" && isPod(object)) return [bindChecks(POD_CHECKS, podCreation(object, settings), null)];
  const template = inventory === null ? null : reviewedTemplate(object, inventory.namespaces);
  return template === null ? [] : [templateChecks(template, settings)];
}

/** Returns the checks of the Pod that a manifest creates. Their faults have paths in the manifest. */
function templateChecks({ pod, path }: PodTemplate, settings: DecisionSettings): BoundChecks {
  const creation = podCreation(pod, settings);
  const checks = creation.sidecar === null ? OF_TEMPLATES : [...OF_TEMPLATES, POD_04];
  return bindIn((inPod) => [...path, ...inPod], bindChecks(checks, creation, null));
}
