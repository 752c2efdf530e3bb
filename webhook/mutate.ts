import type { AdmissionRequest, Notice } from "../shared/core/admission.ts";
import { RESOLUTION_KEYS } from "../shared/core/annotation-keys.ts";
import type { Judge } from "../shared/core/judge.ts";
import { annotationPatch, resolutionAnnotations } from "../shared/core/resolution-annotations.ts";
import type { Resolution } from "../shared/core/resolution.ts";
import { resolve } from "../shared/core/resolve.ts";
import type { StoreKey } from "../shared/core/store.ts";
import {
  field, isJsonObject, type JsonObject, jsonPointer, type PatchOperation, stringAt,
} from "../shared/formats/json.ts";
import { annotationAt, objectReference } from "../shared/formats/object-meta.ts";
import { judgeOfKind } from "../shared/judges.ts";
import { notLoaded } from "../shared/server/readiness.ts";
import { dependsOnNamespace, waitUntilKnown } from "./namespace-wait.ts";
import { managedKind, type ReviewContext, skipped, type Verdict } from "./review.ts";

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

/**
 * Changes the object that the request writes, if the webhook mutates its kind at the path: completes it, or records its
 * role in annotations. Throws ERR_NOT_READY if the inventory, which annotations need, is not loaded yet.
 */
export function mutate(request: AdmissionRequest, path: string, context: ReviewContext): Verdict | Promise<Verdict> {
  const { operation, object, excess } = request;
  if (excess !== null) return skipped("limit exceeded");
  if (operation === "DELETE" || object === null) return skipped("no object");
  const kind = managedKind(path, objectReference(object), context.settings);
  const { complete, record } = (kind === null ? null : judgeOfKind(kind)) ?? {};
  if (complete !== undefined) {
    const patch = complete(object, request, context.settings);
    return typeof patch === "string" ? skipped(patch) : { outcome: "mutated", patch, notices: [], resolution: null };
  }
  return record === undefined ? skipped("not managed") : recordRole(request, object, record, context);
}

/** Annotates the object with its resolution. */
function recordRole(
  request: AdmissionRequest, object: JsonObject, { roleObject, needs }: NonNullable<Judge["record"]>,
  context: ReviewContext,
): Verdict | Promise<Verdict> {
  const { settings, source: { inventory, status } } = context;
  const subject = roleObject(object, request, settings);
  if (typeof subject === "string") return skipped(subject);
  if (!status.loaded) throw notLoaded(status);
  if (needs !== undefined && !inventory.includes(needs)) return removeAnnotations(object, unknownStore(needs));
  return whenKnown(request, object, { context, isNeeded: dependsOnNamespace(subject, context) }, () => (
    annotate(request, object, resolve(context.source.inventory, subject, settings))
  ));
}

/** Returns the notice of an object whose role depends on objects that are not listed. */
function unknownStore({ name }: StoreKey): Notice {
  return { code: "ERR_NOT_READY", message: `not annotated: the ${name} are not known yet` };
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
