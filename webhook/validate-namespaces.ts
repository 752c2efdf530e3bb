import { asksFor, selectorsGainedBy } from "../shared/decisions/access-questions.ts";
import { exemptionOf } from "../shared/decisions/admission-scope.ts";
import { IGNORED_NAMESPACES } from "../shared/decisions/carm.ts";
import type { AccessAnswers } from "../shared/decisions/checks/check.ts";
import { isNamespace } from "../shared/decisions/checks/namespace-change.ts";
import { NS_02 } from "../shared/decisions/checks/namespace-labels.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import type { JsonObject } from "../shared/decisions/json.ts";
import { objectMeta } from "../shared/decisions/object-meta.ts";
import { isCleanUp } from "../shared/decisions/requesters.ts";
import type { DecisionSettings } from "../shared/decisions/settings.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import { askAll, type AskAccess } from "./access-review.ts";
import { judgeInSlices, type ReviewTime } from "./judge-in-slices.ts";
import type { AdmissionRequest } from "./review-decode.ts";
import { NO_OBJECT, NOT_OURS, type Verdict } from "./verdict.ts";

export interface NamespaceContext extends ReviewTime {
  readonly source: Pick<InventorySource, "inventory" | "status">;
  readonly settings: DecisionSettings;
  /** Null where nobody can be asked; then whether somebody may use a selector is never known. */
  readonly access: AskAccess | null;
}

/** Judges a step of a Namespace, its deletion too. Throws ERR_NOT_READY while the inventory was never loaded. */
export async function validateNamespaces(request: AdmissionRequest, context: NamespaceContext): Promise<Verdict> {
  const { operation, oldObject, requester } = request;
  const object = operation === "DELETE" ? oldObject : request.object;
  if (object === null) return NO_OBJECT;
  if (!isNamespace(object)) return NOT_OURS;
  const reason = exemptionOf(request);
  if (reason !== null) return { outcome: "skipped", reason };
  const { settings, source: { inventory, status } } = context;
  if (!status.loaded) {
    throw new ResolverError("ERR_NOT_READY", "the inventory has not been loaded yet, so the namespace cannot be judged; try again in a moment");
  }
  const { findings, denied } = await judgeInSlices({
    object, requester, inventory, origin: "cluster",
    old: operation === "UPDATE" ? oldObject : null,
    ...(operation !== "CONNECT" && { operation }),
    access: await accessTo(object, request, context),
    // A cluster whose own namespaces cannot be written cannot be mended.
    lenient: IGNORED_NAMESPACES.has(objectMeta(object).name) || isCleanUp(request, inventory),
  }, settings, context);
  return { outcome: denied ? "denied" : "allowed", findings };
}

/** Null where no check asks. */
async function accessTo(object: JsonObject, { oldObject, operation, requester }: AdmissionRequest, { access, settings, source }: NamespaceContext): Promise<AccessAnswers | null> {
  if (!asksFor(NS_02, settings) || operation === "DELETE") return null;
  return access === null ? new Map() : await askAll(access, requester, selectorsGainedBy(object, oldObject, source.inventory, settings));
}
