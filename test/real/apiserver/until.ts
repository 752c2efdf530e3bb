import { setInterval as ticks } from "node:timers/promises";

const POLL_MS = 50;

/** Asks `holds` now and every 50 ms until it is true, for `limitMs` at most: resolves to whether it was. Rejects when `holds` does. */
export async function until(holds: () => Promise<boolean>, limitMs: number): Promise<boolean> {
  if (await holds()) {
    return true;
  }
  const limit = AbortSignal.timeout(limitMs);
  for await (const _ of ticks(POLL_MS)) {
    if (await holds()) {
      return true;
    }
    if (limit.aborted) {
      return false;
    }
  }
  return false;
}
