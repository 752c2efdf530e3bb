import { isCARMMapName } from "../core/ack-groups.ts";
import { ACCOUNT_MAP, TEAM_MAP } from "../core/annotation-keys.ts";
import { ofNamespaceCleanup } from "../core/exemptions.ts";
import { keeping } from "../core/kept-fields.ts";
import { core, EVERY_WRITE, LIST, PAGE } from "../core/kind-rows.ts";
import type { Kind } from "../core/kind.ts";
import { CARM_MAPS, OTHER_CARM_MAPS } from "./map-store.ts";
import { MAP_ROLES } from "./resolve.ts";

/** The ConfigMaps of accounts and teams. */
export const CARM_MAP = {
  id: "carm-map", types: ["ConfigMap."], names: isCARMMapName, path: "configmaps",
  choosesRole: true, warnsOnly: [ofNamespaceCleanup],
  served: core("configmaps", "Namespaced"),
  reviews: [{
    operations: EVERY_WRITE, whenDown: "Fail", namespaces: "ack-system",
    conditions: ["is-carm-map", "changes-more-than-bookkeeping"],
  }],
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
