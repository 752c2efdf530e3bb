import type { EffectiveSelector } from "./effective-selector.ts";

/** Admitted changes of a kind that the inventory does not contain yet. A scan treats these changes as applied. */
export interface PendingChanges<T = EffectiveSelector> {
  /** The names of the deleted objects. */
  readonly deletions: ReadonlySet<string>;
  /** The created or updated objects, by name. */
  readonly writes: ReadonlyMap<string, T>;
}

export const NO_CHANGES: PendingChanges<never> = { deletions: new Set(), writes: new Map<string, never>() };

/** A change of an object. The value is null if the object is deleted or has no effect. */
export interface NamedChange<T> {
  readonly name: string;
  readonly value: T | null;
}

/**
 * Returns the states that the objects can have when the API server stores the changes. If several changes of one object
 * are pending, each of them is in one of the states. `stored` are changes that are certain.
 */
export function possibleStates<T>(
  writes: readonly NamedChange<T>[], stored: PendingChanges<T> = NO_CHANGES,
): readonly PendingChanges<T>[] {
  const versions = [...Map.groupBy(writes, ({ name }) => name).values()];
  const length = Math.max(0, ...versions.map((ofObject) => ofObject.length));
  return Array.from({ length }, (_, i) => (
    stateOf(versions.flatMap((ofObject) => ofObject.slice(0, i + 1).slice(-1)), stored)
  ));
}

/** Returns the state in which the changes, each of which has a different name, are stored. */
function stateOf<T>(latest: readonly NamedChange<T>[], stored: PendingChanges<T>): PendingChanges<T> {
  const deletions = new Set(stored.deletions);
  const writes = new Map(stored.writes);
  for (const { name, value } of latest) {
    if (value === null) deletions.add(name);
    if (value === null) writes.delete(name);
    else writes.set(name, value);
  }
  return { deletions, writes };
}
