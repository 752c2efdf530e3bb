import { RESOLUTION_KEYS } from "../shared/decisions/annotation-keys.ts";
import {
  field, isJsonObject, type JsonObject, jsonPointer, type PatchOperation,
} from "../shared/decisions/kubernetes/json.ts";
import { annotationAt } from "../shared/decisions/kubernetes/object-meta.ts";
import { annotationPatch, resolutionAnnotations } from "../shared/decisions/resolution/annotations.ts";
import type { Resolution } from "../shared/decisions/resolution/resolve.ts";
import type { AdmissionRequest } from "./decode.ts";
import type { Notice, Verdict } from "./handler.ts";

const TOO_LARGE: Notice = {
  code: "ERR_ANNOTATIONS_TOO_LARGE",
  message: "not annotated: the annotations would exceed the Kubernetes limit of 256 KiB",
};

/** Annotates the object with its resolution. */
export function annotate({ oldObject }: AdmissionRequest, object: JsonObject, resolution: Resolution): Verdict {
  const { patch, tooLarge } = annotationPatch(object, resolution);
  const notices = tooLarge ? [TOO_LARGE] : overwriteNotices(object, oldObject ?? {}, resolution);
  return { outcome: "mutated", patch, notices, resolution };
}

/** Returns a notice if the requester sets an annotation of the webhook to an incorrect value. */
function overwriteNotices(object: JsonObject, stored: JsonObject, resolution: Resolution): Notice[] {
  const correct = resolutionAnnotations(resolution);
  const keys = RESOLUTION_KEYS.filter((key) => {
    const submitted = annotationAt(object, key);
    return submitted !== null && submitted !== annotationAt(stored, key) && submitted !== correct.get(key);
  });
  if (keys.length === 0) return [];
  const message = `${keys.join(", ")}: submitted values are overwritten; only the webhook writes these annotations`;
  return [{ code: "ACK-02", message }];
}

/**
 * Removes the webhook's annotations from an object whose resolution is unknown, because the annotations could be wrong.
 */
export function removeAnnotations(object: JsonObject, notice: Notice): Verdict {
  const annotations = field(field(object, "metadata"), "annotations");
  const keys = isJsonObject(annotations) ? RESOLUTION_KEYS.filter((key) => Object.hasOwn(annotations, key)) : [];
  const patch = keys.map((key): PatchOperation => ({
    op: "remove",
    path: jsonPointer("metadata", "annotations", key),
  }));
  return { outcome: "mutated", patch, notices: [notice], resolution: null };
}

/** Returns the notice of an object whose resolution depends on a namespace that is not known. */
export function unknownNamespace(namespace: string): Notice {
  const message = `not annotated: the labels of namespace ${namespace} are not known yet`;
  return { code: "ERR_NAMESPACE_UNKNOWN", message };
}
