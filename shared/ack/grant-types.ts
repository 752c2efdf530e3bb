import { LIMITS } from "../core/limits.ts";
import { deny, type Grant, type GrantScope } from "../core/grant.ts";
import type { Inventory } from "../core/inventory.ts";
import type { EffectiveSelector } from "../core/effective-selector.ts";
import type { TypeEntry } from "../core/resource-types.ts";

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
    for (const kind of existingKinds(inventory, group, scope, types?.kindsOf(group) ?? ANY)) {
      const ofKind = typesOf(kind, types?.versionsOf(group, kind.kind) ?? ANY);
      steps.take(ofKind.length);
      yield* types === null ? ofKind : ofKind.filter((type) => types.matches(type));
    }
  }
}

const ANY: ReadonlySet<string> = new Set([""]);

/**
 * Returns the kinds of the group of which objects can exist; null if they are not known. Only the definitions of a
 * cluster exclude a kind: manifests may lack some, and the kinds that this release knows never decide.
 */
function servedKinds({ origin, kinds }: Inventory, group: string): ReadonlySet<string> | null {
  return origin === "cluster" ? kinds.servedKinds(group) : null;
}

/** Returns the requested kinds of a group of which objects can exist. */
function existingKinds(
  inventory: Inventory, group: string, scope: GrantScope, named: ReadonlySet<string>,
): RequestedKind[] {
  // With "", the selector selects every kind. If these are known, no other kind exists.
  const all = named.has("") ? servedKinds(inventory, group) ?? named : named;
  return requestedKinds(inventory, group, scope, all).filter(({ kind }) => !isMissingKind(inventory, group, kind));
}

function isMissingKind(inventory: Inventory, group: string, kind: string): boolean {
  return servedKinds(inventory, group)?.has(kind) === false;
}

/** Returns a kind that the selector selects, and of which no object can exist; null if it names none. */
export function missingKindOf(
  inventory: Inventory, { types }: EffectiveSelector, { groups }: GrantScope,
): Pick<TypeEntry, "group" | "kind"> | null {
  for (const entry of types?.entries ?? []) {
    const group = groups.find((one) => (
      (entry.group === "" || entry.group === one) && isMissingKind(inventory, one, entry.kind)
    ));
    if (entry.kind !== "" && group !== undefined) return { group, kind: entry.kind };
  }
  return null;
}

/** Whether kinds are requested, and no object of any of them can exist. */
export function lacksRequestedKinds(inventory: Inventory, { groups, kinds }: GrantScope): boolean {
  return kinds.length > 0 && kinds.every(({ group, kind }) => (
    (group === null ? groups : [group]).every((one) => isMissingKind(inventory, one, kind))
  ));
}

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
