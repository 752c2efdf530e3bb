import { field, isJsonObject, isSame, type JsonObject, stringAt } from "../formats/json.ts";
import { matchesPattern } from "../formats/names.ts";
import { IGNORED_NAMESPACES, RESOLUTION_KEYS } from "./annotation-keys.ts";
import type { DecisionSettings, Operation, Requester } from "./context.ts";

/**
 * Fields of `metadata` that the API server and controllers maintain. A change of these fields does not change the
 * desired state of the object.
 */
export const BOOKKEEPING: ReadonlySet<string> = new Set([
  "finalizers", "managedFields", "resourceVersion", "generation",
]);

/** The change that an admission request makes. */
export interface AdmissionChange {
  readonly operation: string;
  /** The subresource, such as `status` or `scale`; "" for the object itself. */
  readonly subResource: string;
  readonly object: JsonObject | null;
  /** The stored object at UPDATE and DELETE, otherwise null. */
  readonly oldObject: JsonObject | null;
}

/** The reason why the webhook allows a change without checks. */
export type Exemption = "subresource" | "being deleted" | "bookkeeping only";

/**
 * Returns the reason why the webhook allows a change without checks, or null if the checks run. A change of only the
 * status or the finalizers needs no checks, because a denial would prevent the cleanup of a faulty object. A second
 * deletion of an object has no effect and needs no checks.
 */
export function exemptionOf({ operation, subResource, object, oldObject }: AdmissionChange): Exemption | null {
  if (operation === "UPDATE" && object !== null && oldObject !== null) {
    return updateExemptionOf(subResource, object, oldObject);
  }
  if (subResource !== "") return "subresource";
  return operation === "DELETE" && oldObject !== null && isBeingDeleted(oldObject) ? "being deleted" : null;
}

function updateExemptionOf(subResource: string, object: JsonObject, stored: JsonObject): Exemption | null {
  // An update of some subresources, such as `status` and `finalize` of a Namespace, can also change labels and
  // annotations.
  if (subResource !== "") return isSameLabelsAndAnnotations(object, stored) ? "subresource" : null;
  // Controllers use the labels, annotations and spec of an object until its last finalizer is removed. Reads the
  // deletionTimestamp of the stored object, because the API server ignores the deletionTimestamp in the request
  // (k8s.io/apiserver pkg/registry/rest/update.go, BeforeUpdate).
  if (isBeingDeleted(stored) && isSameContent(object, stored) && isSameLabelsAndAnnotations(object, stored)) {
    return "being deleted";
  }
  return differsInBookkeepingOnly(object, stored) ? "bookkeeping only" : null;
}

/**
 * Returns the reason why the webhook does not mutate an object, or null if the webhook may mutate the object. The
 * webhook may mutate an object even if only its finalizers change. While an object is being deleted, the webhook
 * mutates it only if the update changes the spec, labels or annotations, including the annotations that record a
 * resolution.
 */
export function mutationExemptionOf(change: AdmissionChange): Exemption | null {
  const exemption = clusterMutationExemptionOf(change);
  return exemption === "bookkeeping only" ? null : exemption;
}

/**
 * Returns the reason why the webhook does not mutate an object that refers to a CAPA identity. Returns null for a new
 * object, and for an update of the spec, the labels or the annotations, including those that record a resolution. The
 * webhook does not change the other updates of Cluster API, such as those of finalizers and owner references.
 */
export function clusterMutationExemptionOf({ subResource, object, oldObject }: AdmissionChange): Exemption | null {
  if (subResource !== "") return "subresource";
  if (object === null || oldObject === null) return null;
  const isUnchanged = isSameContent(object, oldObject) && isSameLabelsAndAnnotations(object, oldObject, []);
  if (!isUnchanged) return null;
  return isBeingDeleted(oldObject) ? "being deleted" : "bookkeeping only";
}

/** The settings that name the ACK controllers. */
export type ControllerSettings = Pick<DecisionSettings, "controllerServiceAccounts" | "controllerUsers">;

/** Returns whether the settings name the requester as an ACK controller, by service account or by user name. */
export function isACKController(
  requester: Requester, { controllerServiceAccounts, controllerUsers }: ControllerSettings,
): boolean {
  return hasAccountOf(requester, controllerServiceAccounts)
    || controllerUsers.some((pattern) => matchesPattern(pattern, requester.username));
}

type CAPASettings = Pick<DecisionSettings, "capaServiceAccounts">;

/** Returns whether the requester is a service account of CAPA, which writes identities and clusters. */
export function isCAPAController(requester: Requester, { capaServiceAccounts }: CAPASettings): boolean {
  return hasAccountOf(requester, capaServiceAccounts);
}

/** Returns whether the requester is a controller of ACK or CAPA. */
export function isController(requester: Requester, settings: ControllerSettings & CAPASettings): boolean {
  return isACKController(requester, settings) || isCAPAController(requester, settings);
}

/** Returns whether the requester is a service account of Cluster API, which creates machines for users. */
export function isClusterAPIController(
  requester: Requester, { clusterAPIServiceAccounts }: Pick<DecisionSettings, "clusterAPIServiceAccounts">,
): boolean {
  return hasAccountOf(requester, clusterAPIServiceAccounts);
}

/** Returns whether the requester is one of the service accounts, each as `NAMESPACE/NAME`. */
function hasAccountOf(requester: Requester, accounts: readonly string[]): boolean {
  return accounts.some((account) => {
    const [namespace = "", name = ""] = account.split("/");
    return isServiceAccount(requester, namespace, name);
  });
}

