import { isCARMMap } from "../shared/decisions/checks/config-map-change.ts";
import { isCleanUp } from "../shared/decisions/requesters.ts";
import type { DecisionSettings } from "../shared/decisions/settings.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import { judgeInSlices, type ReviewTime } from "./judge-in-slices.ts";
import type { AdmissionRequest } from "./review-decode.ts";
import { judgeInputOf, requireLoaded, verdictOf, whereOurs } from "./validation.ts";
import type { Verdict } from "./verdict.ts";

export interface ConfigMapContext extends ReviewTime {
  readonly source: Pick<InventorySource, "inventory" | "status">;
  readonly settings: DecisionSettings;
}

/** Judges a step of a CARM ConfigMap, its deletion too, and of no other. Throws ERR_NOT_READY while the inventory was never loaded. */
export async function validateConfigMaps(request: AdmissionRequest, context: ConfigMapContext): Promise<Verdict> {
  return whereOurs(request, isCARMMap, async (map) => {
    const { settings, source: { inventory, status } } = context;
    requireLoaded(status, "map");
    return verdictOf(await judgeInSlices({ ...judgeInputOf(request, map, inventory), lenient: isCleanUp(request, inventory) }, settings, context));
  });
}
