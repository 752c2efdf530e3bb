import type { Requester } from "../shared/decisions/context.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import type { AdmissionChange } from "../shared/decisions/exemptions.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../shared/decisions/kubernetes/json.ts";
import { quote } from "../shared/decisions/kubernetes/text.ts";

export const REVIEW_API_VERSION = "admission.k8s.io/v1";
export const REVIEW_KIND = "AdmissionReview";

const OPERATIONS = ["CREATE", "UPDATE", "DELETE", "CONNECT"] as const;

/** The fields of an AdmissionReview's request that the webhook uses. A missing string is "". */
export interface AdmissionRequest extends AdmissionChange {
  readonly uid: string;
  readonly operation: (typeof OPERATIONS)[number];
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly namespace: string;
  /** Empty if the API server generates the name later. */
  readonly name: string;
  readonly requester: Requester;
  readonly dryRun: boolean;
}

/** Returns the request in a parsed body. Throws ERR_REQUEST_MALFORMED if the body is not a v1 AdmissionReview. */
export function decodeReview(body: unknown): AdmissionRequest {
  requireReview(body);
  const request = field(body, "request");
  if (!isJsonObject(request)) throw malformed("The field request must be an object.");
  const operation = OPERATIONS.find((known) => known === stringAt(request, "operation"));
  if (operation === undefined) throw malformed(`request.operation must be one of ${OPERATIONS.join(", ")}.`);
  const oldObject = objectAt(request, "oldObject");
  return {
    uid: requiredText(request, "uid"),
    operation,
    kind: {
      group: text(request, "kind", "group"),
      version: requiredText(request, "kind", "version"),
      kind: requiredText(request, "kind", "kind"),
    },
    subResource: text(request, "subResource"),
    namespace: text(request, "namespace"),
    // If a client deletes a collection, the API server sends one review for each object. These reviews have no
    // request.name.
    name: stringAt(request, "name") ?? text(oldObject, "metadata", "name"),
    requester: requesterOf(field(request, "userInfo")),
    object: objectAt(request, "object"),
    oldObject,
    dryRun: field(request, "dryRun") === true,
  };
}

function requireReview(body: unknown): void {
  if (body === undefined || body === null) {
    throw malformed(`The body is empty. Send an ${REVIEW_KIND} of ${REVIEW_API_VERSION} as JSON.`);
  }
  const apiVersion = stringAt(body, "apiVersion");
  const kind = stringAt(body, "kind");
  if (apiVersion === REVIEW_API_VERSION && kind === REVIEW_KIND) return;
  const found = `apiVersion ${quote(apiVersion ?? "")} and kind ${quote(kind ?? "")}`;
  throw malformed(`The body has ${found}. Send apiVersion "${REVIEW_API_VERSION}" and kind "${REVIEW_KIND}".`);
}

/** Returns the requester. If userInfo is missing, the requester is anonymous and has no groups. */
function requesterOf(userInfo: unknown): Requester {
  const groups = field(userInfo, "groups");
  return {
    username: text(userInfo, "username"),
    groups: Array.isArray(groups) ? groups.filter((group) => typeof group === "string") : [],
  };
}

function text(object: unknown, ...path: readonly string[]): string {
  return stringAt(object, ...path) ?? "";
}

function requiredText(request: JsonObject, ...path: readonly string[]): string {
  const value = text(request, ...path);
  if (value === "") throw malformed(`request.${path.join(".")} must be a non-empty string.`);
  return value;
}

function objectAt(request: JsonObject, key: "object" | "oldObject"): JsonObject | null {
  const value = field(request, key) ?? null;
  if (value !== null && !isJsonObject(value)) throw malformed(`request.${key} must be an object or null.`);
  return value;
}

function malformed(message: string): ResolverError {
  return new ResolverError("ERR_REQUEST_MALFORMED", message);
}
