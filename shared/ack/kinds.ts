import {
  ADOPTED_RESOURCE_KIND, definedKind, FIELD_EXPORT_KIND, isACKGroup, isLikeResource, isLikeSelector, SELECTOR_GROUP,
  SELECTOR_KIND,
} from "../core/ack-groups.ts";
import { isCAPAKind } from "../core/capa-kinds.ts";
import { byACKController } from "../core/exemptions.ts";
import { conditionsOfType, pickFields, roleMetadata } from "../core/kept-fields.ts";
import {
  CLEANUP, CLOSED, CREATE_AND_UPDATE, EVERY_WRITE, LIST, OPEN, PAGE, READ, STATUS, STATUS_WAIVERS, WAIVERS, WRITE,
} from "../core/kind-rows.ts";
import { KINDS_OF_CLUSTER } from "../core/kind-store.ts";
import { ALL_SERVICES, type Kind } from "../core/kind.ts";
import { field, type JsonObject, omitField, stringAt } from "../formats/json.ts";
import { resourceOf } from "../core/ack-resource.ts";
import { SELECTOR_ROLES } from "./resolve.ts";
import { RESOURCES } from "./resources.ts";
import { SELECTORS } from "./selectors.ts";
import {
  CHANGES_MORE_THAN_BOOKKEEPING, type Condition, DELETES_OR_WAIVES, MUTATES, NOT_BEING_DELETED, NOT_DELETED_AGAIN,
} from "../core/conditions.ts";

const DEFINITION = ["CustomResourceDefinition.apiextensions.k8s.io"];
const PATH_OF_SELECTORS = "iamroleselectors";
const OF_DEFINITIONS = { name: "definition", operations: EVERY_WRITE, subresources: STATUS } as const;
/** The page size for CustomResourceDefinitions, which are often 100 KB and can exceed 1 MB. */
const SMALL_PAGE = 50;
const DEFINITIONS = {
  groups: [{ group: "apiextensions.k8s.io", plurals: ["customresourcedefinitions"] }], version: "v1", scope: "Cluster",
} as const;
const SPLIT = "split the resource, or move data out of it, for example into a Secret or a ConfigMap";

/** Only a collector receives FieldExports and AdoptedResources. */
const keepNothing = (): null => null;

/**
 * Matches only the CustomResourceDefinition of IAMRoleSelector. Reads the objects, because `request.name` is empty if
 * a client deletes a collection. The expression cannot fail.
 */
export const IS_DEFINITION_OF_SELECTORS: Condition = {
  name: "is-definition-of-selectors",
  expression: "[object, oldObject].exists(one, one != null && has(one.metadata.name) && "
    + `one.metadata.name == "iamroleselectors.${SELECTOR_GROUP}")`,
};

/** Matches only CustomResourceDefinitions of ACK resources. The expression cannot fail. */
export const IS_DEFINITION_OF_RESOURCES: Condition = {
  name: "is-definition-of-resources",
  expression: "[object, oldObject].exists(one, one != null && has(one.spec.group) && "
    + `one.spec.group.endsWith(".${SELECTOR_GROUP}"))`,
};

/** The IAMRoleSelectors. */
export const SELECTOR = {
  id: "selector", types: [`${SELECTOR_KIND}.${SELECTOR_GROUP}`], path: PATH_OF_SELECTORS,
  isBasic: true, choosesRole: true, warnsOnly: [],
  served: {
    groups: [{ group: SELECTOR_GROUP, plurals: [PATH_OF_SELECTORS] }], version: "v1alpha1", scope: "Cluster",
  },
  reviews: [
    { mutates: true, operations: CREATE_AND_UPDATE, whenDown: "Fail", conditions: [NOT_BEING_DELETED] },
    { ...CLOSED, operations: EVERY_WRITE, records: true },
  ],
  waivers: WAIVERS, immutable: [["spec", "arn"]],
  watch: { pageSize: PAGE, keep: keptOfSelector },
  rights: { reader: READ, "selector-owner": [...READ, ...WRITE], tenant: READ },
  limit: { code: "IRS-48" }, store: SELECTORS, countedAs: "selectors", readIn: "selectors",
} as const satisfies Kind;

/** The CustomResourceDefinition of IAMRoleSelectors. */
export const SELECTOR_DEFINITION = {
  id: "selector-definition", types: DEFINITION, names: (name) => name === `iamroleselectors.${SELECTOR_GROUP}`,
  path: PATH_OF_SELECTORS, warnsOnly: [],
  served: DEFINITIONS, store: KINDS_OF_CLUSTER,
  limit: { code: "WAIVER-01", deletion: "IRS-34", fix: SPLIT },
  reviews: [{
    ...OF_DEFINITIONS, whenDown: "Fail", records: true,
    conditions: [NOT_BEING_DELETED, IS_DEFINITION_OF_SELECTORS, DELETES_OR_WAIVES],
  }],
} as const satisfies Kind;

/** Objects that are probably meant to be IAMRoleSelectors. */
export const SELECTOR_LIKE = {
  id: "selector-like", types: isLikeSelector, path: null, choosesRole: true, isMisspelled: true, warnsOnly: [],
} as const satisfies Kind;

