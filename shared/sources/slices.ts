import { ResolverError } from "../formats/errors.ts";
import type { Paced } from "../formats/paced.ts";

interface SliceOptions {
  /** The maximum time for which one slice blocks the event loop, in ms. */
  readonly sliceMs: number;
  /** Returns the time of a monotonic clock, in ms. */
  readonly now: () => number;
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
  steps: Paced<Result>, { sliceMs, now, remainingMs }: SliceOptions,
): IteratorResult<unknown, Result> {
  const endMs = now() + sliceMs * SHARE_OF_SLICE;
  for (;;) {
    const step = steps.next();
    const isOver = now() >= endMs;
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
