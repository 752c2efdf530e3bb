import { isSelector } from "../core/ack-groups.ts";
import type { NamedKind } from "../core/kind.ts";
import { kindOf } from "../kinds.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../formats/json.ts";
import { namespaceOrDefault, objectReference } from "../formats/object-meta.ts";
import type { Manifest } from "./manifest-reader.ts";

/**
 * The API server generates a name from at most 58 characters of `generateName` and a random suffix of 5 characters. The
 * suffix never contains 0, 1 or 3 (k8s.io/apiserver pkg/storage/names/generate.go).
 */
const PREFIX_LENGTH = 58;
const SUFFIX_LENGTH = 5;

/**
 * Sets a name on each IAMRoleSelector that has a `generateName` but no name, because selectors are identified by name.
 * The names are `GENERATENAME00001` and so on, which the API server never generates.
 */
export function generateNames(manifests: readonly Manifest[]): Manifest[] {
  let count = 0;
  return manifests.map((manifest) => {
    const { object } = manifest;
    const metadata = field(object, "metadata");
    const prefix = stringAt(metadata, "generateName") ?? "";
    if (!isSelector(object) || !isJsonObject(metadata) || prefix === "") return manifest;
    if ((field(metadata, "name") ?? "") !== "") return manifest;
    count += 1;
    const name = prefix.slice(0, PREFIX_LENGTH) + String(count).padStart(SUFFIX_LENGTH, "0");
    return { ...manifest, object: { ...object, metadata: { ...metadata, name } } };
  });
}

/**
 * Sets the namespace on each object of a namespaced kind that sets none, as `kubectl apply --namespace` does. An object
 * of an unknown kind remains as it is, because its kind may be cluster-scoped.
 */
export function setNamespaces(manifests: readonly Manifest[], namespace: string): Manifest[] {
  return manifests.map((manifest) => {
    const { object } = manifest;
    const type = objectReference(object);
    const kind = kindOf(type);
    const metadata = field(object, "metadata") ?? {};
    const isOpen = isJsonObject(metadata) && (field(metadata, "namespace") ?? "") === "";
    if (!isOpen || kind === null || kind.isMisspelled === true || isClusterScoped(type)) return manifest;
    return { ...manifest, object: { ...object, metadata: { ...metadata, namespace } } };
  });
}

/** The cluster-scoped kinds that no decision reads, in the form `KIND.GROUP`. Others are treated as namespaced. */
const CLUSTER_SCOPED: ReadonlySet<string> = new Set([
  "ClusterRole.rbac.authorization.k8s.io",
  "ClusterRoleBinding.rbac.authorization.k8s.io",
  "MutatingWebhookConfiguration.admissionregistration.k8s.io",
  "ValidatingWebhookConfiguration.admissionregistration.k8s.io",
]);

function isClusterScoped(type: NamedKind): boolean {
  const { served, watch } = kindOf(type) ?? {};
  return served?.scope === "Cluster" || watch?.isClusterScoped?.(type) === true
    || CLUSTER_SCOPED.has(`${type.kind}.${type.group}`);
}

/** Returns the namespace in which the API server stores the object; "" for a cluster-scoped object. */
export function namespaceOf(object: JsonObject): string {
  const type = objectReference(object);
  return isClusterScoped(type) ? "" : namespaceOrDefault(type.namespace);
}

/** The name under which the API server stores an object. */
interface StoredName {
  readonly group: string;
  readonly kind: string;
  /** "" for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
}

/** Returns the name of the object; null if it has no name, because the API server then generates the name. */
export function storedName(object: JsonObject): StoredName | null {
  const { group, kind, name } = objectReference(object);
  return name === "" ? null : { group, kind, namespace: namespaceOf(object), name };
}

/** Returns a key that is equal for manifests of the same object; null if the object has no name. */
export function objectKey(object: JsonObject): string | null {
  const stored = storedName(object);
  return stored === null ? null : JSON.stringify([stored.group, stored.kind, stored.namespace, stored.name]);
}
