import { setImmediate as turn } from "node:timers/promises";
import type { SteadyClock } from "../../shared/core/clock.ts";

interface Task {
  readonly atMs: number;
  readonly run: () => void;
}

/**
 * A clock that advances only when a test calls `advance`. The clock runs tasks in order of time. The promises of a task
 * settle before the next task runs.
 */
export class FakeClock implements SteadyClock {
  #steadyMs = 0;
  /** The offset of the wall clock from the steady clock. */
  #aheadMs: number;
  readonly #tasks = new Set<Task>();

  constructor(startMs = Date.parse("2026-08-01T12:00:00Z")) {
    this.#aheadMs = startMs;
  }

  now(): number {
    return this.#steadyMs + this.#aheadMs;
  }

  steady(): number {
    return this.#steadyMs;
  }

  /** Sets the wall clock forward or back. No time passes, and timers do not change. */
  jump(ms: number): void {
    this.#aheadMs += ms;
  }

  schedule(delayMs: number, run: () => void): () => void {
    const task = { atMs: this.#steadyMs + delayMs, run };
    this.#tasks.add(task);
    return () => void this.#tasks.delete(task);
  }

  get scheduled(): number {
    return this.#tasks.size;
  }

  async advance(ms: number): Promise<void> {
    const endMs = this.#steadyMs + ms;
    // Settles pending promises first, so that they schedule their timers relative to the current time and not to the
    // end of the period.
    await turn();
    for (let task = this.#next(endMs); task !== undefined; task = this.#next(endMs)) {
      this.#tasks.delete(task);
      this.#steadyMs = task.atMs;
      task.run();
      // Settles the promises of the task while the time is that of the task.
      await turn();
    }
    this.#steadyMs = endMs;
    await turn();
  }

  #next(endMs: number): Task | undefined {
    let next: Task | undefined;
    for (const task of this.#tasks) {
      if (task.atMs <= endMs && (next === undefined || task.atMs < next.atMs)) next = task;
    }
    return next;
  }
}

/**
 * Advances the clock until `holds` returns true. The STS emulator responds over real sockets, so the function waits for
 * a real response after each step.
 */
export async function moveUntil(
  holds: () => Promise<boolean>,
  { clock, stepMs, steps }: { clock: FakeClock; stepMs: number; steps: number },
): Promise<boolean> {
  for (let i = 0; i < steps; i++) {
    if (await holds()) return true;
    await clock.advance(stepMs);
  }
  return false;
}
