import { isCARMMap } from "../../shared/decisions/kubernetes/kinds.ts";
import { isWarnOnly } from "../../shared/decisions/warn-only.ts";
import { requireLoaded } from "../../shared/server/readiness.ts";
import type { AdmissionRequest } from "../decode.ts";
import {
  checkInputOf, type ReviewContext, runChecksInSlices, unlessExempt, type Verdict, verdictOf,
} from "../handler.ts";

/**
 * Validates a create, update or delete request for a CARM ConfigMap. Skips all other ConfigMaps. Rejects with
 * ERR_NOT_READY if the inventory is not loaded yet.
 */
export async function validateConfigMaps(request: AdmissionRequest, context: ReviewContext): Promise<Verdict> {
  return unlessExempt(request, isCARMMap, async (map) => {
    const { settings, source: { inventory, status } } = context;
    requireLoaded(status);
    const warnOnly = isWarnOnly(request, settings, inventory);
    const input = { ...checkInputOf(request, map, inventory), warnOnly };
    return verdictOf(await runChecksInSlices(input, settings, context));
  });
}
