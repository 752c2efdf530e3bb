import { mutationExemptionOf } from "../shared/decisions/admission-scope.ts";
import { isSelector } from "../shared/decisions/iamroleselector.ts";
import { rewriteTypeEntries } from "../shared/decisions/type-entry.ts";
import type { AdmissionRequest } from "./review-decode.ts";
import { NO_OBJECT, NOT_OURS, type Verdict } from "./verdict.ts";

/** Rewrites `{apiVersion, kind}` entries to `{group, version, kind}`, the only form that controllers understand. */
export function mutateIAMRoleSelectors(request: AdmissionRequest): Verdict {
  const { operation, object } = request;
  if (operation === "DELETE" || object === null) return NO_OBJECT;
  if (!isSelector(object)) return NOT_OURS;
  const reason = mutationExemptionOf(request);
  if (reason !== null) return { outcome: "skipped", reason };
  return { outcome: "mutated", patch: rewriteTypeEntries(object), notices: [], resolution: null };
}
