import { ResolverError } from "../decisions/errors.ts";
import type { Paced } from "../decisions/paced.ts";

interface SliceOptions {
  /** The longest time to block the event loop, in ms. */
  readonly sliceMs: number;
  /** Milliseconds of a clock that never decreases. */
  readonly now: () => number;
  /** Resolves after other pending work has run, like `setImmediate` of node:timers/promises. */
  readonly pause: () => Promise<unknown>;
  /** Returns the time until the deadline of the result, in ms. */
  readonly remainingMs: () => number;
}

/** A slice ends early, because its last step and the garbage collector can exceed the limit. */
const SHARE_OF_SLICE = 0.5;

/**
 * Runs long work in slices, so that other requests are served in between. Rejects with ERR_REQUEST_DEADLINE after the
 * deadline: no partial result is returned.
 */
export async function runInSlices<Result>(
  steps: Paced<Result>, { sliceMs, now, pause, remainingMs }: SliceOptions,
): Promise<Result> {
  let startedMs = now();
  for (;;) {
    const step = steps.next();
    const isOver = now() - startedMs >= sliceMs * SHARE_OF_SLICE;
    if ((isOver || step.done === true) && remainingMs() <= 0) throw deadlineError();
    if (step.done === true) return step.value;
    if (!isOver) continue;
    // Slices are sequential.
    // oxlint-disable-next-line no-await-in-loop
    await pause();
    startedMs = now();
  }
}

function deadlineError(): ResolverError {
  return new ResolverError(
    "ERR_REQUEST_DEADLINE",
    "The change affects too many objects to check within the API server's timeout. Retry, or split the change.",
  );
}
