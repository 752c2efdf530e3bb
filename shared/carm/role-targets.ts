import { ACCOUNT_MAP, TEAM_MAP } from "../core/annotation-keys.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Inventory } from "../core/inventory.ts";
import type { RoleTarget, RoleTargets } from "../core/role-target.ts";
import { CARM_MAPS } from "./map-store.ts";

/** Returns the roles that the CARM maps name. */
export function mapTargets(
  inventory: Inventory, { ackSystemNamespace }: Pick<DecisionSettings, "ackSystemNamespace">,
): RoleTargets {
  const targets = [ACCOUNT_MAP, TEAM_MAP].flatMap((map) => (
    Array.from(inventory.of(CARM_MAPS).data(ackSystemNamespace, map) ?? [], ([key, role]) => mapTarget(map, key, role))
  ));
  return { targets, omitted: [] };
}

/** Returns the role that a key of a CARM map names. */
export function mapTarget(map: string, key: string, roleARN: string): RoleTarget {
  return { kind: "map", name: `${map}/${key}`, roleARN };
}
