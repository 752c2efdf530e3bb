import { isCAPAKind } from "../../decisions/identities/kinds.ts";
import { clusterOwner } from "../../decisions/identities/referrer.ts";
import { field, isJsonObject, type JsonObject, omitField, stringAt } from "../../decisions/kubernetes/json.ts";
import { definedKind, isACKGroup, SELECTOR_GROUP, SELECTOR_KIND } from "../../decisions/kubernetes/kinds.ts";

// The transforms of the watched kinds. Each returns a copy of an object without the fields that no decision reads, so
// that the inventory of a large cluster fits in memory.

export function transformSelector(object: JsonObject): JsonObject {
  return { ...object, metadata: omitField(field(object, "metadata"), "managedFields") };
}

const NAMESPACE_METADATA = ["name", "labels", "annotations", "deletionTimestamp", "resourceVersion"];

export function transformNamespace(object: JsonObject): JsonObject {
  return {
    metadata: pickFields(field(object, "metadata"), NAMESPACE_METADATA),
    status: pickFields(field(object, "status"), ["phase"]),
  };
}

export function transformConfigMap(object: JsonObject): JsonObject {
  return {
    metadata: pickFields(field(object, "metadata"), ["name", "namespace", "resourceVersion"]),
    data: field(object, "data") ?? {},
  };
}

const SECRET_METADATA = ["name", "namespace", "managedFields"];

/** Drops the annotations, because the last-applied annotation of `kubectl apply` contains the values of the Secret. */
export function transformSecret(object: JsonObject): JsonObject {
  return { metadata: pickFields(field(object, "metadata"), SECRET_METADATA) };
}

/**
 * Returns the names, versions and status of a definition of an ACK kind or a CAPA kind. Returns null for any other
 * definition. Drops the schemas, because they are the largest part of a definition, except the schema of the stored
 * version of IAMRoleSelector, which decisions read.
 */
export function transformDefinition(object: JsonObject): JsonObject | null {
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
export function transformResource(object: JsonObject): JsonObject {
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

/** Drops the status and all metadata that decisions do not read. Anyone who can write an identity can add labels. */
export function transformIdentity(object: JsonObject): JsonObject {
  return { metadata: pickFields(field(object, "metadata"), IDENTITY_METADATA), spec: field(object, "spec") ?? {} };
}

const IDENTITY_METADATA = ["name", "namespace", "uid", "resourceVersion"];

/** Returns only the reference and the region of the spec or of a template, and the owner of kind Cluster. */
export function transformReferrer(object: JsonObject): JsonObject {
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
export function conditionsOfType(object: JsonObject, type: string): JsonObject[] {
  const conditions = field(field(object, "status"), "conditions");
  if (!Array.isArray(conditions)) return [];
  return conditions
    .filter((condition) => stringAt(condition, "type") === type)
    .map((condition) => pickFields(condition, ["type", "status"]));
}
