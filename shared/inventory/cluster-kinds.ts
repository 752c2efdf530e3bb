import { SELECTOR_GROUP, SELECTOR_KIND } from "../decisions/iamroleselector.ts";
import { field, isJsonObject, type JsonObject, stringAt } from "../decisions/json.ts";
import type { WatchedKind } from "./watched-kind.ts";

/** client-go's page size. */
const PAGE_SIZE = 500;
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

const DEFINITIONS: WatchedKind = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  pageSize: DEFINITIONS_PAGE_SIZE,
  keep: keepDefinition,
};

/** What an inventory is made of. */
export const CLUSTER_KINDS: readonly WatchedKind[] = [SELECTORS, NAMESPACES, DEFINITIONS];

/** The versions of ACK's kinds; the schemas are by far the largest part, and no decision reads them. */
function keepDefinition(object: JsonObject): JsonObject | null {
  const spec = field(object, "spec");
  if (!isOfACK(stringAt(spec, "group") ?? "")) return null;
  const listed = field(spec, "versions");
  const versions = Array.isArray(listed) ? listed.map((version) => only(version, ["name", "served", "storage"])) : [];
  return {
    metadata: only(field(object, "metadata"), ["name", "resourceVersion"]),
    spec: { ...only(spec, ["group", "names", "scope"]), versions },
  };
}

/** The groups of the services, and the one that holds IAMRoleSelector. */
function isOfACK(group: string): boolean {
  return group === SELECTOR_GROUP || group.endsWith(`.${SELECTOR_GROUP}`);
}

function only(value: unknown, names: readonly string[]): JsonObject {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)));
}

function without(value: unknown, name: string): JsonObject {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([other]) => other !== name));
}
