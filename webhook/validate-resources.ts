import { asksFor, selectorsInQuestion } from "../shared/decisions/access-questions.ts";
import { isACKGroup } from "../shared/decisions/ack-resource.ts";
import type { AccessAnswers } from "../shared/decisions/checks/check.ts";
import { definedKind, isKindDefinition } from "../shared/decisions/checks/kind-removal.ts";
import { ACK_09 } from "../shared/decisions/checks/resource-selection.ts";
import { field, isJsonObject, type JsonObject } from "../shared/decisions/json.ts";
import { isACKController, isCleanUp } from "../shared/decisions/requesters.ts";
import type { DecisionSettings } from "../shared/decisions/settings.ts";
import { askAll, type AskAccess } from "./access-review.ts";
import { judgeInSlices, type ReviewTime } from "./judge-in-slices.ts";
import { type NamespaceWait, whenKnown } from "./known-namespace.ts";
import type { AdmissionRequest } from "./review-decode.ts";
import { judgeInputOf, requireLoaded, verdictOf, whereOurs } from "./validation.ts";
import type { Verdict } from "./verdict.ts";

export interface ResourceJudgement extends NamespaceWait, ReviewTime {
  readonly settings: DecisionSettings;
  /** Null where nobody can be asked; then whether somebody may use a selector is never known. */
  readonly access: AskAccess | null;
}

/** Judges a step of an ACK resource, its deletion too, and the removal of its definition. Throws ERR_NOT_READY from a view that was never loaded. */
export async function validateResources(request: AdmissionRequest, context: ResourceJudgement): Promise<Verdict> {
  return whereOurs(request, (sent) => isResource(request) || isRemovalOfKind(request, sent), async (sent) => {
    const { namespace, requester } = request;
    const { source, settings } = context;
    requireLoaded(source.status, "resource");
    // The annotations of a namespace count in any case. One that stays unknown leaves out the checks that need it.
    if (namespace !== "") await whenKnown(() => source.inventory.hasNamespace(namespace), context);
    const object = namespace === "" ? sent : inNamespace(sent, namespace);
    const access = await accessTo(object, request, context);
    const lenient = isACKController(requester, settings) || isCleanUp(request, source.inventory);
    return verdictOf(await judgeInSlices({ ...judgeInputOf(request, object, source.inventory), access, lenient }, settings, context));
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
