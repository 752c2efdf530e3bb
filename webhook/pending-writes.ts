/**
 * How long a deletion is pending, in ms. The watch reports a successful deletion within milliseconds. A deletion that
 * fails after the review is pending until this time has passed.
 */
const LIFETIME_MS = 5_000;

/**
 * The selectors whose deletion is allowed or under review, but that the inventory can still contain. If two selectors
 * are deleted together, neither review may assume that the other selector remains. Each replica has its own list.
 */
export class PendingDeletions {
  readonly #expiresMs = new Map<string, number>();
  readonly #monotonicMs: () => number;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  has(name: string): boolean {
    return (this.#expiresMs.get(name) ?? -Infinity) > this.#monotonicMs();
  }

  add(name: string): void {
    const nowMs = this.#monotonicMs();
    for (const [other, expiresMs] of this.#expiresMs) {
      if (expiresMs <= nowMs) this.#expiresMs.delete(other);
    }
    this.#expiresMs.set(name, nowMs + LIFETIME_MS);
  }

  delete(name: string): void {
    this.#expiresMs.delete(name);
  }
}
