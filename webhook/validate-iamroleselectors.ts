import { exemptionOf } from "../shared/decisions/admission-scope.ts";
import { isChecked } from "../shared/decisions/checks/applied-checks.ts";
import { judge } from "../shared/decisions/checks/judge.ts";
import type { DecisionSettings } from "../shared/decisions/settings.ts";
import type { AdmissionRequest } from "./review-decode.ts";
import { NO_OBJECT, NOT_OURS, type Verdict } from "./verdict.ts";

/** Judges a created or updated IAMRoleSelector by the checks that need nothing but the object, so never by an inventory. */
export function validateIAMRoleSelectors(request: AdmissionRequest, settings: DecisionSettings): Verdict {
  const { operation, object, oldObject, requester } = request;
  if (operation === "DELETE" || object === null) return NO_OBJECT;
  if (!isChecked(object)) return NOT_OURS;
  const exemption = exemptionOf(request);
  if (exemption !== null) return { outcome: "skipped", reason: exemption };
  const old = operation === "UPDATE" ? oldObject : null;
  const { findings, denied } = judge({ object, old, requester, origin: "cluster" }, settings);
  return { outcome: denied ? "denied" : "allowed", findings };
}
