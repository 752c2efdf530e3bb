import type { Requester } from "../shared/decisions/context.ts";
import { ResolverError } from "../shared/decisions/errors.ts";
import type { AdmissionChange } from "../shared/decisions/exemptions.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../shared/decisions/kubernetes/json.ts";
import { quote } from "../shared/decisions/kubernetes/text.ts";

/**
 * The largest body that is read. The API server takes 3 MiB from a client, and a review of an update carries the object and
 * the stored one beside a little of its own: 3 + 3 + 1. controller-runtime has the same limit (pkg/webhook/admission/http.go).
 */
export const BODY_LIMIT_BYTES = 7 * 1024 * 1024;

export const REVIEW_API_VERSION = "admission.k8s.io/v1";
export const REVIEW_KIND = "AdmissionReview";

const OPERATIONS = ["CREATE", "UPDATE", "DELETE", "CONNECT"] as const;

/** The request of an AdmissionReview, as far as this server reads it. Absent strings are "". */
export interface AdmissionRequest extends AdmissionChange {
  readonly uid: string;
  readonly operation: (typeof OPERATIONS)[number];
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly namespace: string;
  /** Empty where the API server is to generate it. */
  readonly name: string;
  readonly requester: Requester;
  readonly dryRun: boolean;
}

/** Reads a parsed body. Throws ERR_REQUEST_MALFORMED, saying what was expected where, for anything but a v1 review. */
export function decodeReview(body: unknown): AdmissionRequest {
  if (body === undefined || body === null) throw malformed(`the body is empty; expected an ${REVIEW_KIND} of ${REVIEW_API_VERSION} as JSON`);
  const apiVersion = stringAt(body, "apiVersion");
  const reviewKind = stringAt(body, "kind");
  if (apiVersion !== REVIEW_API_VERSION || reviewKind !== REVIEW_KIND) {
    const found = `apiVersion ${quote(apiVersion ?? "")} and kind ${quote(reviewKind ?? "")}`;
    throw malformed(`the body has ${found}; expected apiVersion "${REVIEW_API_VERSION}" and kind "${REVIEW_KIND}"`);
  }
  const request = field(body, "request");
  if (!isJsonObject(request)) throw malformed("the review has no request; expected an object at request");
  const operation = OPERATIONS.find((known) => known === stringAt(request, "operation"));
  if (operation === undefined) throw malformed(`request.operation: expected one of ${OPERATIONS.join(", ")}`);
  const oldObject = objectAt(request, "oldObject");
  return {
    uid: required(request, "uid"),
    operation,
    kind: { group: text(request, "kind", "group"), version: required(request, "kind", "version"), kind: required(request, "kind", "kind") },
    subResource: text(request, "subResource"),
    namespace: text(request, "namespace"),
    // The API server leaves it out where a whole collection is deleted, an object after the other.
    name: stringAt(request, "name") ?? text(oldObject, "metadata", "name"),
    requester: requesterOf(field(request, "userInfo")),
    object: objectAt(request, "object"),
    oldObject,
    dryRun: field(request, "dryRun") === true,
  };
}

/** Whoever the review does not name is nobody, and has no rights by being so. */
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

function required(request: JsonObject, ...path: readonly string[]): string {
  const value = text(request, ...path);
  if (value === "") throw malformed(`request.${path.join(".")}: expected a string that is not empty`);
  return value;
}

function objectAt(request: JsonObject, key: "object" | "oldObject"): JsonObject | null {
  const value = field(request, key) ?? null;
  if (value !== null && !isJsonObject(value)) throw malformed(`request.${key}: expected an object or null`);
  return value;
}

function malformed(message: string): ResolverError {
  return new ResolverError("ERR_REQUEST_MALFORMED", message);
}
