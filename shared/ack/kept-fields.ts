import { definedKind, isACKGroup, SELECTOR_GROUP, SELECTOR_KIND } from "../core/ack-groups.ts";
import { isCAPAKind } from "../core/capa-kinds.ts";
import { conditionsOfType, pickFields, roleMetadata } from "../core/kept-fields.ts";
import { field, type JsonObject, omitField, stringAt } from "../formats/json.ts";

/** Returns the whole selector, because checks report any of its fields. */
export function keptOfSelector(object: JsonObject): JsonObject {
  return { ...object, metadata: omitField(field(object, "metadata"), "managedFields") };
}

/**
 * Returns the names, versions and status of a definition of an ACK kind or a CAPA kind. Returns null for any other
 * definition. Drops the schemas, because they are the largest part of a definition, except the schema of the stored
 * version of IAMRoleSelector, which decisions read.
 */
export function keptOfDefinition(object: JsonObject): JsonObject | null {
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

/** Drops all fields that decisions do not read. The largest dropped field is `spec`. */
export function keptOfResource(object: JsonObject): JsonObject {
  return {
    metadata: roleMetadata(object),
    status: {
      ...pickFields(field(object, "status"), ["ackResourceMetadata"]),
      conditions: conditionsOfType(object, "ACK.ResourceSynced"),
    },
  };
}
