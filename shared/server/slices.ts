import { ResolverError } from "../decisions/errors.ts";
import type { Steps } from "../decisions/paced.ts";

export interface SliceOptions {
  /** The most that the event loop is held at a time, in ms. */
  readonly sliceMs: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Resolves after all else that is waiting had its turn, as `setImmediate` of node:timers/promises does. */
  readonly pause: () => Promise<unknown>;
  /** How long the result may still take, in ms. */
  readonly remainingMs: () => number;
}

/** A slice is over well before it must be: the last step, and what the collector does in between, come on top. */
const SHARE_OF_SLICE = 0.5;

/**
 * Does a long piece of work slice by slice. Rejects with ERR_REQUEST_DEADLINE when the time runs out, since half of a look proves
 * nothing and a late answer reaches nobody: the caller answers with an error, and never with what was found until then.
 */
export async function inSlices<Result>(steps: Steps<Result>, { sliceMs, now, pause, remainingMs }: SliceOptions): Promise<Result> {
  let startedMs = now();
  for (;;) {
    const step = steps.next();
    const isOver = now() - startedMs >= sliceMs * SHARE_OF_SLICE;
    if ((isOver || step.done === true) && remainingMs() <= 0) throw tooLate();
    if (step.done === true) return step.value;
    if (!isOver) continue;
    // oxlint-disable-next-line no-await-in-loop -- the point of it: one slice after another, with turns for others in between
    await pause();
    startedMs = now();
  }
}

function tooLate(): ResolverError {
  return new ResolverError("ERR_REQUEST_DEADLINE", "the time for an answer was too short for all that the change concerns; try again, or make it in smaller steps");
}
