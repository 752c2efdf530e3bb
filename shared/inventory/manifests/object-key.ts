import type { JsonObject } from "../../decisions/kubernetes/json.ts";
import { objectReference } from "../../decisions/kubernetes/object-meta.ts";

/** The namespace of a namespaced object whose manifest sets no namespace. */
const DEFAULT_NAMESPACE = "default";

/** The cluster-scoped kinds, in the form `KIND.GROUP`. A kind that is not in this list is treated as namespaced. */
const CLUSTER_SCOPED: ReadonlySet<string> = new Set([
  "IAMRoleSelector.services.k8s.aws",
  "Namespace.",
  "CustomResourceDefinition.apiextensions.k8s.io",
  "ClusterRole.rbac.authorization.k8s.io",
  "ClusterRoleBinding.rbac.authorization.k8s.io",
  "MutatingWebhookConfiguration.admissionregistration.k8s.io",
  "ValidatingWebhookConfiguration.admissionregistration.k8s.io",
  "AWSClusterControllerIdentity.infrastructure.cluster.x-k8s.io",
  "AWSClusterRoleIdentity.infrastructure.cluster.x-k8s.io",
  "AWSClusterStaticIdentity.infrastructure.cluster.x-k8s.io",
]);

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
  const { group, kind, namespace, name } = objectReference(object);
  if (name === "") return null;
  if (CLUSTER_SCOPED.has(`${kind}.${group}`)) return { group, kind, namespace: "", name };
  return { group, kind, namespace: namespace === "" ? DEFAULT_NAMESPACE : namespace, name };
}

/** Returns a key that is equal for manifests of the same object; null if the object has no name. */
export function objectKey(object: JsonObject): string | null {
  const stored = storedName(object);
  return stored === null ? null : JSON.stringify([stored.group, stored.kind, stored.namespace, stored.name]);
}
