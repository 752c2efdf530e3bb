import { field, type JsonObject, stringAt, stringMap } from "./json.ts";

/** The type of an object. */
export interface KindName {
  readonly group: string;
  readonly kind: string;
}

/** Chooses types of objects. */
export type KindFilter = (type: KindName) => boolean;

/** What identifies a Kubernetes object. Missing strings are "". */
export interface ObjectID extends KindName {
  readonly namespace: string;
  readonly name: string;
}

interface ObjectReference extends ObjectID {
  readonly version: string;
}

/** The object that an Event is about. */
export interface EventSubject {
  readonly apiVersion: string;
  readonly kind: string;
  /** "" for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
  /** `kubectl describe` shows only Events that contain the UID of the object. */
  readonly uid: string | null;
}

/** The type and metadata of a Kubernetes object. */
interface ObjectMeta extends ObjectReference {
  readonly resourceVersion: string | null;
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: ReadonlyMap<string, string>;
}

/**
 * Splits an apiVersion such as `s3.services.k8s.aws/v1alpha1` into group and version. The group of `v1`, the core
 * group, is "". The version is "" if it is forgotten: no version has a dot, and every group outside Kubernetes has one.
 */
export function splitAPIVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf("/");
  if (slash >= 0) return { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
  return apiVersion.includes(".") ? { group: apiVersion, version: "" } : { group: "", version: apiVersion };
}

/**
 * Returns the type, namespace and name of an object. Treats a field of the wrong type as missing; the checks report
 * such a field.
 */
export function objectReference(object: JsonObject): ObjectReference {
  const metadata = field(object, "metadata");
  const { group, version } = splitAPIVersion(stringAt(object, "apiVersion") ?? "");
  return {
    group,
    version,
    kind: stringAt(object, "kind") ?? "",
    namespace: stringAt(metadata, "namespace") ?? "",
    name: stringAt(metadata, "name") ?? "",
  };
}

/** The namespace of a namespaced object whose manifest sets none, as with kubectl. */
export const DEFAULT_NAMESPACE = "default";

/** Returns the namespace of a namespaced object, from the namespace in its metadata, which is "" if it is not set. */
export function namespaceOrDefault(written: string): string {
  return written === "" ? DEFAULT_NAMESPACE : written;
}

/** Returns the value of the annotation, or null if it is missing or is not a string. */
export function annotationAt(object: JsonObject, key: string): string | null {
  return stringAt(object, "metadata", "annotations", key);
}

/** Returns the metadata of an object. Unlike `objectReference`, also returns copies of all labels and annotations. */
export function objectMeta(object: JsonObject): ObjectMeta {
  const metadata = field(object, "metadata");
  const { group, version, kind, namespace, name } = objectReference(object);
  return {
    group,
    version,
    kind,
    namespace,
    name,
    resourceVersion: stringAt(metadata, "resourceVersion"),
    labels: stringMap(field(metadata, "labels")),
    annotations: stringMap(field(metadata, "annotations")),
  };
}

/** Returns `GROUP/VERSION`, or `VERSION` for the core group. Returns `GROUP` if the version is "". */
export function apiVersionOf({ group, version }: { readonly group: string; readonly version: string }): string {
  return group === "" || version === "" ? group + version : `${group}/${version}`;
}
