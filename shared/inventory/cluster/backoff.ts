/**
 * The delays of client-go's reflector: 0.8 s to 30 s. The upper bound of the random delay doubles with each failure.
 */
const MIN_MS = 800;
const FIRST_MAX_MS = 1_600;
const MAX_MS = 30_000;

/** Random, exponentially growing delays between attempts, so that clients do not retry at the same time. */
export class Backoff {
  readonly #random: () => number;
  #failures = 0;

  /** `random` returns a number from 0 (inclusive) to 1 (exclusive). */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** Returns the delay before the next attempt in ms, at least `atLeastMs`. */
  next(atLeastMs = 0): number {
    const upper = Math.min(MAX_MS, FIRST_MAX_MS * 2 ** this.#failures);
    // 2 ** n must not overflow.
    this.#failures = Math.min(this.#failures + 1, 10);
    return Math.max(atLeastMs, MIN_MS + Math.floor(this.#random() * (upper - MIN_MS)));
  }

  reset(): void {
    this.#failures = 0;
  }
}
