import { field, isJsonObject, type JsonObject, stringAt } from "../../decisions/kubernetes/json.ts";
import { apiVersionOf } from "../../decisions/kubernetes/object-meta.ts";

/** A kind to list and watch. */
export interface WatchedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  /** Watches this object only, as RBAC's resourceNames allows. */
  readonly object?: ObjectName;
  /** Objects per page of a list; fewer for kinds with large objects. */
  readonly pageSize: number;
  /**
   * Returns the fields that decisions read, or null for an object that no decision reads (client-go's TransformFunc).
   */
  readonly transform: (object: JsonObject) => JsonObject | null;
}

/** Identifies an object within its kind. */
export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** A transformed object; `object` is null if no decision reads it. */
export interface StoredObject extends ObjectName {
  readonly resourceVersion: string;
  readonly object: JsonObject | null;
}

export function keyOf({ namespace, name }: ObjectName): string {
  return `${namespace}/${name}`;
}

/** The inverse of `keyOf`. A namespace cannot contain a slash. */
export function nameOf(key: string): ObjectName {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Returns the path of the kind's objects in all namespaces, or in the namespace of its one object. */
export function collectionPath({ group, version, plural, object }: WatchedKind): string {
  const base = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  return object === undefined ? `${base}/${plural}` : `${base}/namespaces/${object.namespace}/${plural}`;
}

/**
 * Returns the query parameter that selects one object. With this field selector and no other, RBAC requires rights only
 * to the object of that name (k8s.io/apiserver pkg/endpoints/request/requestinfo.go).
 */
export function selectionQuery({ object }: WatchedKind): string {
  return object === undefined ? "" : `fieldSelector=${encodeURIComponent(`metadata.name=${object.name}`)}&`;
}

/** Returns the resource as RBAC and kubectl write it, such as `iamroleselectors.services.k8s.aws`. */
export function resourceName({ group, plural }: WatchedKind): string {
  return group === "" ? plural : `${plural}.${group}`;
}

/** Returns `in the whole cluster`, or names the one object, for messages. */
export function scopeOf({ object }: WatchedKind): string {
  return object === undefined ? "in the whole cluster" : `named ${object.name} in the namespace ${object.namespace}`;
}

/**
 * Returns an object of a list or an event, transformed; null for a value that is not an object. Sets apiVersion and
 * kind, which list items lack.
 */
export function toStoredObject(kind: WatchedKind, value: unknown): StoredObject | null {
  const metadata = field(value, "metadata");
  const name = stringAt(metadata, "name");
  const resourceVersion = stringAt(metadata, "resourceVersion");
  if (!isJsonObject(value) || name === null || resourceVersion === null) return null;
  const transformed = kind.transform(value);
  const object = transformed === null ? null : { ...transformed, apiVersion: apiVersionOf(kind), kind: kind.kind };
  return { namespace: stringAt(metadata, "namespace") ?? "", name, resourceVersion, object };
}
