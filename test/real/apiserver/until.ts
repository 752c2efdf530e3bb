import { setInterval as ticks } from "node:timers/promises";

const POLL_MS = 50;
/** Only a fault reaches this limit. A loaded machine does not. */
const LIMIT_MS = 60_000;

/**
 * Calls `condition` every 50 ms until it is true, for at most `limitMs`, by default 60 s. Resolves to false if the
 * condition does not become true in this time.
 */
export async function until(condition: () => Promise<boolean>, limitMs = LIMIT_MS): Promise<boolean> {
  if (await condition()) {
    return true;
  }
  const limit = AbortSignal.timeout(limitMs);
  for await (const _ of ticks(POLL_MS)) {
    if (await condition()) {
      return true;
    }
    if (limit.aborted) {
      return false;
    }
  }
  return false;
}