/** The part of an inventory that shows which namespaces are being deleted. */
export interface TerminatingNamespaces {
  readonly namespaces: { readonly isTerminating: (namespace: string) => boolean };
}

interface RequestOrigin {
  readonly operation: Operation | "CONNECT";
  /** The namespace of the object; "" for a cluster-scoped object. */
  readonly namespace: string;
  readonly requester: Requester;
}

/**
 * Returns whether Kubernetes deletes a namespaced object because its namespace is deleted. If the webhook denied such a
 * deletion, the namespace could never be deleted.
 */
export function isNamespaceCleanup(
  { operation, namespace, requester }: RequestOrigin,
  inventory: TerminatingNamespaces,
): boolean {
  if (operation !== "DELETE" || namespace === "") return false;
  return inventory.namespaces.isTerminating(namespace) || isCleanupController(requester, "namespace-controller");
}

/**
 * Returns whether the requester is the service account in kube-system that deletes the dependents of deleted namespaces
 * and owners. Source: kubernetes cmd/kube-controller-manager/app/core.go.
 */
export function isCleanupController(
  requester: Requester, name: "namespace-controller" | "generic-garbage-collector",
): boolean {
  return isServiceAccount(requester, "kube-system", name);
}

/** Source: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#service-account-tokens */
function isServiceAccount({ username }: Requester, namespace: string, name: string): boolean {
  return username === `system:serviceaccount:${namespace}:${name}`;
}

/**
 * Returns whether the stored object is being deleted: it has a deletion timestamp, and only finalizers delay its
 * removal.
 */
function isBeingDeleted(stored: JsonObject): boolean {
  return (stringAt(stored, "metadata", "deletionTimestamp") ?? "") !== "";
}

function differsInBookkeepingOnly(object: JsonObject, stored: JsonObject): boolean {
  if (!isSameContent(object, stored)) return false;
  const [a, b] = [field(object, "metadata"), field(stored, "metadata")];
  if (!isJsonObject(a) || !isJsonObject(b)) return isSame(a, b);
  const keys = new Set([...Object.keys(a), ...Object.keys(b)].filter((key) => !BOOKKEEPING.has(key)));
  keys.delete("annotations");
  return isSameAt(keys, a, b) && isSameLabelsAndAnnotations(object, stored);
}

/** Returns whether all fields except `metadata` and `status` are equal. */
export function isSameContent(a: JsonObject, b: JsonObject): boolean {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  keys.delete("status");
  keys.delete("metadata");
  return isSameAt(keys, a, b);
}

/**
 * Returns whether the labels and annotations are equal. Ignores the annotations that record a resolution, because the
 * webhook corrects these annotations in the same request.
 */
function isSameLabelsAndAnnotations(
  a: JsonObject, b: JsonObject, exceptAnnotations: readonly string[] = RESOLUTION_KEYS,
): boolean {
  const [inA, inB] = [field(a, "metadata"), field(b, "metadata")];
  return isSame(field(inA, "labels") ?? {}, field(inB, "labels") ?? {})
    && isSameExcept(exceptAnnotations, field(inA, "annotations") ?? {}, field(inB, "annotations") ?? {});
}

/** Returns whether two JSON values are equal. If both values are objects, ignores the keys in `except`. */
function isSameExcept(except: readonly string[], a: unknown, b: unknown): boolean {
  if (!isJsonObject(a) || !isJsonObject(b)) return isSame(a, b);
  const isCompared = (key: string): boolean => !except.includes(key);
  const keys = Object.keys(a).filter(isCompared);
  return keys.length === Object.keys(b).filter(isCompared).length && isSameAt(keys, a, b);
}

function isSameAt(keys: Iterable<string>, a: JsonObject, b: JsonObject): boolean {
  for (const key of keys) if (!isSame(field(a, key), field(b, key))) return false;
  return true;
}

/** A reviewed request, without its objects: a rule also applies if an object exceeds a limit. */
export interface ReviewedRequest {
  readonly operation: Operation | "CONNECT";
  /** "" for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
  readonly requester: Requester;
}

export interface WarnContext {
  readonly settings: ControllerSettings & CAPASettings & Pick<DecisionSettings, "clusterAPIServiceAccounts">;
  readonly inventory: TerminatingNamespaces;
}

/** Whether the checks only warn about a write. */
export type WarnRule = (request: ReviewedRequest, context: WarnContext) => boolean;

/** A denial could block the repair of a system namespace. */
export const inSystemNamespace: WarnRule = ({ name }) => IGNORED_NAMESPACES.has(name);

/** A denial could block the removal of the finalizer of a deleted namespace. */
export const byNamespaceController: WarnRule = ({ requester }) => (
  isCleanupController(requester, "namespace-controller")
);

export const byACKController: WarnRule = ({ requester }, { settings }) => isACKController(requester, settings);

export const byCAPA: WarnRule = ({ requester }, { settings }) => isCAPAController(requester, settings);

/** Cluster API creates machines for users. */
export const byClusterAPI: WarnRule = ({ requester }, { settings }) => isClusterAPIController(requester, settings);

export const ofNamespaceCleanup: WarnRule = (request, { inventory }) => isNamespaceCleanup(request, inventory);

/**
 * Whether Kubernetes deletes the object because its owner is deleted. This rule is only for resources and clusters: a
 * user who may only patch a selector, a definition or a CARM map could otherwise delete it by adding an owner that does
 * not exist.
 */
export const byGarbageCollector: WarnRule = ({ operation, namespace, requester }) => (
  operation === "DELETE" && namespace !== "" && isCleanupController(requester, "generic-garbage-collector")
);
