import { isCAPAController, isClusterCleanup } from "../shared/decisions/exemptions.ts";
import { isReferrer } from "../shared/decisions/identities/kinds.ts";
import { requireLoaded } from "../shared/server/readiness.ts";
import type { AdmissionRequest } from "./decode.ts";
import { checkInputOf, type ReviewTime, runChecksInSlices, unlessExempt, type Verdict, verdictOf } from "./handler.ts";
import { type NamespaceWaitContext, waitUntilKnown } from "./namespace-wait.ts";
import { inNamespace } from "./resources.ts";

/**
 * Validates a create or update request for an object that refers to a CAPA identity. Only warns CAPA itself. Rejects
 * with ERR_NOT_READY if the inventory is not loaded yet.
 */
export async function validateClusters(
  request: AdmissionRequest, context: NamespaceWaitContext & ReviewTime,
): Promise<Verdict> {
  return unlessExempt(request, isReferrer, async (submitted) => {
    const { settings, source: { inventory, status } } = context;
    requireLoaded(status);
    const { namespace } = request;
    // The selectors of identities read the labels of the namespace.
    await waitUntilKnown(namespace, () => inventory.namespaces.has(namespace), context);
    const warnOnly = isCAPAController(request.requester, settings) || isClusterCleanup(request, inventory);
    const input = { ...checkInputOf(request, inNamespace(submitted, namespace), inventory), warnOnly };
    return verdictOf(await runChecksInSlices(input, settings, context));
  });
}
