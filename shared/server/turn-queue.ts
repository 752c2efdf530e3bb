import { setImmediate as nextTurn } from "node:timers/promises";

interface PausedTask {
  /** The number of times that the task has paused. */
  readonly pauses: number;
  /** Returns the remaining time until the deadline of the task, in ms. */
  readonly remainingMs: () => number;
  readonly resume: () => void;
}

/**
 * Resumes one paused task in each turn of the event loop: the task that has paused least often, so that many long tasks
 * do not delay short tasks. In the same turn, also resumes every task whose deadline has passed, so that this task can
 * fail immediately.
 */
export class TurnQueue {
  /** Longest waiting first. */
  readonly #paused = new Set<PausedTask>();
  #isRunning = false;

  /** Resolves when the task may continue. */
  pause(pauses: number, remainingMs: () => number): Promise<void> {
    return new Promise((resume) => {
      this.#paused.add({ pauses, remainingMs, resume });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#paused.size > 0) {
      // Turns are sequential.
      // oxlint-disable-next-line no-await-in-loop
      await nextTurn();
      this.#resumeSome();
    }
    this.#isRunning = false;
  }

  #resumeSome(): void {
    let next: PausedTask | null = null;
    for (const task of this.#paused) {
      if (task.remainingMs() <= 0) this.#resume(task);
      else if (next === null || task.pauses < next.pauses) next = task;
    }
    if (next !== null) this.#resume(next);
  }

  #resume(task: PausedTask): void {
    this.#paused.delete(task);
    task.resume();
  }
}