/** Objects that are probably meant to be ACK resources. */
export const RESOURCE_LIKE = {
  id: "resource-like", types: isLikeResource, path: null, isMisspelled: true, warnsOnly: [],
} as const satisfies Kind;

/** The ACK resources. */
export const RESOURCE = {
  id: "resource", types: ({ group }) => isACKGroup(group), path: "resources",
  choosesRole: true, warnsOnly: [byACKController, ...CLEANUP],
  // New releases of controllers add kinds. The plural `*` does not include subresources.
  served: { groups: [{ group: ALL_SERVICES, plurals: ["*"] }], version: "*", scope: "Namespaced" },
  reviews: [
    { mutates: true, operations: CREATE_AND_UPDATE, whenDown: "Ignore", conditions: [MUTATES] },
    { ...OPEN, operations: EVERY_WRITE, conditions: [NOT_DELETED_AGAIN, CHANGES_MORE_THAN_BOOKKEEPING] },
  ],
  isExcludable: true, waivers: STATUS_WAIVERS,
  watch: { pageSize: PAGE, parts: ["resources"], keep: keptOfResource },
  rights: { resources: LIST, reconciler: ["patch"] },
  limit: {
    code: "ACK-35", fix: SPLIT,
    example: "a Bucket whose spec is nested deeper than 100 levels",
  }, store: RESOURCES, annotated: RESOURCES, readRoleObject: resourceOf,
  countedAs: "resources", roles: [SELECTOR_ROLES],
} as const satisfies Kind;

/** The CustomResourceDefinitions of ACK resources. */
export const RESOURCE_DEFINITION = {
  // The name of a definition is PLURAL.GROUP.
  id: "resource-definition", types: DEFINITION, names: (name) => isACKGroup(name.slice(name.indexOf(".") + 1)),
  path: "resources", warnsOnly: [],
  served: DEFINITIONS, store: KINDS_OF_CLUSTER,
  limit: { code: "WAIVER-01", deletion: "ACK-34", fix: SPLIT },
  reviews: [{
    ...OF_DEFINITIONS, whenDown: "Ignore",
    conditions: [NOT_DELETED_AGAIN, IS_DEFINITION_OF_RESOURCES, DELETES_OR_WAIVES],
  }],
} as const satisfies Kind;

/** All other CustomResourceDefinitions. The only watch of all definitions. */
export const OTHER_DEFINITION = {
  id: "other-definition", types: DEFINITION, path: null, isBasic: true, warnsOnly: [], served: DEFINITIONS,
  waivers: WAIVERS,
  watch: { pageSize: SMALL_PAGE, keep: keptOfDefinition }, rights: { reader: LIST }, store: KINDS_OF_CLUSTER,
} as const satisfies Kind;

/** The FieldExports, which copy fields of ACK resources. */
export const FIELD_EXPORT = {
  id: "field-export", types: [`${FIELD_EXPORT_KIND}.${SELECTOR_GROUP}`], path: "fieldexports", warnsOnly: [],
  // A controller acts on each version within seconds. No check applies to a deletion.
  served: {
    groups: [{ group: SELECTOR_GROUP, plurals: ["fieldexports"] }], version: "*", scope: "Namespaced",
  },
  reviews: [{ ...CLOSED, operations: CREATE_AND_UPDATE }],
  waivers: STATUS_WAIVERS,
  watch: { pageSize: PAGE, parts: ["fieldExports"], keep: keepNothing, unlistedIn: RESOURCES },
  limit: {
    code: "FE-02", fix: "remove labels and annotations from the FieldExport",
    example: "a FieldExport that has more than 1,000 annotations",
  },
} as const satisfies Kind;

/** The AdoptedResources, which create ACK resources. */
export const ADOPTED_RESOURCE = {
  id: "adopted-resource", types: [`${ADOPTED_RESOURCE_KIND}.${SELECTOR_GROUP}`], path: "adoptedresources",
  warnsOnly: [],
  // Runtime 0.62 removed the kind. A rule for a kind that the cluster does not have matches nothing.
  served: {
    groups: [{ group: SELECTOR_GROUP, plurals: ["adoptedresources"] }], version: "*", scope: "Namespaced",
  },
  reviews: [{ ...CLOSED, operations: CREATE_AND_UPDATE }],
  waivers: STATUS_WAIVERS,
  watch: { pageSize: PAGE, parts: ["fieldExports"], keep: keepNothing, unlistedIn: RESOURCES },
  limit: RESOURCE.limit,
} as const satisfies Kind;

/** Returns the whole selector, because checks report any of its fields. */
function keptOfSelector(object: JsonObject): JsonObject {
  return { ...object, metadata: omitField(field(object, "metadata"), "managedFields") };
}

/**
 * Returns the names, versions and status of a definition of an ACK kind or a CAPA kind. Returns null for any other
 * definition. Drops the schemas, because they are the largest part of a definition, except the schema of the stored
 * version of IAMRoleSelector, which decisions read.
 */
function keptOfDefinition(object: JsonObject): JsonObject | null {
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
function keptOfResource(object: JsonObject): JsonObject {
  return {
    metadata: roleMetadata(object),
    status: {
      ...pickFields(field(object, "status"), ["ackResourceMetadata"]),
      conditions: conditionsOfType(object, "ACK.ResourceSynced"),
    },
  };
}
