import { INJECT_LABEL } from "../../shared/decisions/annotation-keys.ts";
import { objectExcess } from "../../shared/decisions/checks/any-kind/limits.ts";
import { runChecks } from "../../shared/decisions/checks/run.ts";
import type { DecisionSettings } from "../../shared/decisions/context.ts";
import { type JsonObject, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { injectionPatch } from "../../shared/decisions/pods/inject.ts";
import { decodePod, isMirrorPod, isPod } from "../../shared/decisions/pods/pod.ts";
import type { AdmissionRequest } from "../decode.ts";
import { checkInputOf, type ReviewContext, skipped, type Verdict, verdictOf } from "../handler.ts";

interface PodContext {
  readonly settings: DecisionSettings;
}

/**
 * Injects the sidecar into a new Pod. Does not inject the sidecar, and does not deny the Pod, if the Pod is faulty:
 * `validatePods` reports the faults. Reads no inventory.
 */
export function mutatePods(request: AdmissionRequest, { settings }: PodContext): Verdict {
  return unlessUnlabeled(request, (object) => {
    // Bounds the work, because the limit of a review is higher than the limit of an object.
    if (objectExcess(object) !== null) return skipped("limit exceeded");
    const patch = injectionPatch(decodePod(object), settings.injection);
    return { outcome: "mutated", patch, notices: [], resolution: null };
  });
}

/**
 * Validates a new Pod that requests a sidecar, after all webhooks have changed it. Reads no inventory. An update cannot
 * add or remove a container or a variable, so updates are not validated.
 */
export function validatePods(
  request: AdmissionRequest, { settings, source: { inventory } }: Pick<ReviewContext, "settings" | "source">,
): Verdict {
  return unlessUnlabeled(request, (object) => verdictOf(runChecks(checkInputOf(request, object, inventory), settings)));
}

/**
 * Reviews the creation of a Pod. Skips a Pod whose label rejects the sidecar. A Pod without the label requests the
 * sidecar, because the API server sends it only if its Namespace has the label.
 */
function unlessUnlabeled(
  { operation, subResource, object }: AdmissionRequest, review: (object: JsonObject) => Verdict,
): Verdict {
  if (operation !== "CREATE" || object === null) return skipped("no object");
  if (subResource !== "") return skipped("subresource");
  const isRejected = stringAt(object, "metadata", "labels", INJECT_LABEL) === "false";
  return !isPod(object) || isMirrorPod(object) || isRejected ? skipped("not managed") : review(object);
}
