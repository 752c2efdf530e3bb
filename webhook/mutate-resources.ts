import { isACKGroup, queryOf, type ResourceQuery } from "../shared/decisions/ack-resource.ts";
import { mutationExemptionOf } from "../shared/decisions/admission-scope.ts";
import { annotationPatch, RESOLUTION_KEYS } from "../shared/decisions/annotations.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import { field, isJsonObject, type JsonObject } from "../shared/decisions/json.ts";
import { jsonPointer, type PatchOperation } from "../shared/decisions/json-patch.ts";
import { resolve } from "../shared/decisions/resolve.ts";
import type { DecisionSettings } from "../shared/decisions/settings.ts";
import type { Clock } from "../shared/inventory/clock.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import type { AdmissionRequest } from "./review-decode.ts";
import { NO_OBJECT, NOT_OURS, type Notice, type Verdict } from "./verdict.ts";

export interface ResourceContext {
  readonly source: InventorySource;
  readonly clock: Clock;
  readonly settings: DecisionSettings;
  /** How long this request may still wait, in ms, for its answer to land in time. */
  readonly remainingMs: () => number;
}

const TOO_LARGE: Notice = {
  code: "ERR_ANNOTATIONS_TOO_LARGE",
  message: "not annotated: the annotations would pass Kubernetes' limit of 256 KiB",
};

/** A namespace and the first resource in it are often created at once; the watch is behind by less than this. */
const NAMESPACE_WAIT_MS = 100;

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
  return { outcome: "mutated", patch, notices: tooLarge ? [TOO_LARGE] : [], resolution };
}

/**
 * The resource in the namespace that is written to, with its stored status: at create there is none, and at update the API server puts the stored one back
 * whatever the request holds, where the kind has a status subresource as all of ACK's have.
 */
function queryWithStoredStatus({ namespace, oldObject }: AdmissionRequest, object: JsonObject): ResourceQuery {
  return { ...queryOf(object, namespace), namespace, status: queryOf(oldObject ?? {}, namespace).status };
}

/** Whether the inventory can decide for the namespace, at once or after a short wait. */
async function namespaceIsKnown(namespace: string, { source, clock, remainingMs }: ResourceContext): Promise<boolean> {
  const known = (): boolean => !source.inventory.readsNamespaceLabels || source.inventory.hasNamespace(namespace);
  const waitMs = Math.min(NAMESPACE_WAIT_MS, remainingMs());
  if (known() || waitMs <= 0) return known();
  const { promise, resolve: done } = Promise.withResolvers<void>();
  const callOff = clock.schedule(waitMs, done);
  const unsubscribe = source.onChange(() => {
    if (known()) done();
  });
  await promise;
  callOff();
  unsubscribe();
  return known();
}

/** What the annotations would say is not known, so whatever they do say is taken away. */
function withoutNamespace(object: JsonObject, namespace: string): Verdict {
  const annotations = field(field(object, "metadata"), "annotations");
  const found = isJsonObject(annotations) ? RESOLUTION_KEYS.filter((key) => Object.hasOwn(annotations, key)) : [];
  const patch = found.map((key): PatchOperation => ({ op: "remove", path: jsonPointer("metadata", "annotations", key) }));
  const message = `the labels of namespace ${namespace} are not known yet; not annotated`;
  return { outcome: "mutated", patch, notices: [{ code: "ERR_NAMESPACE_UNKNOWN", message }], resolution: null };
}
