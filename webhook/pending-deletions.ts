/** The watch reports a deletion within milliseconds. A deletion that fails later has no effect after this time. */
const LIFETIME_MS = 5_000;

/**
 * The selectors whose deletion is allowed or under review, and that the inventory can still contain. If two selectors
 * are deleted together, as in a collection, neither review may count on the other selector. Each replica has its own
 * list.
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
