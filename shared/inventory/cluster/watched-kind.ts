import { field, isJsonObject, type JsonObject, stringAt } from "../../decisions/kubernetes/json.ts";
import { apiVersionOf } from "../../decisions/kubernetes/object-meta.ts";

/** A kind to list and watch, and what of its objects is kept. */
export interface WatchedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  /** Where one object alone is followed: that one, as RBAC's resourceNames allow it. */
  readonly object?: ObjectName;
  /** Objects a page of the list; fewer where they are large. */
  readonly pageSize: number;
  /** The fields that decisions read, or null for an object that none does. */
  readonly keep: (object: JsonObject) => JsonObject | null;
}

/** Where an object stands among those of its kind. */
export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** An object as far as it is kept; null when no decision reads it. */
export interface StoredObject extends ObjectName {
  readonly resourceVersion: string;
  readonly object: JsonObject | null;
}

export function keyOf({ namespace, name }: ObjectName): string {
  return `${namespace}/${name}`;
}

/** What `keyOf` made a key of; no namespace holds a slash. */
export function nameOf(key: string): ObjectName {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The path of the kind's objects in all namespaces, or in that of the one object. */
export function collectionPath({ group, version, plural, object }: WatchedKind): string {
  const base = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  return object === undefined ? `${base}/${plural}` : `${base}/namespaces/${object.namespace}/${plural}`;
}

/**
 * What a list or watch of the kind asks beside its own parameters. With this field selector and no other, the API server asks RBAC
 * for the right to the object of that name alone (k8s.io/apiserver pkg/endpoints/request/requestinfo.go).
 */
export function selectionQuery({ object }: WatchedKind): string {
  return object === undefined ? "" : `fieldSelector=${encodeURIComponent(`metadata.name=${object.name}`)}&`;
}

/** `iamroleselectors.services.k8s.aws`, as RBAC and kubectl name it. */
export function resourceName({ group, plural }: WatchedKind): string {
  return group === "" ? plural : `${plural}.${group}`;
}

/** `in the whole cluster`, or which object. */
export function placeName({ object }: WatchedKind): string {
  return object === undefined ? "in the whole cluster" : `named ${object.name} in the namespace ${object.namespace}`;
}

/** Reads an object of a list or an event; null for what is none. Items of a list carry no type of their own: the kind gives it. */
export function toStoredObject(kind: WatchedKind, value: unknown): StoredObject | null {
  const metadata = field(value, "metadata");
  const name = stringAt(metadata, "name");
  const resourceVersion = stringAt(metadata, "resourceVersion");
  if (!isJsonObject(value) || name === null || resourceVersion === null) return null;
  const kept = kind.keep(value);
  const object = kept === null ? null : { ...kept, apiVersion: apiVersionOf(kind), kind: kind.kind };
  return { namespace: stringAt(metadata, "namespace") ?? "", name, resourceVersion, object };
}
