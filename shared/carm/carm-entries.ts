import { NAMESPACE_OWNERS } from "./namespace-owners.ts";
import { CARM_MAPS, type CARMMapStore } from "./map-store.ts";
import { ACCOUNT_MAP, TEAM_MAP } from "../core/annotation-keys.ts";
import { serviceOf } from "../core/ack-groups.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Inventory } from "../core/inventory.ts";
import { lookUpEntry, type MapEntry } from "./carm-maps.ts";

// The CARM maps, read from a role to the namespaces that name it: all that a sidecar knows of a request by ARN.

/** An entry of a CARM map whose value is the role in question. */
export interface RoleEntry {
  readonly via: MapEntry["via"];
  readonly map: string;
  readonly key: string;
  readonly data: ReadonlyMap<string, string>;
}

const ACCOUNTS = { via: "account-map", map: ACCOUNT_MAP } as const;
const TEAMS = { via: "team-map", map: TEAM_MAP } as const;
const NO_DATA: RoleEntry["data"] = new Map();

/** Returns the data of a CARM map; empty if the ConfigMap does not exist. */
export function dataOf(carmMaps: CARMMapStore, namespace: string, map: string): RoleEntry["data"] {
  return carmMaps.data(namespace, map) ?? NO_DATA;
}

/** Yields the entries whose value is `roleARN`, from the maps that controllers read. */
export function* entriesOf(
  inventory: Inventory, roleARN: string, { ackSystemNamespace, teamLevelCARM }: DecisionSettings,
): Iterable<RoleEntry> {
  for (const { via, map } of teamLevelCARM ? [ACCOUNTS, TEAMS] : [ACCOUNTS]) {
    const data = dataOf(inventory.of(CARM_MAPS), ackSystemNamespace, map);
    for (const key of inventory.of(CARM_MAPS).keysOf(ackSystemNamespace, map, roleARN)) yield { via, map, key, data };
  }
}

/**
 * Returns whether an existing namespace names the account or team for which a controller of the group reads the entry,
 * or null if no controller of the group can read it: another entry takes precedence, or the entry is specific to
 * another service. The status of a resource, which can name an account too, is not read.
 */
export function isNamedFor(
  group: string, entry: RoleEntry, inventory: Inventory, settings: DecisionSettings,
): boolean | null {
  const { via } = entry;
  const id = idOfEntry(group, entry, settings);
  if (id === null) return null;
  const owners = inventory.of(NAMESPACE_OWNERS);
  return via === "team-map"
    ? owners.hasTeam(id)
    : owners.hasAccount(id, { withoutTeam: settings.teamLevelCARM });
}

/** Returns the account or team for which a controller of the group reads the entry; null if it reads it for none. */
export function idOfEntry(
  group: string, { via, map, key, data }: RoleEntry, settings: DecisionSettings,
): string | null {
  const id = settings.serviceLevelCARM ? idFor(key, group) : key;
  return id === "" || lookUpEntry(data, group, { via, map, id }, settings).key !== key ? null : id;
}

/**
 * Returns the account or team for which a controller of `group` reads the key. Returns "" if the key starts with
 * another service, such as `rds.team-a`. The other service may be unknown, because it may be newer than this release.
 */
function idFor(key: string, group: string): string {
  const dot = key.indexOf(".");
  if (dot < 0) return key;
  return key.slice(0, dot) === serviceOf(group) ? key.slice(dot + 1) : "";
}
