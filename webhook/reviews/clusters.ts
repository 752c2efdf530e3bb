import { identityToReview, isCheckEnabled } from "../../shared/decisions/checks/access/reviews.ts";
import { type IdentityUse, identityUses } from "../../shared/decisions/checks/clusters/identity-uses.ts";
import { AC_05 } from "../../shared/decisions/checks/clusters/use.ts";
import { type CheckInput, contextOf } from "../../shared/decisions/checks/change.ts";
import type { Access, AccessByName } from "../../shared/decisions/context.ts";
import { clusterMutationExemptionOf, isCAPAController } from "../../shared/decisions/exemptions.ts";
import { isClusterPart } from "../../shared/decisions/identities/cluster-parts.ts";
import { isReferrer } from "../../shared/decisions/identities/kinds.ts";
import { readReferrer } from "../../shared/decisions/identities/referrer.ts";
import { resolveReferrer } from "../../shared/decisions/identities/resolve.ts";
import type { JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import { LIMITS } from "../../shared/decisions/limits.ts";
import { isWarnOnly } from "../../shared/decisions/warn-only.ts";
import { requireLoaded } from "../../shared/server/readiness.ts";
import type { AccessContext } from "../access-review.ts";
import type { AdmissionRequest } from "../decode.ts";
import {
  checkInputOf, type Notice, type ReviewTime, runChecksInSlices, skipped, unlessExempt, type Verdict, verdictOf,
} from "../handler.ts";
import { type NamespaceWaitContext, waitUntilKnown } from "../namespace-wait.ts";
import { annotate, removeAnnotations, unknownNamespace } from "./resolution-annotations.ts";
import { inNamespace } from "./resources.ts";

interface ClusterContext extends NamespaceWaitContext, ReviewTime, AccessContext {}

const UNKNOWN_IDENTITIES: Notice = {
  code: "ERR_NOT_READY", message: "not annotated: the identities are not known yet",
};

/**
 * Annotates an object that refers to a CAPA identity with its resolution. Never changes a write of CAPA itself. Rejects
 * with ERR_NOT_READY if the inventory is not loaded yet.
 */
export async function mutateClusters(request: AdmissionRequest, context: NamespaceWaitContext): Promise<Verdict> {
  const { operation, namespace, object, requester } = request;
  const { settings, source: { inventory, status } } = context;
  if (operation === "DELETE" || object === null) return skipped("no object");
  const referrer = readReferrer(inNamespace(object, namespace));
  if (referrer === null || namespace === "") return skipped("not managed");
  if (isCAPAController(requester, settings)) return skipped("written by CAPA");
  const exemption = clusterMutationExemptionOf(request);
  if (exemption !== null) return skipped(exemption);
  requireLoaded(status);
  if (!inventory.includes("identities")) return removeAnnotations(object, UNKNOWN_IDENTITIES);
  // The selectors of identities read the labels of the namespace.
  const isKnown = await waitUntilKnown(namespace, () => inventory.namespaces.has(namespace), context);
  if (!isKnown) return removeAnnotations(object, unknownNamespace(namespace));
  return annotate(request, object, resolveReferrer(inventory, referrer, settings));
}

/**
 * Validates a create, update or delete request for an object that refers to a CAPA identity, or that uses the identity
 * of its Cluster. Only warns CAPA itself, and Cluster API about the machines that it creates for users. Rejects with
 * ERR_NOT_READY if the inventory is not loaded yet.
 */
export async function validateClusters(request: AdmissionRequest, context: ClusterContext): Promise<Verdict> {
  return unlessExempt(request, usesIdentity, async (submitted) => {
    const { settings, source: { inventory, status } } = context;
    requireLoaded(status);
    const { namespace } = request;
    // The selectors of identities read the labels of the namespace.
    await waitUntilKnown(namespace, () => inventory.namespaces.has(namespace), context);
    const warnOnly = isWarnOnly(request, settings, inventory);
    const input = checkInputOf(request, inNamespace(submitted, namespace), inventory);
    const access = warnOnly ? null : await accessToIdentities(input, namespace, context);
    return verdictOf(await runChecksInSlices({ ...input, access, warnOnly }, settings, context));
  });
}

function usesIdentity(object: JsonObject): boolean {
  return isReferrer(object) || isClusterPart(object);
}

/**
 * Returns the requester's access to each identity that the object uses before or after the change. Returns null if
 * AC-05 does not run.
 */
async function accessToIdentities(
  input: CheckInput, namespace: string, { reviewAccess, settings, source: { inventory } }: ClusterContext,
): Promise<AccessByName | null> {
  if (!isCheckEnabled(AC_05, settings)) return null;
  const { object, old, requester } = input;
  if (reviewAccess === null || requester === null) return new Map();
  const uses = [...identityUses(object, old, contextOf(input, settings, inventory))];
  const review = async ([key, { identity }]: readonly [string, IdentityUse]): Promise<readonly [string, Access]> => (
    [key, await reviewAccess(requester, { ...identityToReview(identity), namespace })]
  );
  return new Map(await Promise.all(uses.slice(0, LIMITS.accessReviews.value).map(review)));
}
