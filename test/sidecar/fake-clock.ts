import { setImmediate as turn } from "node:timers/promises";
import type { Clock } from "../../shared/inventory/clock.ts";

interface Task {
  readonly atMs: number;
  readonly run: () => void;
}

/** A clock that tests move. Tasks run in the order of their time, and what they start settles before the next. */
export class FakeClock implements Clock {
  #nowMs: number;
  readonly #tasks = new Set<Task>();

  constructor(startMs = Date.parse("2026-08-01T12:00:00Z")) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  schedule(delayMs: number, run: () => void): () => void {
    const task = { atMs: this.#nowMs + delayMs, run };
    this.#tasks.add(task);
    return () => void this.#tasks.delete(task);
  }

  get scheduled(): number {
    return this.#tasks.size;
  }

  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (let task = this.#next(endMs); task !== undefined; task = this.#next(endMs)) {
      this.#tasks.delete(task);
      this.#nowMs = task.atMs;
      task.run();
      // Promises started by a task must settle in its own time, so one after another.
      await turn();
    }
    this.#nowMs = endMs;
    await turn();
  }

  #next(endMs: number): Task | undefined {
    const due = [...this.#tasks].filter((task) => task.atMs <= endMs);
    return due.toSorted((a, b) => a.atMs - b.atMs)[0];
  }
}
