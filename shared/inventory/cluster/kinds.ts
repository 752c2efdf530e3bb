import { ACCOUNT_MAP, TEAM_MAP } from "../../decisions/annotation-keys.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../../decisions/kubernetes/json.ts";
import { isACKGroup, SELECTOR_GROUP, SELECTOR_KIND } from "../../decisions/kubernetes/kinds.ts";
import type { WatchedKind } from "./watched-kind.ts";

/** An object with the fields of these names alone; an empty one in place of what is none. */
export function only(value: unknown, names: readonly string[]): JsonObject {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)));
}

/** An object without the field. */
export function without(value: unknown, name: string): JsonObject {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([other]) => other !== name));
}

/** The type and status of an object's conditions of a type. */
export function conditionsOf(object: JsonObject, type: string): JsonObject[] {
  const conditions = field(field(object, "status"), "conditions");
  if (!Array.isArray(conditions)) return [];
  return conditions.filter((condition) => stringAt(condition, "type") === type).map((condition) => only(condition, ["type", "status"]));
}

/** client-go's page size. */
export const PAGE_SIZE = 500;
/** A definition with its schemas is often 100 KB and may be over 1 MB. */
const DEFINITIONS_PAGE_SIZE = 50;

const SELECTORS: WatchedKind = {
  group: SELECTOR_GROUP,
  version: "v1alpha1",
  kind: SELECTOR_KIND,
  plural: "iamroleselectors",
  pageSize: PAGE_SIZE,
  keep: (object) => ({ ...object, metadata: without(field(object, "metadata"), "managedFields") }),
};

const NAMESPACES: WatchedKind = {
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  pageSize: PAGE_SIZE,
  keep: (object) => ({
    metadata: only(field(object, "metadata"), ["name", "labels", "annotations", "deletionTimestamp", "resourceVersion"]),
    status: only(field(object, "status"), ["phase"]),
  }),
};

export const DEFINITIONS: WatchedKind = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  pageSize: DEFINITIONS_PAGE_SIZE,
  keep: keepDefinition,
};

/** What every inventory is made of. */
export const CLUSTER_KINDS: readonly WatchedKind[] = [SELECTORS, NAMESPACES, DEFINITIONS];

/** The CARM maps, each by itself: so no right to any other ConfigMap is needed. */
export function carmMapKinds(namespace: string): readonly WatchedKind[] {
  return [ACCOUNT_MAP, TEAM_MAP].map((name) => ({
    group: "",
    version: "v1",
    kind: "ConfigMap",
    plural: "configmaps",
    object: { namespace, name },
    pageSize: PAGE_SIZE,
    keep: (object) => ({ metadata: only(field(object, "metadata"), ["name", "namespace", "resourceVersion"]), data: field(object, "data") ?? {} }),
  }));
}

/**
 * The versions of ACK's kinds, and whether they are served. The schemas are by far the largest part; only that of selectors is looked
 * at, in the version that is stored.
 */
function keepDefinition(object: JsonObject): JsonObject | null {
  const spec = field(object, "spec");
  const group = stringAt(spec, "group") ?? "";
  if (group !== SELECTOR_GROUP && !isACKGroup(group)) return null;
  const isOfSelectors = group === SELECTOR_GROUP && stringAt(spec, "names", "kind") === SELECTOR_KIND;
  const listed = field(spec, "versions");
  const versions = Array.isArray(listed) ? listed.map((version) => keepVersion(version, isOfSelectors)) : [];
  return {
    metadata: only(field(object, "metadata"), ["name", "resourceVersion"]),
    spec: { ...only(spec, ["group", "names", "scope"]), versions },
    status: { conditions: conditionsOf(object, "Established") },
  };
}

function keepVersion(version: unknown, isOfSelectors: boolean): JsonObject {
  const kept = ["name", "served", "storage"];
  return only(version, isOfSelectors && field(version, "storage") === true ? [...kept, "schema"] : kept);
}

/**
 * The ACK kind that a CustomResourceDefinition (as `cluster-kinds.ts` keeps it) defines, to be listed in its stored version, or in
 * another that is served where that is not. Null for what is no AWS resource, or is not served (yet).
 */
export function resourceKind(definition: JsonObject): WatchedKind | null {
  const spec = field(definition, "spec");
  const group = stringAt(spec, "group") ?? "";
  // A role is decided by the resource's namespace, so what has none is no resource to decide about.
  if (!isACKGroup(group) || stringAt(spec, "scope") !== "Namespaced" || !isEstablished(definition)) return null;
  const version = listedVersion(field(spec, "versions"));
  const kind = stringAt(spec, "names", "kind");
  const plural = stringAt(spec, "names", "plural");
  if (version === null || kind === null || plural === null) return null;
  return { group, version, kind, plural, pageSize: PAGE_SIZE, keep: keepResource };
}

/** Before that condition the API server answers 404. */
function isEstablished(definition: JsonObject): boolean {
  return conditionsOf(definition, "Established").some((condition) => stringAt(condition, "status") === "True");
}

function listedVersion(versions: unknown): string | null {
  if (!Array.isArray(versions)) return null;
  const served: unknown[] = versions.filter((version) => field(version, "served") === true);
  return stringAt(served.find((version) => field(version, "storage") === true) ?? served[0], "name");
}

/** What decisions read; the whole spec goes, which is the largest part. */
function keepResource(object: JsonObject): JsonObject {
  const metadata = field(object, "metadata");
  return {
    metadata: {
      ...only(metadata, ["name", "namespace", "labels", "deletionTimestamp", "resourceVersion"]),
      annotations: ownAnnotations(field(metadata, "annotations")),
    },
    status: { ...only(field(object, "status"), ["ackResourceMetadata"]), conditions: conditionsOf(object, "ACK.ResourceSynced") },
  };
}

/** ACK's and this project's: others may be as large as the object itself, as `kubectl apply` writes one. */
function ownAnnotations(annotations: unknown): JsonObject {
  if (!isJsonObject(annotations)) return {};
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => OWN_ANNOTATION.test(key)));
}

const OWN_ANNOTATION = /^(?:(?:[^/]+\.)?services\.k8s\.aws|ack-role-resolver\.io)\//;
