import { lookUpMaps, type MapLookup } from "../carm/maps.ts";
import type { DecisionSettings } from "../context.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { ResourceQuery } from "../kubernetes/ack-resource.ts";
import { isACKGroup, knownGroups } from "../kubernetes/kinds.ts";
import { namespaceNameFaults } from "../kubernetes/names.ts";
import { compareText } from "../kubernetes/text.ts";

/** The input of a migration. Of the selectors in the inventory it reads only the names. */
export interface MigrationInput {
  readonly inventory: Inventory;
  /** Settings of any mode. */
  readonly settings: DecisionSettings;
  /** The ACK groups to migrate, sorted. */
  readonly groups: readonly string[];
}

/** A key of a CARM map that namespaces name. The result of its lookup depends on the group only. */
export interface CARMKey {
  readonly via: MapLookup["via"];
  readonly key: string;
  /** The namespaces that name the key, sorted. */
  readonly namespaces: readonly string[];
  /** The lookup for each group. */
  readonly byGroup: ReadonlyMap<string, MapLookup>;
  /** The lookup for a group whose service has no separate key. */
  readonly fallback: MapLookup;
}

/** Stands for any unknown group. A ConfigMap key cannot contain `*`, so no map has a key for its service. */
export const UNKNOWN_GROUP = "*.services.k8s.aws";

/** Returns the ACK groups of this release, of the installed kinds, of the stored resources and of the user, sorted. */
export function migrationGroups(inventory: Inventory, extraGroups: readonly string[]): readonly string[] {
  const groups = new Set(knownGroups(extraGroups));
  for (const { group } of inventory.kinds.installedTypes()) groups.add(group);
  for (const { group } of inventory.resources.all()) groups.add(group);
  return [...groups].filter(isACKGroup).toSorted(compareText);
}

/** Returns the keys that namespaces name, sorted by map and key. Skips namespaces with an invalid name. */
export function keysInUse({ inventory, settings, groups }: MigrationInput): readonly CARMKey[] {
  const byKey = new Map<string, { readonly fallback: MapLookup; readonly namespaces: [string, ...string[]] }>();
  for (const namespace of [...inventory.namespaces.names].toSorted(compareText)) {
    const fallback = lookUpMaps(inventory, sampleResource(namespace, UNKNOWN_GROUP), settings);
    if (fallback === null || namespaceNameFaults(namespace).length > 0) continue;
    const id = `${fallback.via}/${fallback.key}`;
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
    return { via: fallback.via, key: fallback.key, namespaces, byGroup, fallback };
  });
}

/** Returns a resource that does not exist in AWS yet. Its default kind is one that no selector names. */
export function sampleResource(
  namespace: string, group: string, { version, kind } = { version: "", kind: "" },
): ResourceQuery {
  const status = { ownerAccountID: null, region: null };
  return { namespace, group, version, kind, name: null, labels: EMPTY, annotations: EMPTY, status };
}

const EMPTY: ReadonlyMap<string, string> = new Map();
