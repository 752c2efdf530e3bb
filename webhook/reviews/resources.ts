import { isCheckEnabled, selectorsToReview } from "../../shared/decisions/checks/access/reviews.ts";
import { runChecks } from "../../shared/decisions/checks/run.ts";
import { ACK_09 } from "../../shared/decisions/checks/resources/selection.ts";
import type { AccessByName } from "../../shared/decisions/context.ts";
import { mutationExemptionOf } from "../../shared/decisions/exemptions.ts";
import { queryOf, type ResourceQuery } from "../../shared/decisions/kubernetes/ack-resource.ts";
import { field, isJsonObject, type JsonObject } from "../../shared/decisions/kubernetes/json.ts";
import { definedKind, isACKGroup, isKindDefinition } from "../../shared/decisions/kubernetes/kinds.ts";
import { resolve } from "../../shared/decisions/resolution/resolve.ts";
import { isWarnOnly } from "../../shared/decisions/warn-only.ts";
import { requireLoaded } from "../../shared/server/readiness.ts";
import { type AccessContext, reviewAll } from "../access-review.ts";
import type { AdmissionRequest } from "../decode.ts";
import {
  checkInputOf, type ReviewTime, runChecksInSlices, skipped, unlessExempt, type Verdict, verdictOf,
} from "../handler.ts";
import { dependsOnNamespaces, type NamespaceWaitContext, requireNamespace, waitUntilKnown } from "../namespace-wait.ts";
import { annotate, removeAnnotations, unknownNamespace } from "./resolution-annotations.ts";

export interface ResourceContext extends NamespaceWaitContext, ReviewTime, AccessContext {}

/** Annotates an ACK resource with its resolution. Rejects with ERR_NOT_READY if the inventory is not loaded yet. */
export async function mutateResources(request: AdmissionRequest, context: NamespaceWaitContext): Promise<Verdict> {
  const { operation, namespace, object } = request;
  if (operation === "DELETE" || object === null) return skipped("no object");
  if (!isResource(request)) return skipped("not managed");
  const exemption = mutationExemptionOf(request);
  if (exemption !== null) return skipped(exemption);
  requireLoaded(context.source.status);
  if (!(await waitForLabels(namespace, context))) return removeAnnotations(object, unknownNamespace(namespace));
  const { source: { inventory }, settings } = context;
  return annotate(request, object, resolve(inventory, queryWithStoredStatus(request, object), settings));
}

/**
 * Validates a create, update or delete request for an ACK resource or its CustomResourceDefinition.
 * Rejects with ERR_NOT_READY if the inventory is not loaded yet.
 */
export async function validateResources(request: AdmissionRequest, context: ResourceContext): Promise<Verdict> {
  const isManaged = (object: JsonObject): boolean => isResource(request) || isResourceKind(object);
  return unlessExempt(request, isManaged, async (submitted) => {
    const { namespace } = request;
    const { source: { inventory, status }, settings } = context;
    if (isResourceKind(submitted) && request.operation !== "DELETE") {
      // Only WAIVER-01 applies to this request, and WAIVER-01 requires no inventory.
      return verdictOf(runChecks(checkInputOf(request, submitted, inventory), settings));
    }
    requireLoaded(status);
    // The checks read the labels and annotations of the namespace.
    if (namespace !== "") await waitUntilKnown(namespace, () => inventory.namespaces.has(namespace), context);
    const warnOnly = isWarnOnly(request, settings, inventory);
    if (namespace !== "" && !warnOnly) requireNamespace(namespace, context);
    const object = namespace === "" ? submitted : inNamespace(submitted, namespace);
    const access = warnOnly ? null : await accessToSelectors(object, request, context);
    const input = { ...checkInputOf(request, object, inventory), access, warnOnly };
    return verdictOf(await runChecksInSlices(input, settings, context));
  });
}

function isResource({ kind, namespace }: AdmissionRequest): boolean {
  return isACKGroup(kind.group) && namespace !== "";
}

/** Waits until the inventory contains the namespace. Does not wait if no role depends on namespaces. */
async function waitForLabels(namespace: string, context: NamespaceWaitContext): Promise<boolean> {
  const { inventory } = context.source;
  const isKnown = (): boolean => !dependsOnNamespaces(context) || inventory.namespaces.has(namespace);
  return await waitUntilKnown(namespace, isKnown, context);
}

/**
 * Returns the query to resolve, with the namespace of the request and the stored status of the resource. On a create,
 * no status is stored. On an update, the API server restores the stored status, because every ACK kind has the status
 * subresource.
 */
function queryWithStoredStatus({ namespace, oldObject }: AdmissionRequest, object: JsonObject): ResourceQuery {
  return { ...queryOf(object, namespace), namespace, status: queryOf(oldObject ?? {}, namespace).status };
}

/**
 * Overwrites the namespace of the object with the namespace of the request, because RBAC authorized the request for
 * this namespace.
 */
export function inNamespace(object: JsonObject, namespace: string): JsonObject {
  const metadata = field(object, "metadata");
  return { ...object, metadata: { ...(isJsonObject(metadata) && metadata), namespace } };
}

function isResourceKind(object: JsonObject): boolean {
  return isKindDefinition(object) && isACKGroup(definedKind(object).group);
}

/** Returns the requester's access to the selectors of the resource. Returns null if ACK-09 does not run. */
async function accessToSelectors(
  object: JsonObject,
  { requester, namespace, operation, oldObject }: AdmissionRequest,
  { source: { inventory }, settings, reviewAccess }: ResourceContext,
): Promise<AccessByName | null> {
  if (!isCheckEnabled(ACK_09, settings)) return null;
  if (reviewAccess === null) return new Map();
  const stored = operation === "UPDATE" ? oldObject : null;
  const selectors = selectorsToReview(object, stored, inventory, settings);
  return await reviewAll(reviewAccess, requester, { selectors, namespace });
}
