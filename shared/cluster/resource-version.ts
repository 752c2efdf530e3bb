/** Whether resource version `a` is newer than `b`. Resource versions are decimal numbers without leading zeros. */
export function isNewer(a: string | null, b: string | null): boolean {
  if (a === null || b === null) return a !== null;
  return a.length === b.length ? a > b : a.length > b.length;
}

/** Returns the newest of the resource versions; null if there is none. */
export function newest(versions: readonly (string | null)[]): string | null {
  return versions.reduce((one, other) => (isNewer(other, one) ? other : one), null);
}
