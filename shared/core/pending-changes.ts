import type { EffectiveSelector } from "./effective-selector.ts";

/** Admitted changes of a kind that the inventory does not contain yet. A scan treats these changes as applied. */
export interface PendingChanges<T = EffectiveSelector> {
  /** The names of the deleted objects. */
  readonly deletions: ReadonlySet<string>;
  /** The created or updated objects, by name. */
  readonly writes: ReadonlyMap<string, T>;
}

export const NO_CHANGES: PendingChanges<never> = { deletions: new Set(), writes: new Map<string, never>() };
