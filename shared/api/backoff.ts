/**
 * The limits of the random delay between attempts, in ms, as in client-go's reflector. The upper limit starts at 1.6 s,
 * and doubles after each failure up to 30 s.
 */
const MIN_MS = 800;
const FIRST_MAX_MS = 1_600;
const MAX_MS = 30_000;

/**
 * Calculates the delay between attempts. The delay is random, so that clients do not retry at the same time. Its upper
 * limit doubles after each failure.
 */
export class Backoff {
  readonly #random: () => number;
  #failures = 0;

  /** `random` must return a number from 0 (inclusive) to 1 (exclusive). */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** Returns the delay before the next attempt, in ms. The delay is at least `atLeastMs`. */
  next(atLeastMs = 0): number {
    const upper = Math.min(MAX_MS, FIRST_MAX_MS * 2 ** this.#failures);
    // A larger exponent has no effect, because MAX_MS limits the result.
    this.#failures = Math.min(this.#failures + 1, 10);
    return Math.max(atLeastMs, MIN_MS + Math.floor(this.#random() * (upper - MIN_MS)));
  }

  reset(): void {
    this.#failures = 0;
  }
}
