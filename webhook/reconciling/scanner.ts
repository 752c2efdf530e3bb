import type { SteadyClock } from "../../shared/core/clock.ts";
import type { Paced } from "../../shared/formats/paced.ts";
import { runInSlices, type TurnQueue } from "../../shared/sources/slices.ts";

/** The maximum time for which a scan blocks the event loop, in ms. */
const SLICE_MS = 10;
const UNLIMITED = (): number => Infinity;
/** The time between two scans without a change, in ms. */
const INTERVAL_MS = 60_000;
/** The minimum time between two scans after an urgent change, and after another change, in ms. */
const AFTER_URGENT_MS = 1_000;
const AFTER_CHANGE_MS = 5_000;
/** The minimum time between two scans as a multiple of the duration of a scan, so that scans use little CPU time. */
const URGENT_PAUSE = 4;
const CHANGE_PAUSE = 20;

interface ScannerOptions {
  readonly clock: Pick<SteadyClock, "steady">;
  /** Returns a number that changes with the objects whose changes are urgent, such as selectors. */
  readonly revision: () => number;
  /** The paused reviews. A scan pauses between them. */
  readonly turns: TurnQueue;
}

/** Scans the inventory in the background: after changes, and at least once a minute. */
export class Scanner {
  readonly #options: ScannerOptions;
  #isChanged = true;
  #revision: number | null = null;
  /** The steady time of the end of the last scan, and its duration, in ms; null before the first scan. */
  #last: { readonly endMs: number; readonly durationMs: number } | null = null;

  constructor(options: ScannerOptions) {
    this.#options = options;
  }

  /** Records that an object may have changed, whose change is not urgent. */
  changed(): void {
    this.#isChanged = true;
  }

  /** Makes a scan due immediately. */
  reset(): void {
    this.#last = null;
  }

  get isDue(): boolean {
    const { clock } = this.#options;
    return this.#last === null || clock.steady() - this.#last.endMs >= Math.min(INTERVAL_MS, this.#delayMs());
  }

  #delayMs(): number {
    const durationMs = this.#last?.durationMs ?? 0;
    if (this.#options.revision() !== this.#revision) return Math.max(AFTER_URGENT_MS, durationMs * URGENT_PAUSE);
    return this.#isChanged ? Math.max(AFTER_CHANGE_MS, durationMs * CHANGE_PAUSE) : INTERVAL_MS;
  }

  /** Runs the scan in slices without a deadline, between the reviews. Returns the result of the scan. */
  async scan<T>(steps: Paced<T>): Promise<T> {
    const { clock, revision, turns } = this.#options;
    const startMs = clock.steady();
    this.#isChanged = false;
    this.#revision = revision();
    const result = await runInSlices(steps, {
      sliceMs: SLICE_MS, clock, remainingMs: UNLIMITED,
      pause: (pauses) => turns.pause(pauses, UNLIMITED),
    });
    const endMs = clock.steady();
    this.#last = { endMs, durationMs: endMs - startMs };
    return result;
  }
}
