import {
  type ResourceScope, type ResourceState, scanResources,
} from "../../shared/decisions/resolution/stale-resources.ts";
import { type BackgroundPorts, runInBackground } from "./background.ts";

interface ScannerOptions extends BackgroundPorts {
  readonly scope: ResourceScope;
}

/** The time between two scans without a change, in ms. */
const INTERVAL_MS = 60_000;
/** The minimum time between two scans after a change of a selector, and after another change, in ms. */
const AFTER_SELECTOR_MS = 1_000;
const AFTER_CHANGE_MS = 10_000;
/** The minimum time between two scans as a multiple of the duration of a scan, so that scans use little CPU time. */
const SELECTOR_PAUSE = 4;
const CHANGE_PAUSE = 20;

/** Compares the annotations of all resources with their resolution, after changes and at least once a minute. */
export class Scanner {
  readonly #options: ScannerOptions;
  #isChanged = true;
  #revision: number | null = null;
  /** The steady time of the end of the last scan, and its duration, in ms; null before the first scan. */
  #last: { readonly endMs: number; readonly durationMs: number } | null = null;

  constructor(options: ScannerOptions) {
    this.#options = options;
  }

  /** Records that the inventory may have changed. */
  changed(): void {
    this.#isChanged = true;
  }

  /** Makes a scan due immediately. */
  reset(): void {
    this.#last = null;
  }

  get isDue(): boolean {
    const { clock, scope: { inventory } } = this.#options;
    if (this.#last === null) return true;
    const { endMs, durationMs } = this.#last;
    const delayMs = inventory.selectors.revision !== this.#revision
      ? Math.max(AFTER_SELECTOR_MS, durationMs * SELECTOR_PAUSE)
      : Math.max(AFTER_CHANGE_MS, durationMs * CHANGE_PAUSE);
    return clock.steady() - endMs >= (this.#isChanged ? Math.min(delayMs, INTERVAL_MS) : INTERVAL_MS);
  }

  /**
   * Visits the state of each resource, in slices. Stops if `visit` returns false. Returns whether all resources were
   * visited.
   */
  async scan(visit: (state: ResourceState) => boolean): Promise<boolean> {
    const { clock, scope, turns } = this.#options;
    const startMs = clock.steady();
    this.#isChanged = false;
    this.#revision = scope.inventory.selectors.revision;
    const isComplete = await runInBackground(scanResources(scope, visit), { clock, turns });
    const endMs = clock.steady();
    this.#last = { endMs, durationMs: endMs - startMs };
    return isComplete;
  }
}
