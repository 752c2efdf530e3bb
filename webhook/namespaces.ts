import { IGNORED_NAMESPACES } from "../shared/decisions/carm/maps.ts";
import { asksFor, selectorsGainedBy } from "../shared/decisions/checks/access.ts";
import { NS_02 } from "../shared/decisions/checks/namespaces/labels.ts";
import type { AccessAnswers, DecisionSettings } from "../shared/decisions/context.ts";
import { isClusterCleanup } from "../shared/decisions/exemptions.ts";
import type { JsonObject } from "../shared/decisions/kubernetes/json.ts";
import { isNamespace } from "../shared/decisions/kubernetes/kinds.ts";
import { objectMeta } from "../shared/decisions/kubernetes/object-meta.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import { type AskAccess, askAll } from "./access-review.ts";
import type { AdmissionRequest } from "./decode.ts";
import {
  checkInputOf, runChecksInSlices, requireLoaded, type ReviewTime, type Verdict, verdictOf, unlessExempt,
} from "./handler.ts";

export interface NamespaceContext extends ReviewTime {
  readonly source: Pick<InventorySource, "inventory" | "status">;
  readonly settings: DecisionSettings;
  /** Null where nobody can be asked; then whether somebody may use a selector is never known. */
  readonly access: AskAccess | null;
}

/** Judges a step of a Namespace, its deletion too. Throws ERR_NOT_READY while the inventory was never loaded. */
export async function validateNamespaces(request: AdmissionRequest, context: NamespaceContext): Promise<Verdict> {
  return unlessExempt(request, isNamespace, async (namespace) => {
    const { settings, source: { inventory, status } } = context;
    requireLoaded(status, "namespace");
    const access = await accessTo(namespace, request, context);
    // A cluster whose own namespaces cannot be written cannot be mended.
    const warnOnly = IGNORED_NAMESPACES.has(objectMeta(namespace).name) || isClusterCleanup(request, inventory);
    return verdictOf(await runChecksInSlices({ ...checkInputOf(request, namespace, inventory), access, warnOnly }, settings, context));
  });
}

/** Null where no check asks. */
async function accessTo(object: JsonObject, { oldObject, operation, requester }: AdmissionRequest, { access, settings, source }: NamespaceContext): Promise<AccessAnswers | null> {
  if (!asksFor(NS_02, settings) || operation === "DELETE") return null;
  return access === null ? new Map() : await askAll(access, requester, selectorsGainedBy(object, oldObject, source.inventory, settings));
}
