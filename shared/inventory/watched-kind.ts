import { field, isJsonObject, type JsonObject, stringAt } from "../decisions/json.ts";
import { apiVersionOf } from "../decisions/object-meta.ts";

/** A kind to list and watch, and what of its objects is kept. */
export interface WatchedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
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

export interface ObjectVersion extends ObjectName {
  readonly resourceVersion: string;
}

/** An object as far as it is kept; null when no decision reads it. */
export interface KeptObject extends ObjectVersion {
  readonly object: JsonObject | null;
}

export function keyOf({ namespace, name }: ObjectName): string {
  return `${namespace}/${name}`;
}

/** Without the object, which need not be held twice. */
export function versionOf({ namespace, name, resourceVersion }: ObjectVersion): ObjectVersion {
  return { namespace, name, resourceVersion };
}

/** The path of the kind's objects in all namespaces. */
export function collectionPath({ group, version, plural }: WatchedKind): string {
  return group === "" ? `/api/${version}/${plural}` : `/apis/${group}/${version}/${plural}`;
}

/** `iamroleselectors.services.k8s.aws`, as RBAC and kubectl name it. */
export function resourceName({ group, plural }: WatchedKind): string {
  return group === "" ? plural : `${plural}.${group}`;
}

/** Reads an object of a list or an event; null for what is none. Items of a list carry no type of their own: the kind gives it. */
export function keepObject(kind: WatchedKind, value: unknown): KeptObject | null {
  const metadata = field(value, "metadata");
  const name = stringAt(metadata, "name");
  const resourceVersion = stringAt(metadata, "resourceVersion");
  if (!isJsonObject(value) || name === null || resourceVersion === null) return null;
  const kept = kind.keep(value);
  const object = kept === null ? null : { ...kept, apiVersion: apiVersionOf(kind), kind: kind.kind };
  return { namespace: stringAt(metadata, "namespace") ?? "", name, resourceVersion, object };
}
