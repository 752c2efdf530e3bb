import { isACKGroup, queryOf, type ResourceQuery } from "../shared/decisions/ack-resource.ts";
import { mutationExemptionOf } from "../shared/decisions/admission-scope.ts";
import { annotationPatch, RESOLUTION_KEYS, resolutionAnnotations } from "../shared/decisions/annotations.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import { field, isJsonObject, type JsonObject } from "../shared/decisions/json.ts";
import { jsonPointer, type PatchOperation } from "../shared/decisions/json-patch.ts";
import { objectMeta } from "../shared/decisions/object-meta.ts";
import { resolve, type Resolution } from "../shared/decisions/resolve.ts";
import type { DecisionSettings } from "../shared/decisions/settings.ts";
import { type NamespaceWait, whenKnown } from "./known-namespace.ts";
import type { AdmissionRequest } from "./review-decode.ts";
import { NO_OBJECT, NOT_OURS, type Notice, type Verdict } from "./verdict.ts";

export interface ResourceContext extends NamespaceWait {
  readonly settings: DecisionSettings;
}

const TOO_LARGE: Notice = {
  code: "ERR_ANNOTATIONS_TOO_LARGE",
  message: "not annotated: the annotations would pass Kubernetes' limit of 256 KiB",
};

/** Annotates an ACK resource with the selector that resolves for it. Throws ERR_NOT_READY from a view that was never loaded. */
export async function mutateResources(request: AdmissionRequest, context: ResourceContext): Promise<Verdict> {
  const { operation, kind, namespace, object } = request;
  if (operation === "DELETE" || object === null) return NO_OBJECT;
  if (!isACKGroup(kind.group) || namespace === "") return NOT_OURS;
  const reason = mutationExemptionOf(request);
  if (reason !== null) return { outcome: "skipped", reason };
  if (!context.source.status.loaded) {
    throw new ResolverError("ERR_NOT_READY", "the inventory has not been loaded yet, so no role can be told; try again in a moment");
  }
  const known = await namespaceIsKnown(namespace, context);
  return known ? annotated(request, object, context) : withoutNamespace(object, namespace);
}

function annotated(request: AdmissionRequest, object: JsonObject, { source, settings }: ResourceContext): Verdict {
  const resolution = resolve(source.inventory, queryWithStoredStatus(request, object), settings);
  const { patch, tooLarge } = annotationPatch(object, resolution);
  return { outcome: "mutated", patch, notices: tooLarge ? [TOO_LARGE] : overwritten(request, object, resolution), resolution };
}

/** The annotations that somebody gives a value of his own, neither the stored one nor the true one. */
function overwritten({ oldObject }: AdmissionRequest, object: JsonObject, resolution: Resolution): Notice[] {
  const given = objectMeta(object).annotations;
  const stored = objectMeta(oldObject ?? {}).annotations;
  const truth = resolutionAnnotations(resolution);
  const keys = RESOLUTION_KEYS.filter((key) => given.has(key) && given.get(key) !== stored.get(key) && given.get(key) !== truth.get(key));
  return keys.length === 0 ? [] : [{ code: "ACK-02", message: `${keys.join(", ")}: the webhook alone writes these, so what was given is overwritten` }];
}

/**
 * The resource in the namespace that is written to, with its stored status: at create there is none, and at update the API server puts the stored one back
 * whatever the request holds, where the kind has a status subresource as all of ACK's have.
 */
function queryWithStoredStatus({ namespace, oldObject }: AdmissionRequest, object: JsonObject): ResourceQuery {
  return { ...queryOf(object, namespace), namespace, status: queryOf(oldObject ?? {}, namespace).status };
}

/** Whether the inventory can decide for the namespace, at once or after a short wait. */
async function namespaceIsKnown(namespace: string, context: ResourceContext): Promise<boolean> {
  const { inventory } = context.source;
  const isRead = (): boolean => context.settings.mode === "carm" || inventory.readsNamespaceLabels;
  return await whenKnown(() => !isRead() || inventory.hasNamespace(namespace), context);
}

/** What the annotations would say is not known, so whatever they do say is taken away. */
function withoutNamespace(object: JsonObject, namespace: string): Verdict {
  const annotations = field(field(object, "metadata"), "annotations");
  const found = isJsonObject(annotations) ? RESOLUTION_KEYS.filter((key) => Object.hasOwn(annotations, key)) : [];
  const patch = found.map((key): PatchOperation => ({ op: "remove", path: jsonPointer("metadata", "annotations", key) }));
  const message = `the labels of namespace ${namespace} are not known yet; not annotated`;
  return { outcome: "mutated", patch, notices: [{ code: "ERR_NAMESPACE_UNKNOWN", message }], resolution: null };
}
