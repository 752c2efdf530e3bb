import { RESOLUTION_KEYS } from "../shared/decisions/annotation-keys.ts";
import { asksFor, selectorsInQuestion } from "../shared/decisions/checks/access.ts";
import { ACK_09 } from "../shared/decisions/checks/resources/selection.ts";
import type { AccessAnswers, DecisionSettings } from "../shared/decisions/context.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import { isACKController, isClusterCleanup, mutationExemptionOf } from "../shared/decisions/exemptions.ts";
import { queryOf, type ResourceQuery } from "../shared/decisions/kubernetes/ack-resource.ts";
import {
  field, isJsonObject, type JsonObject, jsonPointer, type PatchOperation,
} from "../shared/decisions/kubernetes/json.ts";
import { definedKind, isACKGroup, isKindDefinition } from "../shared/decisions/kubernetes/kinds.ts";
import { objectMeta } from "../shared/decisions/kubernetes/object-meta.ts";
import { annotationPatch, resolutionAnnotations } from "../shared/decisions/resolution/annotations.ts";
import { type Resolution, resolve } from "../shared/decisions/resolution/resolve.ts";
import { type AskAccess, askAll } from "./access-review.ts";
import type { AdmissionRequest } from "./decode.ts";
import {
  checkInputOf, runChecksInSlices, NO_OBJECT, NOT_MANAGED, type Notice, requireLoaded, type ReviewTime, type Verdict,
  verdictOf, unlessExempt,
} from "./handler.ts";
import { type NamespaceWait, whenKnown } from "./namespace-wait.ts";

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
  if (!isACKGroup(kind.group) || namespace === "") return NOT_MANAGED;
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

export interface ResourceJudgement extends NamespaceWait, ReviewTime {
  readonly settings: DecisionSettings;
  /** Null where nobody can be asked; then whether somebody may use a selector is never known. */
  readonly access: AskAccess | null;
}

/** Judges a step of an ACK resource, its deletion too, and the removal of its definition. Throws ERR_NOT_READY from a view that was never loaded. */
export async function validateResources(request: AdmissionRequest, context: ResourceJudgement): Promise<Verdict> {
  return unlessExempt(request, (sent) => isResource(request) || isRemovalOfKind(request, sent), async (sent) => {
    const { namespace, requester } = request;
    const { source, settings } = context;
    requireLoaded(source.status, "resource");
    // The annotations of a namespace count in any case. One that stays unknown leaves out the checks that need it.
    if (namespace !== "") await whenKnown(() => source.inventory.hasNamespace(namespace), context);
    const object = namespace === "" ? sent : inNamespace(sent, namespace);
    const access = await accessTo(object, request, context);
    const warnOnly = isACKController(requester, settings) || isClusterCleanup(request, source.inventory);
    return verdictOf(await runChecksInSlices({ ...checkInputOf(request, object, source.inventory), access, warnOnly }, settings, context));
  });
}

function isResource({ kind, namespace }: AdmissionRequest): boolean {
  return isACKGroup(kind.group) && namespace !== "";
}

/** The namespace that the request is for, whatever the object says: that is the one that its author had to be allowed to write in. */
function inNamespace(object: JsonObject, namespace: string): JsonObject {
  const metadata = field(object, "metadata");
  return { ...object, metadata: { ...(isJsonObject(metadata) && metadata), namespace } };
}

function isRemovalOfKind({ operation }: AdmissionRequest, object: JsonObject): boolean {
  return operation === "DELETE" && isKindDefinition(object) && isACKGroup(definedKind(object).group);
}

/** Null where no check asks. A deletion gives nobody a role. */
async function accessTo(object: JsonObject, { operation, requester }: AdmissionRequest, context: ResourceJudgement): Promise<AccessAnswers | null> {
  const { source, settings, access } = context;
  if (!asksFor(ACK_09, settings) || operation === "DELETE") return null;
  return access === null ? new Map() : await askAll(access, requester, selectorsInQuestion(object, source.inventory, settings));
}
