import { ResolverError } from "../decisions/errors.ts";
import type { Steps } from "../decisions/steps.ts";

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
 * nothing: the caller answers with an error, and never with what was found until then.
 */
export async function inSlices<Result>(steps: Steps<Result>, { sliceMs, now, pause, remainingMs }: SliceOptions): Promise<Result> {
  let startedMs = now();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (now() - startedMs < sliceMs * SHARE_OF_SLICE) continue;
    if (remainingMs() <= 0) {
      throw new ResolverError("ERR_REQUEST_DEADLINE", "the change concerns so many resources that the time for an answer was too short; try again, or make it in smaller steps");
    }
    // oxlint-disable-next-line no-await-in-loop -- the point of it: one slice after another, with turns for others in between
    await pause();
    startedMs = now();
  }
}
