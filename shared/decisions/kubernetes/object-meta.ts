import { field, type JsonObject, stringAt, stringMap } from "./json.ts";

/** What the decisions read of any Kubernetes object's type and metadata. Absent strings are "". */
export interface ObjectMeta {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string | null;
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: ReadonlyMap<string, string>;
}

/** `s3.services.k8s.aws/v1alpha1` is the group and the version, `v1` the core group's version. */
export function splitAPIVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf("/");
  return slash < 0
    ? { group: "", version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

/** Reads leniently: a field of the wrong type reads as absent, since whether that is a fault is a check's to say. */
export function objectMeta(object: JsonObject): ObjectMeta {
  const metadata = field(object, "metadata");
  return {
    ...splitAPIVersion(stringAt(object, "apiVersion") ?? ""),
    kind: stringAt(object, "kind") ?? "",
    namespace: stringAt(metadata, "namespace") ?? "",
    name: stringAt(metadata, "name") ?? "",
    resourceVersion: stringAt(metadata, "resourceVersion"),
    labels: stringMap(field(metadata, "labels")),
    annotations: stringMap(field(metadata, "annotations")),
  };
}

/** `GROUP/VERSION`, or the version alone for the core group. */
export function apiVersionOf(type: { readonly group: string; readonly version: string }): string {
  return type.group === "" ? type.version : `${type.group}/${type.version}`;
}
