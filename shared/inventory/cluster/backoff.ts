/** The first delay is between these two; the upper one doubles with each failure. As client-go's reflector: 0.8 s to 30 s. */
const MIN_MS = 800;
const FIRST_MAX_MS = 1_600;
const MAX_MS = 30_000;

/** Delays between attempts, spread at random so that clients that lost one server do not come back to it together. */
export class BackOff {
  readonly #random: () => number;
  #failures = 0;

  /** `random` gives numbers from 0 to 1, 1 excluded. */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** The delay in ms before the next attempt; `atLeastMs` is what the server asked for. */
  next(atLeastMs = 0): number {
    const upper = Math.min(MAX_MS, FIRST_MAX_MS * 2 ** this.#failures);
    // Past the cap it need not be counted on, and 2 ** n must not overflow.
    this.#failures = Math.min(this.#failures + 1, 10);
    return Math.max(atLeastMs, MIN_MS + Math.floor(this.#random() * (upper - MIN_MS)));
  }

  reset(): void {
    this.#failures = 0;
  }
}
