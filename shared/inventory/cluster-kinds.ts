import { isACKGroup } from "../decisions/ack-resource.ts";
import { ACCOUNT_MAP, TEAM_MAP } from "../decisions/carm.ts";
import { SELECTOR_GROUP, SELECTOR_KIND } from "../decisions/iamroleselector.ts";
import { field, type JsonObject, stringAt } from "../decisions/json.ts";
import { conditionsOf, only, without } from "./kept-fields.ts";
import type { WatchedKind } from "./watched-kind.ts";

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
