import { texts } from "../formats/cel.ts";
import { RESOLUTION_KEYS, WAIVER_ANNOTATION } from "./annotation-keys.ts";
import { BOOKKEEPING } from "./exemptions.ts";
import { LIMITS } from "./limits.ts";

// The conditions under which the API server calls a webhook or evaluates a policy. If a condition of a webhook with
// failurePolicy `Ignore` fails, the API server skips the webhook, so an expression must not fail for any object. The
// API server also stops an expression that is too expensive, so an expression must not iterate over an unlimited
// number of keys. docs/webhook.md describes the conditions. Conditions that match only one kind are beside the kind.

/** A condition under which the API server calls a webhook. `expression` is CEL. */
export interface Condition {
  readonly name: string;
  readonly expression: string;
}

const CHANGES_CONTENT = ["spec", "metadata.labels", "metadata.annotations"].map((field) => (
  `has(object.${field}) != has(oldObject.${field}) || has(object.${field}) && object.${field} != oldObject.${field}`
)).join(" || ");

/** The maximum number of fields that a condition compares. A real object has fewer fields at each of these paths. */
const MAX_FIELDS = 100;
const CONTENT = same("object", "oldObject", ["metadata", "status"], MAX_FIELDS);
const METADATA = same(
  "object.metadata", "oldObject.metadata", [...BOOKKEEPING, "annotations"], MAX_FIELDS,
);
const LABELS = "object.metadata.?labels.orValue({}) == oldObject.metadata.?labels.orValue({})";
const ANNOTATIONS = same(
  "object.metadata.?annotations.orValue({})", "oldObject.metadata.?annotations.orValue({})", RESOLUTION_KEYS,
  LIMITS.metadataEntries.value,
);

/** Returns an expression: whether two maps of at most `limit` keys are equal, except for the keys in `except`. */
function same(a: string, b: string, except: Iterable<string>, limit: number): string {
  return `size(${a}) <= ${limit} && size(${b}) <= ${limit} && ${isSame(a, b, except)}`;
}

/** Returns an expression: whether two maps are equal, except for the keys in `except`. */
export function isSame(a: string, b: string, except: Iterable<string>): string {
  const ignored = texts(except);
  return `${a}.all(key, key in ${ignored} || key in ${b} && ${a}[key] == ${b}[key]) && `
    + `${b}.all(key, key in ${ignored} || key in ${a})`;
}

/** An expression: whether an update changes only the status, and the metadata except labels and annotations. */
export const UNCHANGED = `${CONTENT} && ${LABELS} && `
  + "object.metadata.?annotations.orValue({}) == oldObject.metadata.?annotations.orValue({})";

const WAIVER = `metadata.annotations["${WAIVER_ANNOTATION}"]`;
const HAS_WAIVER = `metadata.annotations) && "${WAIVER_ANNOTATION}" in `;

/**
 * Skips a DELETE of an object that is already being deleted, because such a request changes nothing. The expression
 * cannot fail: a stored object has metadata.
 */
export const NOT_DELETED_AGAIN: Condition = {
  name: "not-deleted-again",
  expression: 'request.operation != "DELETE" || oldObject == null || !has(oldObject.metadata.deletionTimestamp)',
};

/**
 * Skips DELETE requests like `not-deleted-again`, and skips an UPDATE of an object that is being deleted if the spec,
 * labels and annotations stay the same. The last finalizer can then be removed while the webhook is down. The API
 * server limits the cost of the comparison. If the expression fails, the failurePolicy `Fail` rejects the request.
 */
export const NOT_BEING_DELETED: Condition = {
  name: "not-being-deleted",
  expression: "oldObject == null || !has(oldObject.metadata.deletionTimestamp) || "
    + `request.operation == "UPDATE" && (${CHANGES_CONTENT})`,
};

/**
 * Skips an UPDATE that changes only fields that the API server and controllers maintain, such as finalizers, or the
 * annotations in which the webhook records a resolution. The webhook admits such an update without a check
 * (shared/core/exemptions.ts). This condition is not for a mutating webhook, which corrects these annotations.
 */
export const CHANGES_MORE_THAN_BOOKKEEPING: Condition = {
  name: "changes-more-than-bookkeeping",
  expression: `request.operation != "UPDATE" || !(${CONTENT} && ${METADATA} && ${ANNOTATIONS})`,
};

/**
 * Like `changes-more-than-bookkeeping`, but also skips an UPDATE of a subresource that changes neither labels nor
 * annotations.
 */
export const CHANGES_NAMESPACE: Condition = {
  name: "changes-namespace",
  expression: 'request.operation != "UPDATE" || !(has(request.subResource) && request.subResource != "" '
    + `? ${LABELS} && ${ANNOTATIONS} : ${CONTENT} && ${METADATA} && ${ANNOTATIONS})`,
};

/**
 * Skips an UPDATE of an object that is being deleted if only its status and its metadata except labels and
 * annotations change. The webhook does not mutate the object then (mutationExemptionOf).
 */
export const MUTATES: Condition = {
  name: "mutates",
  expression: `oldObject == null || !has(oldObject.metadata.deletionTimestamp) || !(${UNCHANGED})`,
};

/**
 * Matches each deletion, and each write that adds or changes a waiver annotation. The webhook does not receive other
 * writes of CustomResourceDefinitions, which can be larger than 1 MB. The expression cannot fail.
 */
export const DELETES_OR_WAIVES: Condition = {
  name: "deletes-or-waives",
  expression: `object == null || has(object.${HAS_WAIVER}object.metadata.annotations && !(oldObject != null && `
    + `has(oldObject.${HAS_WAIVER}oldObject.metadata.annotations && object.${WAIVER} == oldObject.${WAIVER})`,
};
