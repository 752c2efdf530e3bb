import type { SteadyClock } from "../../shared/core/clock.ts";

interface Timer {
  readonly atMs: number;
  readonly delayMs: number;
  readonly run: () => void;
}

/** A clock that advances only when a test calls `advance`. */
export class FakeClock implements SteadyClock {
  #steadyMs = 0;
  /** The offset of the wall clock from the steady clock. */
  #aheadMs = Date.parse("2026-01-01T00:00:00Z");
  readonly #timers = new Set<Timer>();
  readonly #waiting = new Set<() => void>();

  now(): number {
    return this.#steadyMs + this.#aheadMs;
  }

  steady(): number {
    return this.#steadyMs;
  }

  /** Sets the wall clock forward or back. No time passes. */
  setWallClock(byMs: number): void {
    this.#aheadMs += byMs;
  }

  schedule(delayMs: number, run: () => void): () => void {
    const timer = { atMs: this.#steadyMs + delayMs, delayMs, run };
    this.#timers.add(timer);
    for (const check of this.#waiting) check();
    return () => void this.#timers.delete(timer);
  }

  /** The delays of the pending timers in ms, shortest first. */
  get delays(): number[] {
    return [...this.#timers].map(({ delayMs }) => delayMs).toSorted((a, b) => a - b);
  }

  /** Runs the timers that are due within `ms`, in order. */
  advance(ms: number): void {
    const endMs = this.#steadyMs + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ atMs }) => atMs <= endMs).toSorted((a, b) => a.atMs - b.atMs);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#steadyMs = Math.max(this.#steadyMs, next.atMs);
      next.run();
    }
    this.#steadyMs = endMs;
  }

  /** Advances the time as for a process that was paused: all timers that are due run after the pause. */
  jump(ms: number): void {
    this.#steadyMs += ms;
    this.advance(0);
  }

  /** Waits until `matches` returns true for a pending delay, and resolves to the shortest such delay. */
  async scheduled(matches: (delayMs: number) => boolean): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    const check = (): void => {
      const found = this.delays.find(matches);
      if (found !== undefined) resolve(found);
    };
    this.#waiting.add(check);
    check();
    const delayMs = await promise;
    this.#waiting.delete(check);
    return delayMs;
  }
}
