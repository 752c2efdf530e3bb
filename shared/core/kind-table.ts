import type { KindName } from "../formats/object-meta.ts";
import type { Kind, NamedKind } from "./kind.ts";

/** Finds the kind of an object. An object is of the first kind that matches. */
export interface KindTable {
  /** Returns the kind of an object, or null if no decision reads such objects. */
  readonly kindOf: (type: NamedKind) => Kind | null;
  /**
   * Returns the kind that the webhook reviews at the path, or null if it reviews no such object there. The name is null
   * if it is unknown, and then any name is possible.
   */
  readonly reviewedKind: (path: string, type: KindName & { readonly name: string | null }) => Kind | null;
}

interface Matcher {
  readonly kind: Kind;
  /** Null if the kind lists its types. */
  readonly matches: ((type: KindName) => boolean) | null;
}

export function kindTable(kinds: readonly Kind[]): KindTable {
  const matchers = kinds.map((kind): Matcher => (
    { kind, matches: typeof kind.types === "function" ? kind.types : null }
  ));
  const byPath = Map.groupBy(matchers, ({ kind }) => kind.path);
  const listed = listedKinds(kinds);
  const listedOf = ({ kind, group }: KindName): readonly Kind[] | undefined => listed.get(kind)?.get(group);
  return {
    kindOf(type) {
      const ofType = listedOf(type)
        ?? matchers.filter(({ matches }) => matches?.(type) === true).map(({ kind }) => kind);
      return ofType.find(({ names }) => names?.(type.name) !== false) ?? null;
    },
    reviewedKind(path, type) {
      const ofType = listedOf(type);
      const isOfType = ({ matches, kind }: Matcher): boolean => ofType?.includes(kind) ?? matches?.(type) === true;
      return byPath.get(path)?.find((matcher) => (
        isOfType(matcher) && (type.name === null || matcher.kind.names?.(type.name) !== false)
      ))?.kind ?? null;
    },
  };
}

/**
 * The kinds of each listed type, by kind and group: each review reads them, and a text of both would be made each time.
 * A type in a list is of no kind that has a function.
 */
function listedKinds(kinds: readonly Kind[]): ReadonlyMap<string, ReadonlyMap<string, readonly Kind[]>> {
  const listed = new Map<string, Map<string, Kind[]>>();
  for (const row of kinds) {
    if (typeof row.types === "function") continue;
    for (const type of row.types) {
      const [kind = "", ...group] = type.split(".");
      const byGroup = listed.get(kind) ?? new Map<string, Kind[]>();
      listed.set(kind, byGroup);
      byGroup.set(group.join("."), [...byGroup.get(group.join(".")) ?? [], row]);
    }
  }
  return listed;
}
