import type { MapNamespace, MapRole, Reason, RoleMap, State, Use } from "../../shared/diagnosis/role-map/role-map.ts";
import { shortKind } from "./words.ts";

/** What resources have before or after a change, or now. */
export interface Side {
  readonly reason: Reason;
  readonly role: MapRole | null;
}

/** A use with the records that it refers to. */
export interface KnownUse extends Side {
  readonly namespace: MapNamespace;
  /** The name of the kind; "other kinds" if the map does not tell it. */
  readonly kind: string;
  readonly count: number;
  readonly names: readonly string[];
}

/** Returns what marks a use: its state, or that a malformed selector is written for what no other selector selects. */
export function markOf({ reason: { state }, namespace }: Pick<KnownUse, "reason" | "namespace">): State {
  return state === "default" && namespace.ignored.length > 0 ? "malformed" : state;
}

/** A role map with the records of each use. */
export class Model {
  readonly map: RoleMap;
  readonly uses: readonly KnownUse[];
  /** In the order of the map; null for a reason without a use. */
  #texts: Map<KnownUse, string> | null = null;

  constructor(map: RoleMap) {
    this.map = map;
    this.uses = map.uses.flatMap((use) => this.#known(use) ?? []);
  }

  #known([namespace, kind, reason, count, names]: Use): KnownUse | null {
    const { namespaces, reasons } = this.map;
    const [found, why] = [namespaces[namespace], reasons[reason]];
    if (found === undefined || why === undefined) return null;
    return { namespace: found, kind: this.kindAt(kind), reason: why, role: this.roleAt(why.role), count, names };
  }

  kindAt(index: number): string {
    return this.map.kinds[index] ?? "other kinds";
  }

  roleAt(index: number | null): MapRole | null {
    return index === null ? null : this.map.roles[index] ?? null;
  }

  /** Returns the part of a use that a search finds; null if it finds nothing. */
  find(use: KnownUse, query: string): KnownUse | null {
    if (query === "") return use;
    this.#texts ??= new Map(this.uses.map((one) => [one, this.searchText(one.namespace, one.kind, [one])]));
    return foundPart(use, use.namespace, [this.#texts.get(use) ?? "", query]);
  }

  /** Returns what a search finds resources by besides their names: in a conflict, each role that they could have. */
  searchText({ name, labels }: Pick<MapNamespace, "name" | "labels">, kind: string, sides: readonly Side[]): string {
    const roles = sides.flatMap(({ reason, role }) => [
      role?.arn ?? "", ...reason.chain, ...reason.selectors.flatMap((index) => this.selectorTexts(index)),
    ]);
    return [name, ...labels.map(([key, value]) => `${key}=${value}`), kind, ...roles].join("\n");
  }

  /** Returns the name and the role of a selector. */
  selectorTexts(index: number): string[] {
    const { name = "", role = null } = this.map.selectors[index] ?? {};
    return [name, this.roleAt(role)?.arn ?? ""];
  }
}

/** Returns the words of a query that a text does not contain, in any case. */
function wordsNotIn(text: string, query: string): string[] {
  const lower = text.toLowerCase();
  return query.toLowerCase().split(/\s+/).filter((word) => !lower.includes(word));
}

/** Whether the texts contain each word of the query. */
export function matches(texts: readonly string[], query: string): boolean {
  return wordsNotIn(texts.join("\n"), query).length === 0;
}

/**
 * Returns all of a record whose text contains each word of the query, or else the part with the resources whose names
 * contain the other words, such as `ledger`, `team-a/ledger` or `Bucket/ledger`; null if no name does.
 */
export function foundPart<Part extends Pick<KnownUse, "kind" | "count" | "names">>(
  part: Part, namespace: Pick<MapNamespace, "name">, [text, query]: readonly [text: string, query: string],
): Part | null {
  const words = wordsNotIn(text, query).join(" ");
  if (words === "") return part;
  const names = part.names.filter((name) => (
    matches([`${namespace.name}/${name}`, `${shortKind(part.kind)}/${name}`], words)
  ));
  return names.length === 0 ? null : { ...part, names, count: names.length };
}
