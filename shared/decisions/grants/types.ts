import type { Inventory } from "../inventory/inventory.ts";
import type { EffectiveSelector } from "../selectors/effective.ts";
import type { TypeEntry } from "../selectors/type-entry.ts";
import type { GrantScope } from "./grant.ts";
import type { Steps } from "./steps.ts";

/**
 * Yields the requested types that can resolve to different roles. In a type, "" stands for a kind or version that no
 * selector names.
 */
export function* candidateTypes(
  inventory: Inventory, scope: GrantScope, selectorsOf: (group: string) => Iterable<EffectiveSelector>,
): Iterable<TypeEntry> {
  for (const group of scope.groups) {
    const named = namedVersions(group, selectorsOf(group));
    for (const kind of requestedKinds(inventory, group, scope, new Set(["", ...named.keys()]))) {
      yield* typesOf(kind, new Set(["", ...named.get(kind.kind) ?? [], ...named.get("") ?? []]));
    }
  }
}

/**
 * Returns the versions that the type entries of the selectors name for each kind. The key "" is for entries that match
 * any kind.
 */
function namedVersions(group: string, selectors: Iterable<EffectiveSelector>): Map<string, Set<string>> {
  const named = new Map<string, Set<string>>();
  for (const { types } of selectors) {
    for (const { group: entryGroup, kind, version } of types?.entries ?? []) {
      if (entryGroup !== "" && entryGroup !== group) continue;
      named.set(kind, (named.get(kind) ?? new Set<string>()).add(version));
    }
  }
  return named;
}

/**
 * Yields the least specific types that the selector selects. Callers need not try more specific types: a selector that
 * conflicts for a type also conflicts for every more specific type.
 */
export function* selectedTypes(
  inventory: Inventory, { types }: EffectiveSelector, scope: GrantScope, steps: Steps,
): Iterable<TypeEntry> {
  for (const group of scope.groups) {
    steps.take(types?.entries.length);
    for (const kind of requestedKinds(inventory, group, scope, types?.kindsOf(group) ?? ANY)) {
      const ofKind = typesOf(kind, types?.versionsOf(group, kind.kind) ?? ANY);
      steps.take(ofKind.length);
      yield* types === null ? ofKind : ofKind.filter((type) => types.matches(type));
    }
  }
}

const ANY: ReadonlySet<string> = new Set([""]);

interface RequestedKind {
  readonly group: string;
  readonly kind: string;
  /**
   * The storage version, which controllers compare. If it is unknown, this is the requested version, or null if the
   * request has no version.
   */
  readonly version: string | null;
}

/** Returns the requested kinds of a group, or `all` if no kind is requested. */
function requestedKinds(
  inventory: Inventory, group: string, { kinds }: GrantScope, all: ReadonlySet<string>,
): RequestedKind[] {
  const requested = kinds.length === 0
    ? Array.from(all, (kind) => ({ kind, version: null }))
    : kinds.filter((kind) => kind.group === null || kind.group === group);
  return requested.map(({ kind, version }) => (
    { group, kind, version: inventory.kinds.versions(group, kind)?.storage ?? version }
  ));
}

/** Returns the kind in its version, or in each of `versions` if its version is unknown. */
function typesOf({ group, kind, version }: RequestedKind, versions: ReadonlySet<string>): TypeEntry[] {
  return version === null
    ? Array.from(versions, (candidate) => ({ group, kind, version: candidate }))
    : [{ group, kind, version }];
}

/**
 * Returns the text of a type for a message. If `versioned` contains `KIND.GROUP`, the text of this kind without a
 * version is `any other version of KIND.GROUP`.
 */
export function describeType({ group, version, kind }: TypeEntry, versioned: ReadonlySet<string>): string {
  const qualified = version === "" ? group : `${version}.${group}`;
  if (kind === "") return `any other kind of ${qualified}`;
  const prefix = version === "" && versioned.has(`${kind}.${group}`) ? "any other version of " : "";
  return `${prefix}${kind}.${qualified}`;
}
