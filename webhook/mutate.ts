import { resolve } from "../shared/core/resolve.ts";
import type { Resolution } from "../shared/core/resolution.ts";
import { IDENTITIES } from "../shared/capa/identities.ts";
import { objectExcess } from "../shared/core/limits.ts";
import { queryOf, type ResourceQuery, statusOf } from "../shared/core/ack-resource.ts";
import { INJECT_LABEL, RESOLUTION_KEYS } from "../shared/core/annotation-keys.ts";
import { clusterMutationExemptionOf, isCAPAController, mutationExemptionOf } from "../shared/core/exemptions.ts";
import { reviewedKind } from "../shared/kinds.ts";
import {
  field, isJsonObject, type JsonObject, jsonPointer, type PatchOperation, stringAt,
} from "../shared/formats/json.ts";
import { annotationAt, objectReference } from "../shared/formats/object-meta.ts";
import { injectionPatch } from "../shared/injection/injection.ts";
import { decodePod, isMirrorPod } from "../shared/core/pod.ts";
import { readReferrer } from "../shared/capa/referrer.ts";
import { completionPatch } from "../shared/ack/selector.ts";
import { annotationPatch, resolutionAnnotations } from "../shared/core/resolution-annotations.ts";
import { resolveReferrer } from "../shared/capa/resolve-identity.ts";
import { notLoaded } from "../shared/server/readiness.ts";
import {
  type AdmissionRequest, inNamespace, type Notice, type ReviewContext, skipped, type SkipReason, type Verdict,
} from "./review.ts";
import { dependsOnNamespaces, waitUntilKnown } from "./namespace-wait.ts";

const TOO_LARGE: Notice = {
  code: "ERR_ANNOTATIONS_TOO_LARGE",
  message: "not annotated: the annotations would exceed the Kubernetes limit of 256 KiB",
};

/** Annotates the object with its resolution. */
function annotate({ oldObject }: AdmissionRequest, object: JsonObject, resolution: Resolution): Verdict {
  const correct = resolutionAnnotations(resolution);
  const { patch, tooLarge } = annotationPatch(object, correct);
  const notices = tooLarge ? [TOO_LARGE] : overwriteNotices(object, oldObject ?? {}, correct);
  return { outcome: "mutated", patch, notices, resolution };
}

/** Returns a notice if the requester sets an annotation of the webhook to an incorrect value. */
function overwriteNotices(object: JsonObject, stored: JsonObject, correct: ReadonlyMap<string, string>): Notice[] {
  const annotations = field(field(object, "metadata"), "annotations");
  if (!isJsonObject(annotations)) return [];
  const keys = RESOLUTION_KEYS.filter((key) => {
    const submitted = stringAt(annotations, key);
    return submitted !== null && submitted !== annotationAt(stored, key) && submitted !== correct.get(key);
  });
  if (keys.length === 0) return [];
  const message = `${keys.join(", ")}: submitted values are overwritten; only the webhook writes these annotations`;
  return [{ code: "ACK-02", message }];
}

/**
 * Removes the webhook's annotations from an object whose resolution is unknown, because the annotations could be wrong.
 */
function removeAnnotations(object: JsonObject, notice: Notice): Verdict {
  const annotations = field(field(object, "metadata"), "annotations");
  const keys = isJsonObject(annotations) ? RESOLUTION_KEYS.filter((key) => Object.hasOwn(annotations, key)) : [];
  const patch = keys.map((key): PatchOperation => ({
    op: "remove",
    path: jsonPointer("metadata", "annotations", key),
  }));
  return { outcome: "mutated", patch, notices: [notice], resolution: null };
}

/** Returns the notice of an object whose resolution depends on a namespace that is not known. */
function unknownNamespace(namespace: string): Notice {
  const message = `not annotated: the labels of namespace ${namespace} are not known yet`;
  return { code: "ERR_NAMESPACE_UNKNOWN", message };
}

type Mutate = (
  request: AdmissionRequest, object: JsonObject, context: ReviewContext,
) => Verdict | Promise<Verdict>;

const MUTATIONS: Readonly<Record<string, Mutate>> = {
  selector: completeSelector, resource: annotateResource, cluster: annotateCluster, pod: injectSidecar,
};

/**
 * Changes the object that the request writes, if the webhook mutates its kind at the path. Throws ERR_NOT_READY if the
 * inventory, which annotations need, is not loaded yet.
 */
export function mutate(request: AdmissionRequest, path: string, context: ReviewContext): Verdict | Promise<Verdict> {
  const { operation, object, excess } = request;
  if (excess !== null) return skipped("limit exceeded");
  if (operation === "DELETE" || object === null) return skipped("no object");
  const kind = reviewedKind(path, objectReference(object));
  const change = kind === null ? undefined : MUTATIONS[kind.id];
  return change === undefined ? skipped("not managed") : change(request, object, context);
}

