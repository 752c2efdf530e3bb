import { LIMITS } from "../contract/limits.ts";
import { deny, type Grant, type GrantScope } from "./grant.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { EffectiveSelector } from "../model/effective-selector.ts";
import type { TypeEntry } from "../model/resource-types.ts";

/**
 * Limits the steps of one decision, such as comparisons, so that a large inventory cannot block the sidecar for long.
 */
export class Steps {
  #left: number = LIMITS.grantSteps.value;

  /** Counts `number` steps. Throws if the decision takes more steps than the limit. */
  take(number = 1): void {
    this.#left -= number;
    if (this.#left < 0) throw new TooManySteps();
  }
}

class TooManySteps extends Error {}

/** Returns the result of `decide`, or a denial if the decision takes too many steps. */
export function withinSteps(decide: (steps: Steps) => Grant): Grant {
  try {
    return decide(new Steps());
  } catch (error) {
    if (error instanceof TooManySteps) return TOO_MANY_STEPS;
    throw error;
  }
}

const TOO_MANY_STEPS = deny(
  "ERR_SELECTOR_AMBIGUOUS",
  `The decision takes more than ${LIMITS.grantSteps.value} steps, because too many IAMRoleSelectors name the role or `
    + "select the same namespaces. Remove conflicting selectors, request one kind, or set --kind of the sidecar.",
);

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
