import { isACKGroup } from "../decisions/ack-resource.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../decisions/json.ts";
import { PAGE_SIZE } from "./cluster-kinds.ts";
import { conditionsOf, only } from "./kept-fields.ts";
import type { WatchedKind } from "./watched-kind.ts";

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
