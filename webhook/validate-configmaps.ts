import { exemptionOf } from "../shared/decisions/admission-scope.ts";
import { isCARMMap } from "../shared/decisions/checks/config-map-change.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import { isCleanUp } from "../shared/decisions/requesters.ts";
import type { DecisionSettings } from "../shared/decisions/settings.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import { judgeInSlices, type ReviewTime } from "./judge-in-slices.ts";
import type { AdmissionRequest } from "./review-decode.ts";
import { NO_OBJECT, NOT_OURS, type Verdict } from "./verdict.ts";

export interface ConfigMapContext extends ReviewTime {
  readonly source: Pick<InventorySource, "inventory" | "status">;
  readonly settings: DecisionSettings;
}

/** Judges a step of a CARM ConfigMap, its deletion too, and of no other. Throws ERR_NOT_READY while the inventory was never loaded. */
export async function validateConfigMaps(request: AdmissionRequest, context: ConfigMapContext): Promise<Verdict> {
  const { operation, oldObject, requester } = request;
  const object = operation === "DELETE" ? oldObject : request.object;
  if (object === null) return NO_OBJECT;
  if (!isCARMMap(object)) return NOT_OURS;
  const reason = exemptionOf(request);
  if (reason !== null) return { outcome: "skipped", reason };
  const { settings, source: { inventory, status } } = context;
  if (!status.loaded) {
    throw new ResolverError("ERR_NOT_READY", "the inventory has not been loaded yet, so the map cannot be judged; try again in a moment");
  }
  const { findings, denied } = await judgeInSlices({
    object, requester, inventory, origin: "cluster",
    old: operation === "UPDATE" ? oldObject : null,
    ...(operation !== "CONNECT" && { operation }),
    lenient: isCleanUp(request, inventory),
  }, settings, context);
  return { outcome: denied ? "denied" : "allowed", findings };
}
