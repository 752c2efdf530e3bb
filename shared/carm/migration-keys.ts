import { RESOURCES } from "../ack/resources.ts";
import { lookUpMaps, type MapLookup } from "./carm-maps.ts";
import type { DecisionSettings } from "../core/context.ts";
import type { Inventory } from "../core/inventory.ts";
import type { ResourceQuery } from "../core/ack-resource.ts";
import { isACKGroup, knownGroups } from "../core/ack-groups.ts";
import { namespaceNameFaults } from "../formats/names.ts";
import { compareText } from "../formats/text.ts";

/**
 * The cluster state and the settings to migrate. Of the stored selectors, the migration reads only the names and the
 * roles.
 */
export interface MigrationInput {
  readonly inventory: Inventory;
  /** The settings of the controllers. The setting `mode` has no effect. */
  readonly settings: DecisionSettings;
  /** The ACK groups to migrate, sorted. */
  readonly groups: readonly string[];
}

/**
 * A key of a CARM map that namespace annotations name. The role of such a key depends only on the API group of the
 * resource.
 */
export interface CARMKey {
  readonly via: MapLookup["via"];
  readonly key: string;
  /** The namespaces whose annotations name the key, sorted. */
  readonly namespaces: readonly string[];
  /** The role or fault of the key for each API group. */
  readonly byGroup: ReadonlyMap<string, MapLookup>;
  /** The role or fault of the key for a group that has no service-specific key. */
  readonly fallback: MapLookup;
}

/**
 * A placeholder group that stands for every unknown group. No map has a key for this group, because a ConfigMap key
 * cannot contain `*`.
 */
export const UNKNOWN_GROUP = "*.services.k8s.aws";

/**
 * Returns the ACK groups to migrate, sorted: the groups of this release, of the installed kinds and of the stored
 * resources, and `extraGroups`.
 */
export function migrationGroups(inventory: Inventory, extraGroups: readonly string[]): readonly string[] {
  const groups = new Set(knownGroups(extraGroups));
  for (const { group } of inventory.kinds.installedTypes()) groups.add(group);
  for (const { group } of inventory.of(RESOURCES).all()) groups.add(group);
  return [...groups].filter(isACKGroup).toSorted(compareText);
}

/** Returns the keys that namespace annotations name, sorted by map and key. Skips namespaces whose name is invalid. */
export function keysInUse({ inventory, settings, groups }: MigrationInput): readonly CARMKey[] {
  const byKey = new Map<string, { readonly fallback: MapLookup; readonly namespaces: [string, ...string[]] }>();
  for (const namespace of [...inventory.namespaces.names].toSorted(compareText)) {
    const fallback = lookUpMaps(inventory, sampleResource(namespace, UNKNOWN_GROUP), settings);
    if (fallback === null || namespaceNameFaults(namespace).length > 0) continue;
    const id = `${fallback.via}/${fallback.id}`;
    const known = byKey.get(id);
    if (known === undefined) byKey.set(id, { fallback, namespaces: [namespace] });
    else known.namespaces.push(namespace);
  }
  return [...byKey].toSorted(([a], [b]) => compareText(a, b)).map(([, { fallback, namespaces }]) => {
    const byGroup = new Map<string, MapLookup>();
    for (const group of groups) {
      const lookup = lookUpMaps(inventory, sampleResource(namespaces[0], group), settings);
      if (lookup !== null) byGroup.set(group, lookup);
    }
    return { via: fallback.via, key: fallback.id, namespaces, byGroup, fallback };
  });
}

/**
 * Returns a hypothetical resource that does not exist in AWS yet. The default kind "" stands for a kind that no
 * selector names.
 */
export function sampleResource(
  namespace: string, group: string, { version, kind } = { version: "", kind: "" },
): ResourceQuery {
  const status = { ownerAccountID: null, region: null };
  return { namespace, group, version, kind, name: null, labels: EMPTY, annotations: EMPTY, status };
}

const EMPTY: ReadonlyMap<string, string> = new Map();
