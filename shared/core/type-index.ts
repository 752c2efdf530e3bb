import { nearestGroups, serviceOf } from "./ack-groups.ts";
import { isMisspelled, NameIndex, shortestOf } from "../formats/nearest.ts";
import { compareText } from "../formats/text.ts";
import type { TypeEntry } from "./resource-types.ts";

const NONE: ReadonlySet<string> = new Set();
const NO_NAMES = new NameIndex([]);

/** An index of ACK kinds, for entries of selectors: an empty group or kind of a lookup means any. */
export class TypeIndex {
  /** The versions by group and kind, where "" means any. */
  readonly #versions = new Map<string, Map<string, Set<string>>>();
  readonly #kinds = new Map<string, NameIndex>();
  #services: NameIndex | null = null;

  constructor(types: Iterable<TypeEntry>) {
    for (const type of types) {
      for (const group of [type.group, ""]) {
        const kinds = this.#versions.get(group) ?? new Map<string, Set<string>>();
        this.#versions.set(group, kinds);
        for (const kind of [type.kind, ""]) kinds.set(kind, (kinds.get(kind) ?? new Set()).add(type.version));
      }
    }
  }

  /** Whether a type has every part of the entry. An empty part matches any. */
  has({ group, version, kind }: TypeEntry): boolean {
    const versions = this.#versions.get(group)?.get(kind);
    return versions !== undefined && (version === "" || versions.has(version));
  }

  hasGroup(group: string): boolean {
    return this.#versions.has(group);
  }

  nearestGroups(group: string): readonly string[] {
    this.#services ??= new NameIndex(namesIn(this.#versions).map(serviceOf));
    return nearestGroups(group, this.#services);
  }

  kindsOf(group: string): NameIndex {
    const kinds = this.#versions.get(group);
    if (kinds === undefined) return NO_NAMES;
    const names = this.#kinds.get(group) ?? new NameIndex(namesIn(kinds));
    this.#kinds.set(group, names);
    return names;
  }

  versionsOf(group: string, kind: string): ReadonlySet<string> {
    return this.#versions.get(group)?.get(kind) ?? NONE;
  }
}

/** Returns the keys without "", which stands for any. */
function namesIn(map: ReadonlyMap<string, unknown>): string[] {
  return [...map.keys()].filter((name) => name !== "");
}

/** A part of an entry that no known type has. */
export interface UnknownPart {
  readonly part: keyof TypeEntry;
  /** The known values that the entry probably means. */
  readonly nearest: readonly string[];
  /** The known value that starts with the text, if none is near. It is not similar enough to be meant for sure. */
  readonly started: string | null;
}

/**
 * Returns the first part of the entry (group, kind or version) that no type of the indexes has together with the parts
 * before; null if a type has every part.
 */
export function unknownPart({ group, version, kind }: TypeEntry, indexes: readonly TypeIndex[]): UnknownPart | null {
  if (indexes.some((index) => index.has({ group, version, kind }))) return null;
  const unique = (names: (index: TypeIndex) => Iterable<string>): string[] => (
    [...new Set(indexes.flatMap((index) => [...names(index)]))].toSorted(compareText)
  );
  if (group !== "" && !indexes.some((index) => index.hasGroup(group))) {
    return { part: "group", nearest: unique((index) => index.nearestGroups(group)), started: null };
  }
  if (kind !== "" && !indexes.some((index) => index.kindsOf(group).has(kind))) {
    const nearest = unique((index) => index.kindsOf(group).nearest(kind));
    const starting = nearest.length > 0 ? [] : unique((index) => index.kindsOf(group).startingWith(kind));
    return { part: "kind", nearest, started: shortestOf(starting) };
  }
  const versions = unique((index) => index.versionsOf(group, kind));
  return { part: "version", nearest: versions.filter((one) => meansVersion(version, one)), started: null };
}

/** Returns whether the text means the version. Most kinds of Kubernetes have a version `v1`, so it means `v1alpha1`. */
function meansVersion(text: string, version: string): boolean {
  return isMisspelled(text, version) || version.startsWith(text);
}
