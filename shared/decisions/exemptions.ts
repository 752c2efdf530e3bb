import { RESOLUTION_KEYS } from "./annotation-keys.ts";
import type { DecisionSettings, Operation, Requester } from "./context.ts";
import type { Inventory } from "./inventory/inventory.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "./kubernetes/json.ts";

/** Fields of `metadata` that the API server and controllers maintain. They do not change what the object requests. */
const BOOKKEEPING: ReadonlySet<string> = new Set(["finalizers", "managedFields", "resourceVersion", "generation"]);

/**
 * Controllers of kube-system that delete the contents of deleted objects. Source: kubernetes
 * cmd/kube-controller-manager/app/core.go, the service account names.
 */
const CLEANUP_CONTROLLERS = ["namespace-controller", "generic-garbage-collector"] as const;

/** The change that an admission request makes. */
export interface AdmissionChange {
  readonly operation: string;
  /** "" for the object itself, or a subresource such as `status` or `scale`. */
  readonly subResource: string;
  readonly object: JsonObject | null;
  /** The stored object at UPDATE and DELETE. */
  readonly oldObject: JsonObject | null;
}

/** Why a change is allowed without checks. */
export type Exemption = "subresource" | "being deleted" | "bookkeeping only";

/**
 * Returns why a change must be allowed whatever the object contains, or null if the checks run. A denied change of the
 * status or the finalizers only preserves a broken object. A second deletion of an object has no effect.
 */
export function exemptionOf({ operation, subResource, object, oldObject }: AdmissionChange): Exemption | null {
  if (subResource !== "") return "subresource";
  if (oldObject === null || operation === "CREATE") return null;
  // Only the stored object counts: the API server overwrites the deletionTimestamp of a request with the stored one
  // (k8s.io/apiserver pkg/registry/rest/update.go, BeforeUpdate).
  if (isBeingDeleted(oldObject)) return "being deleted";
  if (operation !== "UPDATE" || object === null) return null;
  return differsInBookkeepingOnly(object, oldObject) ? "bookkeeping only" : null;
}

/** Returns why a create or update is not mutated, or null. A change of finalizers only can still get a patch. */
export function mutationExemptionOf({ subResource, oldObject }: AdmissionChange): Exemption | null {
  if (subResource !== "") return "subresource";
  return oldObject !== null && isBeingDeleted(oldObject) ? "being deleted" : null;
}

/** Returns whether the requester is one of the ACK controllers in the settings. */
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
  /** "" for a cluster-scoped object. */
  readonly namespace: string;
  readonly requester: Requester;
}

/**
 * Returns whether Kubernetes deletes the object because its namespace or owner is deleted. Denying that would block the
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

/** Returns whether the stored object waits only for its finalizers. */
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

/** Returns the annotations without those of the resolution, which the webhook corrects in the same request. */
function otherAnnotations(metadata: JsonObject): unknown {
  const annotations = field(metadata, "annotations") ?? {};
  if (!isJsonObject(annotations)) return annotations;
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !RESOLUTION_KEYS.includes(key)));
}

function isSameAt(keys: ReadonlySet<string>, a: JsonObject, b: JsonObject): boolean {
  for (const key of keys) if (!isSame(field(a, key), field(b, key))) return false;
  return true;
}

/** Returns whether two JSON values are equal. The order of keys does not matter, the order of array elements does. */
function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => isSame(item, b[i]));
  if (!isJsonObject(a) || !isJsonObject(b)) return a === b;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]));
}
