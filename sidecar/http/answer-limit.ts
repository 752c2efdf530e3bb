import { ResolverError } from "../../shared/decisions/errors.ts";
import { type Clock, withTimeout } from "../../shared/inventory/clock.ts";

/** The SDK for Java times out after 1 s, so every response is sent within 900 ms. */
const ANSWER_LIMIT_MS = 850;

/**
 * Settles as `work` does, or rejects with ERR_STS_UNAVAILABLE after 850 ms. The work continues, and the next request
 * gets its result; `isLate` returns true once the client no longer waits. The grant is not decided again after the
 * wait, which is well below the 2 s within which the sidecar stops issuing a removed role.
 */
export function withAnswerLimit<T>(clock: Clock, work: (isLate: () => boolean) => Promise<T>): Promise<T> {
  let isLate = false;
  return withTimeout(clock, ANSWER_LIMIT_MS, work(() => isLate), () => {
    isLate = true;
    const message = `STS did not respond within ${ANSWER_LIMIT_MS} ms. Retry to get the result of the pending call.`;
    return new ResolverError("ERR_STS_UNAVAILABLE", message);
  });
}
