import { clusterOwner } from "../core/cluster-parts.ts";
import { pickFields, roleMetadata } from "../core/kept-fields.ts";
import { field, isJsonObject, type JsonObject } from "../formats/json.ts";

/** Returns only the reference and the region of the spec or of a template, and the owner of kind Cluster. */
export function keptOfReferrer(object: JsonObject): JsonObject {
  const spec = field(object, "spec");
  const template = field(field(spec, "template"), "spec");
  const owner = clusterOwner(object);
  return {
    metadata: { ...roleMetadata(object), ...(owner !== null && { ownerReferences: [owner] }) },
    spec: {
      ...pickFields(spec, REFERRER_FIELDS),
      ...(isJsonObject(template) && { template: { spec: pickFields(template, REFERRER_FIELDS) } }),
    },
  };
}

const REFERRER_FIELDS = ["identityRef", "region"];
