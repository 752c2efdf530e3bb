import { isJsonObject, type JsonObject } from "../../shared/formats/json.ts";

export const INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io";
export const CONTROL_PLANE = "controlplane.cluster.x-k8s.io";

const ALL_NAMESPACES = {};

/** Returns the ARN of the role in account 111122223333. */
export function roleARN(name: string): string {
  return `arn:aws:iam::111122223333:role/${name}`;
}

export function identityObject(kind: string, name: string, spec: unknown, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: `${INFRASTRUCTURE}/v1beta2`, kind, metadata: { name, ...metadata }, spec };
}

export function controllerIdentity(allowedNamespaces: unknown = ALL_NAMESPACES): JsonObject {
  return identityObject("AWSClusterControllerIdentity", "default", { allowedNamespaces });
}

export function staticIdentity(
  name: string, allowedNamespaces: unknown = ALL_NAMESPACES, secretRef: unknown = `${name}-creds`,
): JsonObject {
  return identityObject("AWSClusterStaticIdentity", name, { secretRef, allowedNamespaces });
}

/** The source of a role identity: `role/NAME`, `static/NAME` or `controller`. */
type Source = string | null;

/** Returns a role identity whose role has the same name. */
export function roleIdentity(
  name: string, source: Source = "controller", allowedNamespaces: unknown = ALL_NAMESPACES, rest: JsonObject = {},
): JsonObject {
  const chained = source === null ? {} : { sourceIdentityRef: refTo(source) };
  const spec = { roleARN: roleARN(name), allowedNamespaces, ...chained, ...rest };
  return identityObject("AWSClusterRoleIdentity", name, spec);
}

const KINDS: Readonly<Record<string, string>> = {
  role: "AWSClusterRoleIdentity",
  static: "AWSClusterStaticIdentity",
  controller: "AWSClusterControllerIdentity",
  account: "AWSServiceAccountIdentity",
};

/** Returns the reference that a text such as `role/NAME` or `controller` stands for. */
export function refTo(text: string): { readonly kind: string; readonly name: string } {
  const [kind = "", name = "default"] = text.split("/");
  return { kind: KINDS[kind] ?? kind, name };
}

/** Returns the AWSCluster in namespace `ns1`. A null reference stands for a missing `identityRef`. */
export function clusterObject(name: string, reference: string | null, namespace = "ns1"): JsonObject {
  return {
    apiVersion: `${INFRASTRUCTURE}/v1beta2`,
    kind: "AWSCluster",
    metadata: { name, namespace },
    spec: { region: "eu-west-1", ...(reference !== null && { identityRef: refTo(reference) }) },
  };
}

/** Returns the object with an owner reference to the Cluster. */
export function ownedBy(cluster: string, object: JsonObject): JsonObject {
  const ownerReferences = [
    { apiVersion: "v1", kind: "Cluster", name: "other-group" },
    { apiVersion: "cluster.x-k8s.io/v1beta1", kind: "ClusterClass", name: "other-kind" },
    { apiVersion: "cluster.x-k8s.io/v1beta1", kind: "Cluster", name: cluster, uid: "u" },
  ];
  return withFields(object, "metadata", { ownerReferences });
}

/** Returns the object with the fields in its metadata or its spec. */
export function withFields(object: JsonObject, part: "metadata" | "spec", fields: JsonObject): JsonObject {
  const before = object[part];
  return { ...object, [part]: { ...(isJsonObject(before) && before), ...fields } };
}
