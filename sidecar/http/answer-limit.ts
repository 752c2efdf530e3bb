import { ResolverError } from "../../shared/decisions/errors.ts";
import { type Clock, withTimeout } from "../../shared/inventory/clock.ts";

/** Java gives up on an answer after 1 s, so every one is on its way before 900 ms; the call of STS goes on and the next request finds it. */
const ANSWER_LIMIT_MS = 850;

/**
 * Settles as `work` does, or rejects with ERR_STS_UNAVAILABLE in time for the client to read it. The work itself goes on and may ask
 * `isLate` whether it is still waited for. It is not decided again after the wait, which is well within the 2 s that a withdrawn role may
 * still be given out.
 */
export function inTime<T>(clock: Clock, work: (isLate: () => boolean) => Promise<T>): Promise<T> {
  let late = false;
  return withTimeout(clock, ANSWER_LIMIT_MS, work(() => late), () => {
    late = true;
    return stillWaiting();
  });
}

function stillWaiting(): ResolverError {
  return new ResolverError("ERR_STS_UNAVAILABLE", `STS has not answered within ${ANSWER_LIMIT_MS} ms; its answer is waited for, ask again.`);
}
