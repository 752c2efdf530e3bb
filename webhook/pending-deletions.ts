/** The watch tells of a deletion within milliseconds; a deletion that did not come about holds up others for no longer than this. */
const LEAVING_MS = 5_000;

/**
 * The selectors whose deletion has been allowed, or is being judged, and that the inventory may still hold: of two that are deleted in
 * one breath, as with a whole collection, neither may rely on the other. It holds for this replica alone.
 */
export class PendingDeletions {
  readonly #untilMs = new Map<string, number>();
  readonly #monotonicMs: () => number;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  has(name: string): boolean {
    return (this.#untilMs.get(name) ?? -Infinity) > this.#monotonicMs();
  }

  add(name: string): void {
    const nowMs = this.#monotonicMs();
    for (const [other, untilMs] of this.#untilMs) if (untilMs <= nowMs) this.#untilMs.delete(other);
    this.#untilMs.set(name, nowMs + LEAVING_MS);
  }

  delete(name: string): void {
    this.#untilMs.delete(name);
  }
}
