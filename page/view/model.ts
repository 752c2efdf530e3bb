import type { MapNamespace, MapRole, Reason, RoleMap, Use } from "../../shared/role-map/role-map.ts";

/** A use with the records that it refers to. */
export interface KnownUse {
  readonly namespace: MapNamespace;
  /** The name of the kind; "other kinds" if the map does not tell it. */
  readonly kind: string;
  readonly reason: Reason;
  readonly role: MapRole | null;
  readonly count: number;
  readonly names: readonly string[];
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

  /** Returns what a search finds a use by, in lower case. */
  textOf(use: KnownUse): string {
    this.#texts ??= new Map(this.uses.map((one) => [one, this.searchText(one)]));
    return this.#texts.get(use) ?? "";
  }

  searchText({ namespace, kind, names, role, reason }: Omit<KnownUse, "count">): string {
    const selectors = reason.selectors.map((index) => this.map.selectors[index]?.name ?? "");
    const labels = namespace.labels.map(([key, value]) => `${key}=${value}`);
    return [namespace.name, ...labels, kind, ...names, role?.arn ?? "", ...selectors, ...reason.chain]
      .join("\n").toLowerCase();
  }
}

/** Whether the text, which is in lower case, contains each word of the query. */
export function matches(text: string, query: string): boolean {
  return query.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}
