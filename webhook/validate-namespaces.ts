import { asksFor, selectorsGainedBy } from "../shared/decisions/access-questions.ts";
import { IGNORED_NAMESPACES } from "../shared/decisions/carm.ts";
import type { AccessAnswers } from "../shared/decisions/checks/check.ts";
import { isNamespace } from "../shared/decisions/checks/namespace-change.ts";
import { NS_02 } from "../shared/decisions/checks/namespace-labels.ts";
import type { JsonObject } from "../shared/decisions/json.ts";
import { objectMeta } from "../shared/decisions/object-meta.ts";
import { isCleanUp } from "../shared/decisions/requesters.ts";
import type { DecisionSettings } from "../shared/decisions/settings.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import { askAll, type AskAccess } from "./access-review.ts";
import { judgeInSlices, type ReviewTime } from "./judge-in-slices.ts";
import type { AdmissionRequest } from "./review-decode.ts";
import { judgeInputOf, requireLoaded, verdictOf, whereOurs } from "./validation.ts";
import type { Verdict } from "./verdict.ts";

export interface NamespaceContext extends ReviewTime {
  readonly source: Pick<InventorySource, "inventory" | "status">;
  readonly settings: DecisionSettings;
  /** Null where nobody can be asked; then whether somebody may use a selector is never known. */
  readonly access: AskAccess | null;
}

/** Judges a step of a Namespace, its deletion too. Throws ERR_NOT_READY while the inventory was never loaded. */
export async function validateNamespaces(request: AdmissionRequest, context: NamespaceContext): Promise<Verdict> {
  return whereOurs(request, isNamespace, async (namespace) => {
    const { settings, source: { inventory, status } } = context;
    requireLoaded(status, "namespace");
    const access = await accessTo(namespace, request, context);
    // A cluster whose own namespaces cannot be written cannot be mended.
    const lenient = IGNORED_NAMESPACES.has(objectMeta(namespace).name) || isCleanUp(request, inventory);
    return verdictOf(await judgeInSlices({ ...judgeInputOf(request, namespace, inventory), access, lenient }, settings, context));
  });
}

/** Null where no check asks. */
async function accessTo(object: JsonObject, { oldObject, operation, requester }: AdmissionRequest, { access, settings, source }: NamespaceContext): Promise<AccessAnswers | null> {
  if (!asksFor(NS_02, settings) || operation === "DELETE") return null;
  return access === null ? new Map() : await askAll(access, requester, selectorsGainedBy(object, oldObject, source.inventory, settings));
}
