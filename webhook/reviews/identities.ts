import { isUnknownIdentity } from "../../shared/decisions/checks/identities/shape.ts";
import type { RoleIdentity } from "../../shared/decisions/identities/identity.ts";
import { isIdentity } from "../../shared/decisions/identities/kinds.ts";
import { isWarnOnly } from "../../shared/decisions/warn-only.ts";
import { requireLoaded } from "../../shared/server/readiness.ts";
import type { AdmissionRequest } from "../decode.ts";
import {
  checkInputOf, type ReviewContext, runChecksInSlices, unlessExempt, type Verdict, verdictOf,
} from "../handler.ts";
import { roleIdentityOf, writesInBrokenChain } from "../pending/identities.ts";
import { runChecksWithPending } from "../pending/review.ts";
import type { PendingWrites } from "../pending/writes.ts";

export interface IdentityContext extends ReviewContext {
  readonly pendingIdentities: PendingWrites<RoleIdentity>;
}

/**
 * Validates a create, update or delete request for a CAPA identity. Only warns CAPA itself. Rejects with ERR_NOT_READY
 * if the inventory is not loaded yet.
 */
export async function validateIdentities(request: AdmissionRequest, context: IdentityContext): Promise<Verdict> {
  return unlessExempt(request, (object) => isIdentity(object) || isUnknownIdentity(object), async (identity) => {
    const { settings, source: { inventory, status } } = context;
    requireLoaded(status);
    const warnOnly = isWarnOnly(request, settings, inventory);
    const input = { ...checkInputOf(request, identity, inventory), warnOnly };
    const role = request.operation === "DELETE" ? null : roleIdentityOf(identity, settings.runtime);
    if (role === null) return verdictOf(await runChecksInSlices(input, settings, context));
    // The checks also run with admitted changes of other identities that form a cycle with this identity.
    return verdictOf(await runChecksWithPending({
      pendingWrites: context.pendingIdentities, time: context,
      related: (writes) => writesInBrokenChain(role, writes, inventory),
      runChecks: (pendingIdentities) => runChecksInSlices({ ...input, pendingIdentities }, settings, context),
      change: request.dryRun ? null : { object: identity, old: input.old, isDeletion: false },
    }));
  });
}
