import { isUnknownIdentity } from "../shared/decisions/checks/identities/shape.ts";
import { isCAPAController, isNamespaceCleanup } from "../shared/decisions/exemptions.ts";
import { isIdentity } from "../shared/decisions/identities/kinds.ts";
import { requireLoaded } from "../shared/server/readiness.ts";
import type { AdmissionRequest } from "./decode.ts";
import {
  checkInputOf, type ReviewContext, runChecksInSlices, unlessExempt, type Verdict, verdictOf,
} from "./handler.ts";

/**
 * Validates a create, update or delete request for a CAPA identity. Only warns CAPA itself. Rejects with ERR_NOT_READY
 * if the inventory is not loaded yet.
 */
export async function validateIdentities(request: AdmissionRequest, context: ReviewContext): Promise<Verdict> {
  return unlessExempt(request, (object) => isIdentity(object) || isUnknownIdentity(object), async (identity) => {
    const { settings, source: { inventory, status } } = context;
    requireLoaded(status);
    const warnOnly = isCAPAController(request.requester, settings) || isNamespaceCleanup(request, inventory);
    const input = { ...checkInputOf(request, identity, inventory), warnOnly };
    return verdictOf(await runChecksInSlices(input, settings, context));
  });
}
