import { isCheckEnabled, newSelectorsToReview } from "../../shared/decisions/checks/access/reviews.ts";
import { NS_02 } from "../../shared/decisions/checks/namespaces/labels.ts";
import type { AccessByName } from "../../shared/decisions/context.ts";
import type { JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import { isNamespace } from "../../shared/decisions/kubernetes/kinds.ts";
import { objectReference } from "../../shared/decisions/kubernetes/object-meta.ts";
import { isWarnOnly } from "../../shared/decisions/warn-only.ts";
import { requireLoaded } from "../../shared/server/readiness.ts";
import { type AccessContext, reviewAll } from "../access-review.ts";
import type { AdmissionRequest } from "../decode.ts";
import {
  checkInputOf, type ReviewContext, runChecksInSlices, unlessExempt, type Verdict, verdictOf,
} from "../handler.ts";

/**
 * Validates a create, update or delete request for a Namespace. Rejects with ERR_NOT_READY if the inventory is not
 * loaded yet.
 */
export async function validateNamespaces(
  request: AdmissionRequest, context: ReviewContext & AccessContext,
): Promise<Verdict> {
  return unlessExempt(request, isNamespace, async (namespace) => {
    const { settings, source: { inventory, status } } = context;
    requireLoaded(status);
    const access = await accessToGained(namespace, request, context);
    const { name } = objectReference(namespace);
    const warnOnly = isWarnOnly({ ...request, name }, settings, inventory);
    const input = { ...checkInputOf(request, namespace, inventory), access, warnOnly };
    return verdictOf(await runChecksInSlices(input, settings, context));
  });
}

/**
 * Returns the requester's access to the selectors that match the namespace only after the change. Returns null if NS-02
 * does not run.
 */
async function accessToGained(
  namespace: JsonObject,
  { oldObject, operation, requester }: AdmissionRequest,
  { reviewAccess, settings, source }: ReviewContext & AccessContext,
): Promise<AccessByName | null> {
  if (!isCheckEnabled(NS_02, settings) || operation === "DELETE") return null;
  if (reviewAccess === null) return new Map();
  const selectors = newSelectorsToReview(namespace, oldObject, source.inventory, settings);
  return await reviewAll(reviewAccess, requester, { selectors, namespace: objectReference(namespace).name });
}
