import { definedKind, isACKGroup, SELECTOR_GROUP, SELECTOR_KIND } from "../core/ack-groups.ts";
import { isCAPAKind, isIdentityKind, type KindName, SERVICE_ACCOUNT_IDENTITY } from "../core/capa-kinds.ts";
import { kindOf, WATCHED_ROWS, type WatchedID } from "../kinds.ts";
import type { ClusterPart } from "../core/kind-row.ts";
import { field, isJsonObject, type JsonObject, omitField, stringAt } from "../formats/json.ts";
import type { WatchedKind } from "../api/watched-kind.ts";
import { clusterOwner } from "../core/cluster-parts.ts";
import type { StoreKey } from "../core/store.ts";
import { RESOURCES } from "../ack/resources.ts";

// The transforms of the watched kinds. Each returns a copy of an object without the fields that no decision reads, so
// that the inventory of a large cluster fits in memory.

function transformSelector(object: JsonObject): JsonObject {
  return { ...object, metadata: omitField(field(object, "metadata"), "managedFields") };
}

/** Returns a transform that keeps only the listed fields of these fields of an object, or all of them. */
function keeping(kept: Readonly<Record<string, readonly string[] | "all">>): (object: JsonObject) => JsonObject {
  return (object) => Object.fromEntries(Object.entries(kept).map(([name, names]) => {
    const value = field(object, name);
    return [name, names === "all" ? value ?? {} : pickFields(value, names)];
  }));
}

/**
 * Returns the names, versions and status of a definition of an ACK kind or a CAPA kind. Returns null for any other
 * definition. Drops the schemas, because they are the largest part of a definition, except the schema of the stored
 * version of IAMRoleSelector, which decisions read.
 */
function transformDefinition(object: JsonObject): JsonObject | null {
  const spec = field(object, "spec");
  const group = stringAt(spec, "group") ?? "";
  const defined = definedKind(object);
  if (group !== SELECTOR_GROUP && !isACKGroup(group) && !isCAPAKind(defined)) return null;
  const isOfSelectors = group === SELECTOR_GROUP && stringAt(spec, "names", "kind") === SELECTOR_KIND;
  const listed = field(spec, "versions");
  const versions = Array.isArray(listed) ? listed.map((version) => transformVersion(version, isOfSelectors)) : [];
  return {
    metadata: pickFields(field(object, "metadata"), ["name", "uid", "resourceVersion"]),
    spec: { ...pickFields(spec, ["group", "names", "scope"]), versions },
    status: { conditions: conditionsOfType(object, "Established") },
  };
}

function transformVersion(version: unknown, isOfSelectors: boolean): JsonObject {
  const names = ["name", "served", "storage"];
  return pickFields(version, isOfSelectors && field(version, "storage") === true ? [...names, "schema"] : names);
}

const RESOURCE_METADATA = ["name", "namespace", "uid", "labels", "deletionTimestamp", "resourceVersion"];

/** Drops all fields that decisions do not read. The largest dropped field is `spec`. */
function transformResource(object: JsonObject): JsonObject {
  return {
    metadata: resourceMetadata(object),
    status: {
      ...pickFields(field(object, "status"), ["ackResourceMetadata"]),
      conditions: conditionsOfType(object, "ACK.ResourceSynced"),
    },
  };
}

function resourceMetadata(object: JsonObject): JsonObject {
  const metadata = field(object, "metadata");
  const annotations = relevantAnnotations(field(metadata, "annotations"));
  return { ...pickFields(metadata, RESOURCE_METADATA), annotations };
}

/** Returns only the reference and the region of the spec or of a template, and the owner of kind Cluster. */
function transformReferrer(object: JsonObject): JsonObject {
  const spec = field(object, "spec");
  const template = field(field(spec, "template"), "spec");
  const owner = clusterOwner(object);
  return {
    metadata: { ...resourceMetadata(object), ...(owner !== null && { ownerReferences: [owner] }) },
    spec: {
      ...pickFields(spec, REFERRER_FIELDS),
      ...(isJsonObject(template) && { template: { spec: pickFields(template, REFERRER_FIELDS) } }),
    },
  };
}

const REFERRER_FIELDS = ["identityRef", "region"];

const RELEVANT_ANNOTATION = /^(?:(?:[^/]+\.)?services\.k8s\.aws|ack-role-resolver\.io)\//;

/**
 * Returns the annotations of ACK and of this project. Drops other annotations, which can be as large as the object,
 * such as the last-applied annotation of `kubectl apply`.
 */
function relevantAnnotations(annotations: unknown): JsonObject {
  if (!isJsonObject(annotations)) return {};
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => RELEVANT_ANNOTATION.test(key)));
}