/**
 * Adds the empty fields that ACK's CustomResourceDefinition requires, and rewrites type entries that have the form
 * `{apiVersion, kind}`.
 */
function completeSelector(request: AdmissionRequest, object: JsonObject): Verdict {
  const exemption = mutationExemptionOf(request);
  if (exemption !== null) return skipped(exemption);
  return { outcome: "mutated", patch: completionPatch(object), notices: [], resolution: null };
}

/** Annotates an ACK resource with its resolution. */
function annotateResource(
  request: AdmissionRequest, object: JsonObject, context: ReviewContext,
): Verdict | Promise<Verdict> {
  const { namespace } = request;
  if (namespace === "") return skipped("not managed");
  const exemption = mutationExemptionOf(request);
  if (exemption !== null) return skipped(exemption);
  const { source: { inventory, status }, settings } = context;
  if (!status.loaded) throw notLoaded(status);
  return whenKnown(request, object, { context, isNeeded: dependsOnNamespaces(context) }, () => (
    annotate(request, object, resolve(inventory, queryWithStoredStatus(request, object), settings))
  ));
}

/**
 * Returns the query to resolve, with the namespace of the request and the stored status of the resource. On a create,
 * no status is stored. On an update, the API server restores the stored status, because every ACK kind has the status
 * subresource.
 */
function queryWithStoredStatus({ namespace, oldObject }: AdmissionRequest, object: JsonObject): ResourceQuery {
  const { group, version, kind, name, labels, annotations } = queryOf(object, namespace);
  return { group, version, kind, namespace, name, labels, annotations, status: statusOf(oldObject ?? {}) };
}

const UNKNOWN_IDENTITIES: Notice = {
  code: "ERR_NOT_READY", message: "not annotated: the identities are not known yet",
};

/** Annotates an object that refers to a CAPA identity with its resolution. Never changes a write of CAPA itself. */
function annotateCluster(
  request: AdmissionRequest, object: JsonObject, context: ReviewContext,
): Verdict | Promise<Verdict> {
  const { namespace, requester } = request;
  const { settings, source: { inventory, status } } = context;
  const referrer = readReferrer(inNamespace(object, namespace));
  if (referrer === null || namespace === "") return skipped("not managed");
  if (isCAPAController(requester, settings)) return skipped("written by CAPA");
  const exemption = clusterMutationExemptionOf(request);
  if (exemption !== null) return skipped(exemption);
  if (!status.loaded) throw notLoaded(status);
  if (!inventory.includes(IDENTITIES)) return removeAnnotations(object, UNKNOWN_IDENTITIES);
  // The selectors of identities read the labels of the namespace.
  return whenKnown(request, object, { context, isNeeded: true }, () => (
    annotate(request, object, resolveReferrer(inventory, referrer, settings))
  ));
}

interface NamespaceWait {
  readonly context: ReviewContext;
  /** Whether the result depends on the namespace. */
  readonly isNeeded: boolean;
}

/**
 * Returns the result, after the inventory contains the namespace of the request. Removes the annotations, which could
 * be wrong, if the namespace stays unknown.
 */
function whenKnown(
  { namespace }: AdmissionRequest, object: JsonObject, { context, isNeeded }: NamespaceWait, result: () => Verdict,
): Verdict | Promise<Verdict> {
  const { inventory } = context.source;
  const isKnown = (): boolean => !isNeeded || inventory.namespaces.has(namespace);
  if (isKnown()) return result();
  return waitUntilKnown(namespace, isKnown, context).then((isFound) => (
    isFound ? result() : removeAnnotations(object, unknownNamespace(namespace))
  ));
}

/**
 * Injects the sidecar into a new Pod. Does not inject the sidecar, and does not deny the Pod, if the Pod is faulty: its
 * validation reports the faults. Reads no inventory.
 */
function injectSidecar(request: AdmissionRequest, object: JsonObject, { settings }: ReviewContext): Verdict {
  const reason = podSkipReason(object, request);
  if (reason !== null) return skipped(reason);
  // Bounds the work, because the limit of a review is higher than the limit of an object.
  if (objectExcess(object) !== null) return skipped("limit exceeded");
  const patch = injectionPatch(decodePod(object), settings.injection);
  return { outcome: "mutated", patch, notices: [], resolution: null };
}

/**
 * Returns why the webhook does not review a Pod: only a creation can add a container or a variable, and the label of a
 * Pod can reject the sidecar. A Pod without the label requests the sidecar, because the API server sends it only if its
 * Namespace has the label.
 */
export function podSkipReason(object: JsonObject, { operation, subResource }: AdmissionRequest): SkipReason | null {
  if (operation !== "CREATE") return "no object";
  if (subResource !== "") return "subresource";
  const isRejected = stringAt(object, "metadata", "labels", INJECT_LABEL) === "false";
  return isMirrorPod(object) || isRejected ? "not managed" : null;
}
