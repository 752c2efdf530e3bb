import { exemptionOf } from "../shared/decisions/admission-scope.ts";
import { judge } from "../shared/decisions/checks/judge.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import { isSelector } from "../shared/decisions/iamroleselector.ts";
import type { DecisionSettings } from "../shared/decisions/settings.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import type { AdmissionRequest } from "./review-decode.ts";
import { NO_OBJECT, NOT_OURS, type Verdict } from "./verdict.ts";

export interface SelectorContext {
  readonly source: Pick<InventorySource, "inventory" | "status">;
  readonly settings: DecisionSettings;
}

/** Judges a created or updated IAMRoleSelector against all that is known. Throws ERR_NOT_READY while that was never loaded. */
export function validateIAMRoleSelectors(request: AdmissionRequest, { source, settings }: SelectorContext): Verdict {
  const { operation, object, oldObject, requester } = request;
  if (operation === "DELETE" || object === null) return NO_OBJECT;
  if (!isSelector(object)) return NOT_OURS;
  const exemption = exemptionOf(request);
  if (exemption !== null) return { outcome: "skipped", reason: exemption };
  const old = operation === "UPDATE" ? oldObject : null;
  if (!source.status.loaded) {
    throw new ResolverError("ERR_NOT_READY", "the inventory has not been loaded yet, so the selector cannot be judged; try again in a moment");
  }
  const { findings, denied } = judge({ object, old, requester, origin: "cluster", inventory: source.inventory }, settings);
  return { outcome: denied ? "denied" : "allowed", findings };
}
