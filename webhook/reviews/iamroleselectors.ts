import type { CheckInput } from "../../shared/decisions/checks/change.ts";
import { runChecks } from "../../shared/decisions/checks/run.ts";
import { mutationExemptionOf } from "../../shared/decisions/exemptions.ts";
import type { JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import {
  definedKind, isKindDefinition, isSelector, SELECTOR_GROUP, SELECTOR_KIND,
} from "../../shared/decisions/kubernetes/kinds.ts";
import { completionPatch } from "../../shared/decisions/selectors/completion.ts";
import type { EffectiveSelector } from "../../shared/decisions/selectors/effective.ts";
import { requireLoaded } from "../../shared/server/readiness.ts";
import type { AdmissionRequest } from "../decode.ts";
import {
  checkInputOf, type ReviewContext, runChecksInSlices, skipped, unlessExempt, type Verdict, verdictOf,
} from "../handler.ts";
import { concernsSelector, reviewedSelector } from "../pending/selectors.ts";
import { runChecksWithPending } from "../pending/review.ts";
import type { PendingWrites } from "../pending/writes.ts";

export interface SelectorContext extends ReviewContext {
  readonly pendingSelectors: PendingWrites<EffectiveSelector>;
}

/**
 * Adds the empty fields that ACK's CustomResourceDefinition requires, and rewrites type entries that have the form
 * `{apiVersion, kind}`.
 */
export function mutateIAMRoleSelectors(request: AdmissionRequest): Verdict {
  const { operation, object } = request;
  if (operation === "DELETE" || object === null) return skipped("no object");
  if (!isSelector(object)) return skipped("not managed");
  const exemption = mutationExemptionOf(request);
  if (exemption !== null) return skipped(exemption);
  return { outcome: "mutated", patch: completionPatch(object), notices: [], resolution: null };
}

/**
 * Validates a create, update or delete request for an IAMRoleSelector or its CustomResourceDefinition. Rejects with
 * ERR_NOT_READY if the inventory is not loaded yet, unless a check of the object alone denies the request.
 */
export async function validateIAMRoleSelectors(request: AdmissionRequest, context: SelectorContext): Promise<Verdict> {
  return unlessExempt(request, isSelectorOrKind, async (object) => {
    const { source: { inventory, status }, settings } = context;
    const input = checkInputOf(request, object, inventory);
    if (request.operation !== "DELETE") {
      // Only WAIVER-01 applies to this request, and WAIVER-01 requires no inventory.
      if (isSelectorKind(object)) return verdictOf(runChecks(input, settings));
      const result = status.loaded ? null : runChecks({ ...input, inventory: null }, settings);
      if (result?.denied === true) return verdictOf(result);
    }
    requireLoaded(status);
    if (isSelectorKind(object)) return verdictOf(await runChecksInSlices(input, settings, context));
    return validateInInventory(request, input, context);
  });
}

function isSelectorOrKind(object: JsonObject): boolean {
  return isSelector(object) || isSelectorKind(object);
}

function isSelectorKind(object: JsonObject): boolean {
  const { group, kind } = definedKind(object);
  return isKindDefinition(object) && group === SELECTOR_GROUP && kind === SELECTOR_KIND;
}

/** Runs the checks also with admitted changes of other selectors. */
async function validateInInventory(
  { operation, dryRun }: AdmissionRequest, input: CheckInput, context: SelectorContext,
): Promise<Verdict> {
  const { source: { inventory }, settings, pendingSelectors } = context;
  const reviewed = reviewedSelector(input, settings.runtime);
  return verdictOf(await runChecksWithPending({
    pendingWrites: pendingSelectors, time: context,
    related: (writes) => writes.filter((write) => concernsSelector(reviewed, write, inventory)),
    runChecks: (pending) => runChecksInSlices({ ...input, pending }, settings, context),
    change: dryRun ? null : { object: input.object, old: input.old, isDeletion: operation === "DELETE" },
  }));
}
