import { setInterval as ticks } from "node:timers/promises";

const POLL_MS = 50;

/**
 * Calls `condition` every 50 ms until it is true, for at most `limitMs`. Resolves to false if the condition does not
 * become true in this time.
 */
export async function until(condition: () => Promise<boolean>, limitMs: number): Promise<boolean> {
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
