import { entryMatches, type TypeEntry } from "./type-entry.ts";

/**
 * The maximum number of entries that are compared one by one. Up to this number, a comparison is faster than an index
 * and needs no memory.
 */
const MAX_UNINDEXED = 8;

type KindIndex = Map<string, Set<string>>;

const NONE: ReadonlySet<string> = new Set();

/** The entries of a `resourceTypeSelector`. The time of a lookup does not depend on the number of entries. */
export class TypeSet {
  readonly entries: readonly TypeEntry[];
  /** The groups that the entries name. The set contains "" if an entry matches any group. */
  readonly groups: ReadonlySet<string>;
  /** The versions of the entries by group and kind, where "" means any. The index is null until the first lookup. */
  #index: Map<string, KindIndex> | null = null;

  constructor(entries: readonly TypeEntry[]) {
    this.entries = entries;
    this.groups = new Set(entries.map(({ group }) => group));
  }

  /** Whether an entry matches the type. An empty field of the type means a value that no entry names. */
  matches(type: TypeEntry): boolean {
    if (this.entries.length <= MAX_UNINDEXED) return this.entries.some((entry) => entryMatches(entry, type));
    for (const versions of this.#versionSets(type.group, type.kind)) {
      if (versions.has("") || versions.has(type.version)) return true;
    }
    return false;
  }

  /** Whether an entry can match a kind of the group. */
  coversGroup(group: string): boolean {
    return this.groups.has("") || this.groups.has(group);
  }

  /**
   * Returns the kinds of the entries that match the group. The result contains "" if one of these entries matches any
   * kind.
   */
  kindsOf(group: string): ReadonlySet<string> {
    return new Set(this.#kindIndexes(group).flatMap((kinds) => [...kinds.keys()]));
  }

  /**
   * Returns the versions of the entries that match the kind. The result contains "" if one of these entries matches any
   * version.
   */
  versionsOf(group: string, kind: string): ReadonlySet<string> {
    return new Set([...this.#versionSets(group, kind)].flatMap((versions) => [...versions]));
  }

  /** Yields the versions of the entries that match the kind. */
  *#versionSets(group: string, kind: string): Iterable<ReadonlySet<string>> {
    for (const kinds of this.#kindIndexes(group)) {
      yield kinds.get(kind) ?? NONE;
      yield kinds.get("") ?? NONE;
    }
  }

  #kindIndexes(group: string): KindIndex[] {
    const index = (this.#index ??= indexOf(this.entries));
    const kinds = group === "" ? [index.get("")] : [index.get(group), index.get("")];
    return kinds.filter((one) => one !== undefined);
  }
}

function indexOf(entries: readonly TypeEntry[]): Map<string, KindIndex> {
  const index = new Map<string, KindIndex>();
  for (const { group, version, kind } of entries) {
    const kinds = index.get(group) ?? new Map<string, Set<string>>();
    const versions = kinds.get(kind) ?? new Set<string>();
    index.set(group, kinds.set(kind, versions.add(version)));
  }
  return index;
}
