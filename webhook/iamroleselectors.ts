import { runChecks } from "../shared/decisions/checks/run.ts";
import type { DecisionSettings } from "../shared/decisions/context.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import { isClusterCleanup, mutationExemptionOf } from "../shared/decisions/exemptions.ts";
import type { JsonObject } from "../shared/decisions/kubernetes/json.ts";
import {
  definedKind, isKindDefinition, isSelector, SELECTOR_GROUP, SELECTOR_KIND,
} from "../shared/decisions/kubernetes/kinds.ts";
import { rewriteTypeEntries } from "../shared/decisions/selectors/type-entry.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import type { AdmissionRequest } from "./decode.ts";
import { runChecksInSlices, NO_OBJECT, NOT_MANAGED, type ReviewTime, type Verdict, verdictOf, unlessExempt } from "./handler.ts";
import type { PendingDeletions } from "./pending-deletions.ts";

/** Rewrites `{apiVersion, kind}` entries to `{group, version, kind}`, the only form that controllers understand. */
export function mutateIAMRoleSelectors(request: AdmissionRequest): Verdict {
  const { operation, object } = request;
  if (operation === "DELETE" || object === null) return NO_OBJECT;
  if (!isSelector(object)) return NOT_MANAGED;
  const reason = mutationExemptionOf(request);
  if (reason !== null) return { outcome: "skipped", reason };
  return { outcome: "mutated", patch: rewriteTypeEntries(object), notices: [], resolution: null };
}

export interface SelectorContext extends ReviewTime {
  readonly source: Pick<InventorySource, "inventory" | "status">;
  readonly settings: DecisionSettings;
  readonly pendingDeletions: PendingDeletions;
}

/**
 * Judges a created, updated or deleted IAMRoleSelector, and the removal of its definition, against all that is known. Throws
 * ERR_NOT_READY while that was never loaded, unless the object alone is a reason to refuse it.
 */
export async function validateIAMRoleSelectors(request: AdmissionRequest, context: SelectorContext): Promise<Verdict> {
  return unlessExempt(request, (object) => isOurs(object, request.operation), async (object) => (
    context.source.status.loaded ? judgeAgainstAll(request, object, context) : judgeAlone(request, object, context)
  ));
}

/** What the cluster itself cleans up is warned about, never refused. */
async function judgeAgainstAll(request: AdmissionRequest, object: JsonObject, context: SelectorContext): Promise<Verdict> {
  const { source: { inventory }, settings, pendingDeletions } = context;
  const { operation, oldObject, requester, name, dryRun } = request;
  const old = operation === "UPDATE" ? oldObject : null;
  const warnOnly = isClusterCleanup(request, inventory);
  const isLeaving = operation === "DELETE" && isSelector(object) && !dryRun;
  if (isLeaving) pendingDeletions.add(name);
  const input = { object, old, requester, origin: "cluster", inventory, warnOnly, pendingDeletions, ...(operation === "DELETE" && { operation }) } as const;
  const judgement = await runChecksInSlices(input, settings, context);
  // One that is refused stays, and one that is written is there again.
  if (judgement.denied === isLeaving && !dryRun) pendingDeletions.delete(name);
  return verdictOf(judgement);
}

/** Its author reads what is wrong with the object itself at once; that nothing else is wrong would be a guess. */
function judgeAlone({ operation, oldObject, requester }: AdmissionRequest, object: JsonObject, { settings }: SelectorContext): Verdict {
  const old = operation === "UPDATE" ? oldObject : null;
  const { findings, denied } = operation === "DELETE" ? NOTHING_FOUND : runChecks({ object, old, requester, origin: "cluster" }, settings);
  if (denied) return { outcome: "denied", findings };
  throw new ResolverError("ERR_NOT_READY", "the inventory has not been loaded yet, so nobody can tell which resources the change concerns; try again in a moment");
}

const NOTHING_FOUND = { findings: [], denied: false };

function isOurs(object: JsonObject, operation: AdmissionRequest["operation"]): boolean {
  if (isSelector(object)) return true;
  const { group, kind } = definedKind(object);
  return operation === "DELETE" && isKindDefinition(object) && group === SELECTOR_GROUP && kind === SELECTOR_KIND;
}
