import { RESOLUTION_KEYS } from "./annotation-keys.ts";
import type { DecisionSettings, Operation, Requester } from "./context.ts";
import type { Inventory } from "./inventory/inventory.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "./kubernetes/json.ts";

/**
 * Fields of `metadata` that the API server and controllers maintain. A change of these fields does not change the
 * desired state of the object.
 */
const BOOKKEEPING: ReadonlySet<string> = new Set(["finalizers", "managedFields", "resourceVersion", "generation"]);

/**
 * The names of the service accounts in kube-system that delete the dependents of deleted namespaces and owners. Source:
 * kubernetes cmd/kube-controller-manager/app/core.go.
 */
const CLEANUP_CONTROLLERS = ["namespace-controller", "generic-garbage-collector"] as const;

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
 * Returns the reason why the webhook allows a change without checks, or null if the checks run. Denying a change of the
 * status or the finalizers would only prevent the cleanup of a faulty object. A second deletion of an object has no
 * effect.
 */
export function exemptionOf({ operation, subResource, object, oldObject }: AdmissionChange): Exemption | null {
  if (subResource !== "") return "subresource";
  if (oldObject === null || operation === "CREATE") return null;
  // Reads only the stored object: the API server overwrites the deletionTimestamp of a request with the stored
  // deletionTimestamp (k8s.io/apiserver pkg/registry/rest/update.go, BeforeUpdate).
  if (isBeingDeleted(oldObject)) return "being deleted";
  if (operation !== "UPDATE" || object === null) return null;
  return differsInBookkeepingOnly(object, oldObject) ? "bookkeeping only" : null;
}

/**
 * Returns the reason why the webhook does not mutate an object, or null if the webhook may mutate the object. The
 * webhook may mutate an object even if only its finalizers change.
 */
export function mutationExemptionOf({ subResource, oldObject }: AdmissionChange): Exemption | null {
  if (subResource !== "") return "subresource";
  return oldObject !== null && isBeingDeleted(oldObject) ? "being deleted" : null;
}

/** Returns whether the requester is the service account of a configured ACK controller. */
export function isACKController(
  requester: Requester,
  { controllerServiceAccounts }: Pick<DecisionSettings, "controllerServiceAccounts">,
): boolean {
  return controllerServiceAccounts.some((account) => {
    const [namespace = "", name = ""] = account.split("/");
    return isServiceAccount(requester, namespace, name);
  });
}

interface RequestOrigin {
  readonly operation: Operation | "CONNECT";
  /** The namespace of the object; "" for a cluster-scoped object. */
  readonly namespace: string;
  readonly requester: Requester;
}

/**
 * Returns whether Kubernetes deletes the object because its namespace or owner is deleted. A denial would block the
 * deletion of the namespace or owner.
 */
export function isClusterCleanup(
  { operation, namespace, requester }: RequestOrigin,
  inventory: Pick<Inventory, "namespaces">,
): boolean {
  if (operation !== "DELETE") return false;
  if (namespace !== "" && inventory.namespaces.isTerminating(namespace)) return true;
  return CLEANUP_CONTROLLERS.some((name) => isServiceAccount(requester, "kube-system", name));
}

/** Source: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#service-account-tokens */
function isServiceAccount({ username }: Requester, namespace: string, name: string): boolean {
  return username === `system:serviceaccount:${namespace}:${name}`;
}

/** Returns whether the stored object has a deletion timestamp. Only finalizers delay the removal of such an object. */
function isBeingDeleted(stored: JsonObject): boolean {
  return (stringAt(stored, "metadata", "deletionTimestamp") ?? "") !== "";
}

function differsInBookkeepingOnly(object: JsonObject, stored: JsonObject): boolean {
  const keys = new Set([...Object.keys(object), ...Object.keys(stored)]);
  keys.delete("status");
  keys.delete("metadata");
  return isSameAt(keys, object, stored) && isSameMetadata(field(object, "metadata"), field(stored, "metadata"));
}

function isSameMetadata(a: unknown, b: unknown): boolean {
  if (!isJsonObject(a) || !isJsonObject(b)) return isSame(a, b);
  const keys = new Set([...Object.keys(a), ...Object.keys(b)].filter((key) => !BOOKKEEPING.has(key)));
  keys.delete("annotations");
  return isSameAt(keys, a, b) && isSame(otherAnnotations(a), otherAnnotations(b));
}

/**
 * Returns the annotations except those that record a resolution. The webhook corrects the resolution annotations in the
 * same request.
 */
function otherAnnotations(metadata: JsonObject): unknown {
  const annotations = field(metadata, "annotations") ?? {};
  if (!isJsonObject(annotations)) return annotations;
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !RESOLUTION_KEYS.includes(key)));
}

function isSameAt(keys: ReadonlySet<string>, a: JsonObject, b: JsonObject): boolean {
  for (const key of keys) if (!isSame(field(a, key), field(b, key))) return false;
  return true;
}

/** Returns whether two JSON values are equal. The order of array elements matters, but the order of keys does not. */
function isSame(a: unknown, b: unknown): boolean {
  const open: (readonly [a: unknown, b: unknown])[] = [[a, b]];
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const children = childPairs(...pair);
    if (children === null) return false;
    for (const child of children) open.push(child);
  }
  return true;
}

/** Returns the pairs of values that must be equal for `a` and `b` to be equal, or null if `a` and `b` differ. */
function childPairs(a: unknown, b: unknown): (readonly [a: unknown, b: unknown])[] | null {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length ? a.map((item: unknown, i) => [item, b[i]] as const) : null;
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return a === b ? [] : null;
  const keys = Object.keys(a);
  const haveSameKeys = keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key));
  return haveSameKeys ? keys.map((key) => [a[key], b[key]] as const) : null;
}
