import type { DecisionSettings } from "../contract/context.ts";
import type { PodTemplate } from "../model/pod.ts";
import { bindChecks, type BoundCheck, type QuickCheck } from "./check.ts";
import { POD_01, POD_02, POD_03, podCreation, type PodCreation } from "./pod-request.ts";
import { POD_06, POD_07, POD_08 } from "./pod-credentials.ts";
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

/** Returns the checks of the Pod that a manifest creates. Their faults have paths in the manifest. */
export function templateChecks({ pod, path }: PodTemplate, settings: DecisionSettings): BoundCheck[] {
  const creation = podCreation(pod, settings);
  const checks = creation.sidecar === null ? OF_TEMPLATES : [...OF_TEMPLATES, POD_04];
  return bindChecks(checks.map((check) => within(check, path)), creation, null);
}

function within(check: QuickCheck<PodCreation>, path: PodTemplate["path"]): QuickCheck<PodCreation> {
  return {
    ...check,
    *find(creation) {
      for (const fault of check.find(creation)) yield { ...fault, path: [...path, ...fault.path] };
    },
  };
}
