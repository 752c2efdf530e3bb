import { isResource, type ResourceQuery } from "../core/ack-resource.ts";
import { IGNORED_NAMESPACES } from "../core/annotation-keys.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Inventory, RoleSource } from "../core/inventory.ts";
import { annotationOf, stateOf } from "../core/namespace-change.ts";
import { byDefault, type Region, type Resolution } from "../core/resolution.ts";
import { resolveResource } from "../core/resolve.ts";
import { accountOfARN } from "../formats/arn.ts";
import { quote } from "../formats/text.ts";
import { everyResource } from "../ack/kinds-at-risk.ts";
import { choosingAnnotations } from "./carm-maps.ts";
import { mapRoleOf } from "./carm-role.ts";
import { MAP_GRANTS } from "./grant-by-carm.ts";
import { CARM_MAPS } from "./map-store.ts";
import { mapTargets } from "./role-targets.ts";

/** The CARM maps, which give ACK resources their roles in mode `carm`. */
export const MAP_ROLES: RoleSource<ResourceQuery> = {
  serves: (object, { mode }) => mode === "carm" && isResource(object),
  resolve: (inventory, query, settings) => resolveResource(inventory, query, settings, (region) => (
    resolveByMaps(inventory, query, settings, region)
  )),
  knownIn: (inventory) => ({ hasRoles: inventory.includes(CARM_MAPS), readsNamespace: true }),
  targets: mapTargets,
  movedBy: ({ object, old }, _inventory, settings) => {
    const [before, after] = [stateOf(old), stateOf(object)];
    const isMoved = settings.mode === "carm"
      && choosingAnnotations(settings).some((key) => annotationOf(before, key) !== annotationOf(after, key));
    return isMoved ? everyResource : null;
  },
  granter: MAP_GRANTS,
};

/**
 * Resolves the role by the CARM maps. A fault in the maps prevents reconciliation: CARM never falls back to another
 * role.
 */
function resolveByMaps(
  inventory: Inventory, query: ResourceQuery, settings: DecisionSettings, region: Region | null,
): Resolution {
  const lookup = mapRoleOf(inventory, query, settings);
  if (lookup === null) {
    return byDefault(settings, region, `${noOwnerClause(query, settings)}, so the controller's own role is used.`);
  }
  const { via, key, roleARN, code } = lookup;
  if (code !== null) {
    return {
      outcome: "refused",
      via,
      selectors: [],
      roleARN: null,
      accountID: null,
      region,
      code,
      message: lookup.message,
    };
  }
  const message = `The role comes from key ${quote(key)} of the ${via === "team-map" ? "team" : "account"} map.`;
  return { outcome: "selected", via, selectors: [], roleARN, accountID: accountOfARN(roleARN), region, code, message };
}

/** Returns why the namespace chooses no role. */
function noOwnerClause({ namespace }: ResourceQuery, { teamLevelCARM }: DecisionSettings): string {
  if (IGNORED_NAMESPACES.has(namespace)) return `CARM ignores the annotations of namespace ${namespace}`;
  return teamLevelCARM ? "The namespace names no account or team" : "The namespace names no account";
}
