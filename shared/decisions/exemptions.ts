import { RESOLUTION_KEYS } from "./annotation-keys.ts";
import type { DecisionSettings, Operation, Requester } from "./context.ts";
import type { Inventory } from "./inventory/inventory.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "./kubernetes/json.ts";

/** What an admission request says of the change that it asks for. */
export interface AdmissionChange {
  readonly operation: string;
  /** "" for the object itself, `status` or `scale` for a part of it. */
  readonly subResource: string;
  readonly object: JsonObject | null;
  /** The stored object at UPDATE and DELETE. */
  readonly oldObject: JsonObject | null;
}

/** Why a change is not for a policy to refuse. */
export type Exemption = "subresource" | "being deleted" | "bookkeeping only";

/**
 * Whether a change must go through whatever it holds: refusing a finalizer's removal, a status or an object on its way out would
 * only keep a broken object there, and a second call to delete it decides nothing any more. Null when the change is to be judged.
 */
export function exemptionOf({ operation, subResource, object, oldObject }: AdmissionChange): Exemption | null {
  if (subResource !== "") return "subresource";
  if (oldObject === null || operation === "CREATE") return null;
  // The stored object tells it: whatever timestamp a request carries, the API server puts the stored one back
  // (k8s.io/apiserver pkg/registry/rest/update.go, BeforeUpdate).
  if (isBeingDeleted(oldObject)) return "being deleted";
  return operation === "UPDATE" && object !== null && differsInBookkeepingOnly(object, oldObject) ? "bookkeeping only" : null;
}

/**
 * Why a create or update is not for mutating. Finalizers and the like may come with a patch, but what is on its way out is
 * left alone.
 */
export function mutationExemptionOf({ subResource, oldObject }: AdmissionChange): Exemption | null {
  if (subResource !== "") return "subresource";
  return oldObject !== null && isBeingDeleted(oldObject) ? "being deleted" : null;
}

/** Whether the stored object is on its way out and only waits for its finalizers. */
function isBeingDeleted(stored: JsonObject): boolean {
  return (stringAt(stored, "metadata", "deletionTimestamp") ?? "") !== "";
}

/** Parts of `metadata` that say nothing of what the object asks for: controllers and the API server keep them. */
const BOOKKEEPING: ReadonlySet<string> = new Set(["finalizers", "managedFields", "resourceVersion", "generation"]);

function differsInBookkeepingOnly(object: JsonObject, stored: JsonObject): boolean {
  const keys = new Set([...Object.keys(object), ...Object.keys(stored)]);
  keys.delete("status");
  keys.delete("metadata");
  return sameAt(keys, object, stored) && sameMetadata(field(object, "metadata"), field(stored, "metadata"));
}

function sameMetadata(a: unknown, b: unknown): boolean {
  if (!isJsonObject(a) || !isJsonObject(b)) return isSame(a, b);
  const keys = new Set([...Object.keys(a), ...Object.keys(b)].filter((key) => !BOOKKEEPING.has(key)));
  keys.delete("annotations");
  return sameAt(keys, a, b) && isSame(othersAnnotations(a), othersAnnotations(b));
}

/** The annotations but those that tell a resolution: the webhook itself mends these along with whatever else is asked for. */
function othersAnnotations(metadata: JsonObject): unknown {
  const annotations = field(metadata, "annotations") ?? {};
  return isJsonObject(annotations) ? Object.fromEntries(Object.entries(annotations).filter(([key]) => !RESOLUTION_KEYS.includes(key))) : annotations;
}

function sameAt(keys: ReadonlySet<string>, a: JsonObject, b: JsonObject): boolean {
  for (const key of keys) if (!isSame(field(a, key), field(b, key))) return false;
  return true;
}

/** Equal as JSON values: the order of keys means nothing, that of elements does. */
function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => isSame(item, b[i]));
  if (!isJsonObject(a) || !isJsonObject(b)) return a === b;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]));
}

/** How the API server calls a service account: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#service-account-tokens. */
function isServiceAccount({ username }: Requester, namespace: string, name: string): boolean {
  return username === `system:serviceaccount:${namespace}:${name}`;
}

/** Whether it is one of the ACK controllers that the settings name; nobody else is. */
export function isACKController(requester: Requester, { controllerServiceAccounts }: Pick<DecisionSettings, "controllerServiceAccounts">): boolean {
  return controllerServiceAccounts.some((account) => {
    const [namespace = "", name = ""] = account.split("/");
    return isServiceAccount(requester, namespace, name);
  });
}

/**
 * Whether the cluster itself cleans up: it deletes what belongs to something that is gone already, and a refusal would only keep
 * that from ever being gone. Source: kubernetes cmd/kube-controller-manager/app/core.go, the names of these controllers' accounts.
 */
export function isClusterCleanup({ operation, namespace, requester }: Deletion, inventory: Pick<Inventory, "isTerminating">): boolean {
  if (operation !== "DELETE") return false;
  return (namespace !== "" && inventory.isTerminating(namespace)) || CLEANERS.some((name) => isServiceAccount(requester, "kube-system", name));
}

export interface Deletion {
  readonly operation: Operation | "CONNECT";
  /** "" for what is in none. */
  readonly namespace: string;
  readonly requester: Requester;
}

const CLEANERS = ["namespace-controller", "generic-garbage-collector"] as const;
