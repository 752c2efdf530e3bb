import { isClusterCleanup } from "../shared/decisions/exemptions.ts";
import { isCARMMap } from "../shared/decisions/kubernetes/kinds.ts";
import { requireLoaded } from "../shared/server/readiness.ts";
import type { AdmissionRequest } from "./decode.ts";
import {
  checkInputOf, type ReviewContext, runChecksInSlices, unlessExempt, type Verdict, verdictOf,
} from "./handler.ts";

/**
 * Validates the create, update or delete of a CARM ConfigMap and skips every other ConfigMap. Throws ERR_NOT_READY
 * before the inventory is loaded.
 */
export async function validateConfigMaps(request: AdmissionRequest, context: ReviewContext): Promise<Verdict> {
  return unlessExempt(request, isCARMMap, async (map) => {
    const { settings, source: { inventory, status } } = context;
    requireLoaded(status);
    const warnOnly = isClusterCleanup(request, inventory);
    const input = { ...checkInputOf(request, map, inventory), warnOnly };
    return verdictOf(await runChecksInSlices(input, settings, context));
  });
}