/** Returns a copy of `value` that has only the named fields. Returns an empty object if `value` is not an object. */
function pickFields(value: unknown, names: readonly string[]): JsonObject {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)));
}

/** Returns the object's conditions whose type is `type`, reduced to the fields type and status. */
function conditionsOfType(object: JsonObject, type: string): JsonObject[] {
  const conditions = field(field(object, "status"), "conditions");
  if (!Array.isArray(conditions)) return [];
  return conditions
    .filter((condition) => stringAt(condition, "type") === type)
    .map((condition) => pickFields(condition, ["type", "status"]));
}

/** What is kept of an object of each kind. Only a collector receives FieldExports and AdoptedResources. */
const TRANSFORMS: Record<WatchedID, WatchedKind["transform"]> = {
  "selector": transformSelector,
  "namespace": keeping({
    metadata: ["name", "labels", "annotations", "deletionTimestamp", "resourceVersion"], status: ["phase"],
  }),
  "other-definition": transformDefinition,
  "carm-map": keeping({ metadata: ["name", "namespace", "resourceVersion"], data: "all" }),
  // Not the annotations: the last-applied annotation of `kubectl apply` contains the values of the Secret.
  "secret": keeping({ metadata: ["name", "namespace", "uid", "resourceVersion", "managedFields"] }),
  "identity-accounts": keeping({ metadata: ["name", "namespace", "resourceVersion"], data: "all" }),
  "resource": transformResource,
  // Not the labels: anyone who can write an identity can add labels.
  "identity": keeping({ metadata: ["name", "namespace", "uid", "resourceVersion"], spec: "all" }),
  "cluster": transformReferrer,
  "field-export": () => null,
  "adopted-resource": () => null,
};

/**
 * Returns the watched kinds of a part of the cluster, excluding the kinds whose version a definition states. The part
 * null has the kinds that every source loads. The namespace "" stands for all namespaces.
 */
export function fixedKinds(part: ClusterPart | null, namespace = ""): readonly WatchedKind[] {
  return WATCHED_ROWS.flatMap(({ id, types, served: { version, groups }, watch: { names, parts, ...watch } }) => {
    const isOfPart = part === null ? parts === undefined : parts?.includes(part) === true;
    if (!isOfPart || typeof types === "function" || version === "*") return [];
    const plural = groups[0]?.plurals[0] ?? "";
    return types.flatMap((type) => {
      const [kind = "", ...rest] = type.split(".");
      const watched = { ...watch, group: rest.join("."), version, kind, plural, transform: TRANSFORMS[id] };
      if (names !== undefined) return names.map((name) => ({ ...watched, object: { namespace, name } }));
      return [namespace === "" ? watched : { ...watched, namespace }];
    });
  });
}

/** A kind that a definition defines, the parts of a cluster that contain it, and the store of its objects. */
export interface ServedKind extends WatchedKind {
  readonly parts: readonly ClusterPart[];
  readonly store: StoreKey;
}

/**
 * Returns the watched kind that a transformed CustomResourceDefinition defines. The version of the kind is the stored
 * version if the API server serves it, else the first served version. Returns null if nothing reads the objects of the
 * kind, or if the kind is not served.
 */
export function servedKind(definition: JsonObject): ServedKind | null {
  const spec = field(definition, "spec");
  const type = definedKind(definition);
  const kind = kindOf({ ...type, name: "" });
  const row = WATCHED_ROWS.find((one) => one === kind && one.served.version === "*");
  const version = versionToList(field(spec, "versions"));
  const plural = stringAt(spec, "names", "plural");
  if (row === undefined || version === null || plural === null) return null;
  if (stringAt(spec, "scope") !== scopeOf(type) || !isEstablished(definition)) return null;
  const { id, store = RESOURCES, watch: { pageSize, parts = [] } } = row;
  return { ...type, version, plural, pageSize, parts, store, transform: TRANSFORMS[id] };
}

/** Roles are resolved only for resources in a namespace, so that resources with another scope are not read. */
function scopeOf(type: KindName): string {
  return isIdentityKind(type) && type.kind !== SERVICE_ACCOUNT_IDENTITY ? "Cluster" : "Namespaced";
}

/**
 * Returns whether the condition Established is True. Until Established is True, the API server answers requests for the
 * kind with 404.
 */
function isEstablished(definition: JsonObject): boolean {
  return conditionsOfType(definition, "Established").some((condition) => stringAt(condition, "status") === "True");
}

function versionToList(versions: unknown): string | null {
  if (!Array.isArray(versions)) return null;
  const served: unknown[] = versions.filter((version) => field(version, "served") === true);
  return stringAt(served.find((version) => field(version, "storage") === true) ?? served[0], "name");
}
