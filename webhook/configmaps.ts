import type { DecisionSettings } from "../shared/decisions/context.ts";
import { isClusterCleanup } from "../shared/decisions/exemptions.ts";
import { isCARMMap } from "../shared/decisions/kubernetes/kinds.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import type { AdmissionRequest } from "./decode.ts";
import {
  checkInputOf, runChecksInSlices, requireLoaded, type ReviewTime, type Verdict, verdictOf, unlessExempt,
} from "./handler.ts";

export interface ConfigMapContext extends ReviewTime {
  readonly source: Pick<InventorySource, "inventory" | "status">;
  readonly settings: DecisionSettings;
}

/** Judges a step of a CARM ConfigMap, its deletion too, and of no other. Throws ERR_NOT_READY while the inventory was never loaded. */
export async function validateConfigMaps(request: AdmissionRequest, context: ConfigMapContext): Promise<Verdict> {
  return unlessExempt(request, isCARMMap, async (map) => {
    const { settings, source: { inventory, status } } = context;
    requireLoaded(status, "map");
    return verdictOf(await runChecksInSlices({ ...checkInputOf(request, map, inventory), warnOnly: isClusterCleanup(request, inventory) }, settings, context));
  });
}
