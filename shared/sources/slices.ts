import { setImmediate as nextTurn } from "node:timers/promises";
import type { SteadyClock } from "../core/clock.ts";
import { ResolverError } from "../formats/errors.ts";
import type { Paced } from "../formats/paced.ts";

interface SliceOptions {
  /** The maximum time for which one slice blocks the event loop, in ms. */
  readonly sliceMs: number;
  readonly clock: Pick<SteadyClock, "steady">;
  /** Yields to the event loop. `pauses` is the number of times that the work has already paused. */
  readonly pause: (pauses: number) => Promise<unknown>;
  /** Returns the remaining time until the deadline, in ms. */
  readonly remainingMs: () => number;
}

/**
 * The fraction of `sliceMs` after which a slice starts no further step. The rest of `sliceMs` is for the last step and
 * the garbage collector.
 */
const SHARE_OF_SLICE = 0.5;

/**
 * Runs work in slices, so that the event loop can serve other requests between slices. Returns a promise only if the
 * work does not end in its first slice. Throws ERR_REQUEST_DEADLINE if the deadline passes. Never returns a partial
 * result.
 */
export function runInSlices<Result>(steps: Paced<Result>, options: SliceOptions): Result | Promise<Result> {
  const first = runSlice(steps, options);
  return first.done === true ? first.value : runFurtherSlices(steps, options);
}

async function runFurtherSlices<Result>(steps: Paced<Result>, options: SliceOptions): Promise<Result> {
  for (let pauses = 0; ; pauses++) {
    // Slices are sequential.
    // oxlint-disable-next-line no-await-in-loop
    await options.pause(pauses);
    const step = runSlice(steps, options);
    if (step.done === true) return step.value;
  }
}

/** Runs steps until the time of a slice is over. Returns the last step. */
function runSlice<Result>(
  steps: Paced<Result>, { sliceMs, clock, remainingMs }: SliceOptions,
): IteratorResult<unknown, Result> {
  const endMs = clock.steady() + sliceMs * SHARE_OF_SLICE;
  for (;;) {
    const step = steps.next();
    const isOver = clock.steady() >= endMs;
    if ((isOver || step.done === true) && remainingMs() <= 0) throw deadlineError();
    if (isOver || step.done === true) return step;
  }
}

function deadlineError(): ResolverError {
  return new ResolverError(
    "ERR_REQUEST_DEADLINE",
    "The change affects too many objects to check within the API server's timeout. Retry, or split the change.",
  );
}

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
