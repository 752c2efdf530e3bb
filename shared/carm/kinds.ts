import { isCARMMapName } from "../core/ack-groups.ts";
import { ACCOUNT_MAP, TEAM_MAP } from "../core/annotation-keys.ts";
import { ofNamespaceCleanup } from "../core/exemptions.ts";
import { keeping } from "../core/kept-fields.ts";
import { core, CREATE_AND_UPDATE, EVERY_WRITE, LIST, PAGE } from "../core/kind-rows.ts";
import type { Kind } from "../core/kind.ts";
import { CARM_MAPS, OTHER_CARM_MAPS } from "./map-store.ts";
import { MAP_ROLES } from "./resolve.ts";
import { CHANGES_MORE_THAN_BOOKKEEPING, type Condition } from "../core/conditions.ts";

/**
 * Matches only the CARM maps. The expression must not fail: a failed expression with the failurePolicy `Fail` would
 * reject every ConfigMap. Reads the objects, because `request.name` is missing if the name is generated or a client
 * deletes a collection.
 */
export const IS_CARM_MAP: Condition = {
  name: "is-carm-map",
  expression: "[object, oldObject].exists(one, one != null && has(one.metadata.name) && "
    + `one.metadata.name in ["${ACCOUNT_MAP}", "${TEAM_MAP}"])`,
};

/** The ConfigMaps of accounts and teams. */
export const CARM_MAP = {
  id: "carm-map", types: ["ConfigMap."], names: isCARMMapName, path: "configmaps",
  choosesRole: true, warnsOnly: [ofNamespaceCleanup],
  served: core("configmaps", "Namespaced"),
  reviews: [{
    operations: EVERY_WRITE, whenDown: "Fail", namespaces: "ack-system",
    conditions: [IS_CARM_MAP, CHANGES_MORE_THAN_BOOKKEEPING],
  }],
  waivers: { operations: CREATE_AND_UPDATE },
  watch: {
    pageSize: PAGE, names: [ACCOUNT_MAP, TEAM_MAP], parts: ["carmMaps"], storeOfOthers: OTHER_CARM_MAPS,
    keep: keeping({ metadata: ["name", "namespace", "resourceVersion"], data: "all" }),
  },
  rights: { "carm-maps": LIST },
  limit: {
    code: "CM-14", fix: "remove entries from the ConfigMap",
    example: "the ConfigMap ack-role-account-map with more than 20,000 entries",
  }, store: CARM_MAPS, readIn: "carm", roles: [MAP_ROLES],
} as const satisfies Kind;
