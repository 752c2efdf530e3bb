import { setImmediate as turn } from "node:timers/promises";
import type { SteadyClock } from "../../shared/inventory/clock.ts";

interface Task {
  readonly atMs: number;
  readonly run: () => void;
}

/** A clock that tests move. Tasks run in the order of their time, and what they start settles before the next. */
export class FakeClock implements SteadyClock {
  #steadyMs = 0;
  /** What the time of day is ahead of the steady time. */
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

  /** As when somebody sets the machine's clock: no time passes, and timers do not notice. */
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
    // What was started just before must have set its timers from now on, not from the end.
    await turn();
    for (let task = this.#next(endMs); task !== undefined; task = this.#next(endMs)) {
      this.#tasks.delete(task);
      this.#steadyMs = task.atMs;
      task.run();
      // Promises started by a task must settle in its own time, so one after another.
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
