import type { CheckInput } from "../shared/decisions/checks/change.ts";
import { runChecks } from "../shared/decisions/checks/run.ts";
import { mutationExemptionOf } from "../shared/decisions/exemptions.ts";
import type { JsonObject } from "../shared/decisions/kubernetes/json.ts";
import {
  definedKind, isKindDefinition, isSelector, SELECTOR_GROUP, SELECTOR_KIND,
} from "../shared/decisions/kubernetes/kinds.ts";
import { rewriteTypeEntries } from "../shared/decisions/selectors/type-entry.ts";
import { requireLoaded } from "../shared/server/readiness.ts";
import type { AdmissionRequest } from "./decode.ts";
import { type ReviewContext, runChecksInSlices, skipped, unlessExempt, type Verdict, verdictOf } from "./handler.ts";
import type { PendingDeletions } from "./pending-writes.ts";

export interface SelectorContext extends ReviewContext {
  readonly pendingDeletions: PendingDeletions;
}

/** Rewrites `{apiVersion, kind}` entries to `{group, version, kind}`. Controllers read only the second form. */
export function mutateIAMRoleSelectors(request: AdmissionRequest): Verdict {
  const { operation, object } = request;
  if (operation === "DELETE" || object === null) return skipped("no object");
  if (!isSelector(object)) return skipped("not managed");
  const exemption = mutationExemptionOf(request);
  if (exemption !== null) return skipped(exemption);
  return { outcome: "mutated", patch: rewriteTypeEntries(object), notices: [], resolution: null };
}

/**
 * Validates a create, update or delete request for an IAMRoleSelector, and the deletion of its
 * CustomResourceDefinition. Rejects with ERR_NOT_READY if the inventory is not loaded yet, unless a check of the object
 * alone denies the request.
 */
export async function validateIAMRoleSelectors(request: AdmissionRequest, context: SelectorContext): Promise<Verdict> {
  const isManaged = (object: JsonObject): boolean => isSelector(object) || deletesSelectorKind(request, object);
  return unlessExempt(request, isManaged, async (object) => {
    const { source, settings } = context;
    if (!source.status.loaded && request.operation !== "DELETE") {
      const result = runChecks(selectorInputOf(request, object), settings);
      if (result.denied) return verdictOf(result);
    }
    requireLoaded(source.status);
    return validateInInventory(request, object, context);
  });
}

function deletesSelectorKind({ operation }: AdmissionRequest, object: JsonObject): boolean {
  const { group, kind } = definedKind(object);
  return operation === "DELETE" && isKindDefinition(object) && group === SELECTOR_GROUP && kind === SELECTOR_KIND;
}

async function validateInInventory(
  request: AdmissionRequest,
  object: JsonObject,
  context: SelectorContext,
): Promise<Verdict> {
  const { source: { inventory }, settings, pendingDeletions } = context;
  const { operation, name, dryRun } = request;
  const isDeletion = operation === "DELETE" && isSelector(object) && !dryRun;
  if (isDeletion) pendingDeletions.add(name);
  const change = { ...selectorInputOf(request, object), ...(operation === "DELETE" && { operation }) };
  const input = { ...change, inventory, pendingDeletions };
  const result = await runChecksInSlices(input, settings, context);
  // After a denied deletion or an allowed write, the selector exists.
  if (result.denied === isDeletion && !dryRun) pendingDeletions.delete(name);
  return verdictOf(result);
}

function selectorInputOf({ operation, oldObject, requester }: AdmissionRequest, object: JsonObject): CheckInput {
  return { object, old: operation === "UPDATE" ? oldObject : null, requester, origin: "cluster" };
}
