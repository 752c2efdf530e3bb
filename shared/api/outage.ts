import { sleep } from "../core/clock.ts";
import type { ClusterPorts } from "./api.ts";
import { sendRequest } from "./send-request.ts";

/** The time between probes: a random time from 1 to 2 s in the first two minutes of an outage, then from 5 to 10 s. */
const INTERVAL_MS = 1_000;
const LONG_OUTAGE_MS = 120_000;
const LONG_INTERVAL_MS = 5_000;
const PROBE_MS = 2_000;

/**
 * Detects the end of an outage of the API server, so that reflectors need not wait for their next attempt. After a
 * reflector has reported an outage, one probe for all reflectors of the source requests `/readyz` until the API server
 * is ready. By default, every authenticated user may read `/readyz`.
 */
export class Outage {
  readonly #options: ClusterPorts;
  readonly #listeners = new Set<() => void>();
  readonly #stopping = new AbortController();
  #probing: Promise<void> | null = null;

  constructor(options: ClusterPorts) {
    this.#options = options;
  }

  /** Calls `listener` when an outage ends. Returns a function that removes the listener. */
  onEnd(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Starts the probe, unless the probe is already running. */
  report(): void {
    if (this.#stopping.signal.aborted) return;
    this.#probing ??= this.#probe().finally(() => (this.#probing = null));
  }

  /** Resolves when the probe has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#probing;
  }

  async #probe(): Promise<void> {
    const { signal } = this.#stopping;
    const { clock } = this.#options;
    const startMs = clock.steady();
    let hasFailed = false;
    while (!signal.aborted) {
      // Probes are sequential.
      // oxlint-disable-next-line no-await-in-loop
      await sleep(clock, this.#intervalMs(clock.steady() - startMs), signal);
      if (signal.aborted) return;
      // oxlint-disable-next-line no-await-in-loop
      if (await this.#isReady()) break;
      hasFailed = true;
    }
    // If the first probe succeeds, the API server is reachable, and only some connections failed. The reflectors then
    // retry with their own delays.
    if (hasFailed && !signal.aborted) for (const listener of this.#listeners) listener();
  }

  #intervalMs(outageMs: number): number {
    const shortest = outageMs < LONG_OUTAGE_MS ? INTERVAL_MS : LONG_INTERVAL_MS;
    return shortest + Math.floor(this.#options.random() * shortest);
  }

  /**
   * Returns whether the API server is ready. Returns true for status 401, 403 or 404 too: the API server responds,
   * although it does not let this user read `/readyz`.
   */
  async #isReady(): Promise<boolean> {
    try {
      const limits = { timeoutMs: PROBE_MS, signal: this.#stopping.signal };
      const { status } = await sendRequest(this.#options, { path: "/readyz" }, limits);
      return status < 500 && status !== 429;
    } catch {
      return false;
    }
  }
}
