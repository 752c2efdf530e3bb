import { field, isJsonObject, type JsonObject, stringAt } from "../formats/json.ts";
import { apiVersionOf } from "../formats/object-meta.ts";

/** A kind that a reflector lists and watches. */
export interface WatchedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  /**
   * If set, the reflector watches only this object. If its namespace is "", the reflector watches the objects of this
   * name in all namespaces. Then an administrator can grant rights to this name only, with RBAC's resourceNames.
   */
  readonly object?: ObjectName;
  /** If set, the reflector watches only the objects in this namespace. */
  readonly namespace?: string;
  /** Whether the reflector requests only the metadata of the objects. */
  readonly metadataOnly?: boolean;
  /** Whether a CustomResourceDefinition of the cluster states the kind. */
  readonly isDefined?: true;
  /** The number of objects in one page of a list. The page size is smaller for kinds that have large objects. */
  readonly pageSize: number;
  /**
   * Returns the object reduced to the fields that decisions read, or null if no decision reads the object (client-go's
   * TransformFunc).
   */
  readonly transform: (object: JsonObject) => JsonObject | null;
}

/** Identifies an object within its kind. */
export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** A transformed object. `object` is null if no decision reads the object. */
export interface StoredObject extends ObjectName {
  readonly resourceVersion: string;
  readonly object: JsonObject | null;
}

export function keyOf({ namespace, name }: ObjectName): string {
  return `${namespace}/${name}`;
}

/** Returns the namespace and name in a key that `keyOf` returned. A namespace cannot contain a slash. */
export function nameOf(key: string): ObjectName {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The media types of responses that contain only the metadata of objects. */
export const METADATA_TYPES = {
  list: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
  watch: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
} as const;

type CollectionName = Pick<WatchedKind, "group" | "version" | "plural" | "object" | "namespace">;

/**
 * Returns the URL path of the kind's collection. If `object` or the kind has a namespace, the path is limited to the
 * namespace.
 */
export function collectionPath({ group, version, plural, object, namespace: ofKind = "" }: CollectionName): string {
  const base = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const { namespace = ofKind } = object ?? {};
  return namespace === "" ? `${base}/${plural}` : `${base}/namespaces/${namespace}/${plural}`;
}

/**
 * Returns the query parameter that selects one object. For a field selector that has only `metadata.name`, RBAC
 * requires rights only to the named object (k8s.io/apiserver pkg/endpoints/request/requestinfo.go).
 */
export function selectionQuery({ object }: WatchedKind): string {
  return object === undefined ? "" : `fieldSelector=${encodeURIComponent(`metadata.name=${object.name}`)}&`;
}

/** Returns the resource name that RBAC and kubectl use, such as `iamroleselectors.services.k8s.aws`. */
export function resourceName({ group, plural }: WatchedKind): string {
  return group === "" ? plural : `${plural}.${group}`;
}

/** Returns the scope of the watch for messages: `in the whole cluster`, or the name and namespace of the object. */
export function scopeOf({ object, namespace }: WatchedKind): string {
  if (namespace !== undefined) return `in the namespace ${namespace}`;
  if (object === undefined) return "in the whole cluster";
  return `named ${object.name} in ${object.namespace === "" ? "all namespaces" : `the namespace ${object.namespace}`}`;
}

/**
 * Transforms an object from a list or an event. Returns null if `value` is not a Kubernetes object. Sets apiVersion and
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

/** Whether resource version `a` is newer than `b`. Resource versions are decimal numbers without leading zeros. */
export function isNewer(a: string | null, b: string | null): boolean {
  if (a === null || b === null) return a !== null;
  return a.length === b.length ? a > b : a.length > b.length;
}

/** Returns the newest of the resource versions; null if there is none. */
export function newest(versions: readonly (string | null)[]): string | null {
  return versions.reduce((one, other) => (isNewer(other, one) ? other : one), null);
}
