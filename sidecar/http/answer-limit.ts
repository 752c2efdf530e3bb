import { ResolverError } from "../../shared/decisions/errors.ts";
import { type Clock, withTimeout } from "../../shared/inventory/clock.ts";

/**
 * The maximum time to get the content of a response, in ms. The SDK for Java times out after 1 s, so the sidecar must
 * send each response within 900 ms.
 */
const ANSWER_LIMIT_MS = 850;

/**
 * Returns the result of `work`, or rejects with ERR_STS_UNAVAILABLE after 850 ms. After the limit, the work continues,
 * and the next request gets its result. `isLate` returns true after the limit. The caller need not check the grant
 * again after the work: the sidecar must stop issuing a removed role within 2 s, and the work takes at most 850 ms.
 */
export function withAnswerLimit<T>(clock: Clock, work: (isLate: () => boolean) => Promise<T>): Promise<T> {
  let isLate = false;
  return withTimeout(clock, ANSWER_LIMIT_MS, work(() => isLate), () => {
    isLate = true;
    const message = `STS did not respond within ${ANSWER_LIMIT_MS} ms. Retry to get the result of the pending call.`;
    return new ResolverError("ERR_STS_UNAVAILABLE", message);
  });
}
