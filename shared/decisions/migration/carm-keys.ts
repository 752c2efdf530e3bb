import { lookUpMaps, type MapAnswer } from "../carm/maps.ts";
import type { DecisionSettings } from "../context.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { knownGroups } from "../kubernetes/ack-groups.ts";
import type { ResourceQuery } from "../kubernetes/ack-resource.ts";
import { isACKGroup } from "../kubernetes/kinds.ts";
import { namespaceNameFaults } from "../kubernetes/names.ts";
import { compareText } from "../kubernetes/text.ts";

/** What a migration is worked out from. Selectors in the inventory are looked at by name alone. */
export interface MigrationInput {
  readonly inventory: Inventory;
  /** Whatever their mode. */
  readonly settings: DecisionSettings;
  /** Every ACK group there may be resources of, sorted. */
  readonly groups: readonly string[];
}

/** A key of the maps that namespaces name, with what the maps answer there: it depends on nothing but the group. */
export interface CARMKey {
  readonly via: MapAnswer["via"];
  readonly key: string;
  /** Sorted. */
  readonly namespaces: readonly string[];
  readonly answers: ReadonlyMap<string, MapAnswer>;
  /** The answer for a group without a key of its own. */
  readonly rest: MapAnswer;
}

/** A group that nobody knows: no key of a ConfigMap can hold the character, so none is of its service. */
export const UNKNOWN_GROUP = "*.services.k8s.aws";

/** The groups of this release, of the installed kinds, of the resources there are, and those given. */
export function groupsInQuestion(inventory: Inventory, extraGroups: readonly string[]): readonly string[] {
  const groups = new Set(knownGroups(extraGroups));
  for (const { group } of inventory.installedTypes()) groups.add(group);
  for (const { group } of inventory.resources.all()) groups.add(group);
  return [...groups].filter(isACKGroup).toSorted(compareText);
}

/** The keys in use, in the order of their maps and texts. A name that no namespace can have is left out. */
export function keysInUse({ inventory, settings, groups }: MigrationInput): readonly CARMKey[] {
  const byKey = new Map<string, { readonly rest: MapAnswer; readonly namespaces: [string, ...string[]] }>();
  for (const namespace of [...inventory.namespaceNames].toSorted(compareText)) {
    const rest = lookUpMaps(inventory, anyResource(namespace, UNKNOWN_GROUP), settings);
    if (rest === null || namespaceNameFaults(namespace).length > 0) continue;
    const id = `${rest.via}/${rest.key}`;
    const known = byKey.get(id);
    if (known === undefined) byKey.set(id, { rest, namespaces: [namespace] });
    else known.namespaces.push(namespace);
  }
  return [...byKey].toSorted(([a], [b]) => compareText(a, b)).map(([, { rest, namespaces }]) => {
    const answers = new Map<string, MapAnswer>();
    for (const group of groups) {
      const answer = lookUpMaps(inventory, anyResource(namespaces[0], group), settings);
      if (answer !== null) answers.set(group, answer);
    }
    return { via: rest.via, key: rest.key, namespaces, answers, rest };
  });
}

/** A resource that is not there yet, of a kind that nobody names unless `kind` does. */
export function anyResource(namespace: string, group: string, { version, kind } = { version: "", kind: "" }): ResourceQuery {
  return { namespace, group, version, kind, name: null, labels: NOTHING, annotations: NOTHING, status: { ownerAccountID: null, region: null } };
}

const NOTHING: ReadonlyMap<string, string> = new Map();
