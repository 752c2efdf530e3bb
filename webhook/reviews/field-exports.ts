import { runChecks } from "../../shared/decisions/checks/run.ts";
import { isFieldExport } from "../../shared/decisions/kubernetes/kinds.ts";
import type { AdmissionRequest } from "../decode.ts";
import { checkInputOf, type ReviewContext, unlessExempt, type Verdict, verdictOf } from "../handler.ts";
import { inNamespace } from "./resources.ts";

/** Validates a create or update request for a FieldExport. Exempts no requester, and reads no inventory. */
export async function validateFieldExports(
  request: AdmissionRequest, { settings, source: { inventory } }: Pick<ReviewContext, "settings" | "source">,
): Promise<Verdict> {
  return unlessExempt(request, isFieldExport, async (submitted) => {
    const object = inNamespace(submitted, request.namespace);
    return verdictOf(runChecks(checkInputOf(request, object, inventory), settings));
  });
}
