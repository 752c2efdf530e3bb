import type { AdmissionRequest, SkipReason } from "../core/admission.ts";
import { INJECT_LABEL } from "../core/annotation-keys.ts";
import { bindChecks, bindIn, type BoundChecks } from "../core/bind.ts";
import { within } from "../core/binding.ts";
import { type CheckInput, operationOf, type QuickCheck } from "../core/check.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Inventory } from "../core/inventory.ts";
import type { Judge } from "../core/judge.ts";
import { objectExcess } from "../core/limits.ts";
import { decodePod, isMirrorPod, isPod, type PodTemplate, podTemplateOf, requestsSidecar } from "../core/pod.ts";
import { limitCheck } from "../core/size-limits.ts";
import { type JsonObject, type PatchOperation, stringAt } from "../formats/json.ts";
import { namespaceOrDefault, objectReference } from "../formats/object-meta.ts";
import { injectionPatch } from "./injection.ts";
import { POD } from "./kinds.ts";
import { POD_06, POD_07, POD_08 } from "./pod-credentials.ts";
import { POD_01, POD_02, POD_03, type PodCreation, podCreation } from "./pod-request.ts";
import { POD_04, POD_05, POD_09, POD_11 } from "./pod-sidecar.ts";

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
  skips: podSkipReason,
  readsInventory: () => false,
  complete: injectSidecar,
};

/**
 * Injects the sidecar into a new Pod. Does not inject the sidecar, and does not deny the Pod, if the Pod is faulty: its
 * validation reports the faults.
 */
function injectSidecar(
  object: JsonObject, request: AdmissionRequest, { injection }: DecisionSettings,
): readonly PatchOperation[] | SkipReason {
  const reason = podSkipReason(object, request);
  if (reason !== null) return reason;
  // Bounds the work, because the limit of a review is higher than the limit of an object.
  return objectExcess(object) === null ? injectionPatch(decodePod(object), injection) : "limit exceeded";
}

/**
 * Returns why the webhook does not review a Pod: only a creation can add a container or a variable, and the label of a
 * Pod can reject the sidecar. A Pod without the label requests the sidecar, because the API server sends it only if its
 * Namespace has the label.
 */
function podSkipReason(object: JsonObject, { operation, subResource }: AdmissionRequest): SkipReason | null {
  if (operation !== "CREATE") return "no object";
  if (subResource !== "") return "subresource";
  const isRejected = stringAt(object, "metadata", "labels", INJECT_LABEL) === "false";
  return isMirrorPod(object) || isRejected ? "not managed" : null;
}

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
