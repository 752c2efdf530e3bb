/** How much sooner credentials are said to end where their reader has no window of its own and uses them to the last second, as Go does. */
const EARLY_MS = 5 * 60_000;
/** Never sooner than this, or a reader would ask again for each call. */
const LEAST_MS = 60_000;

/** The end to state for credentials that end at `trueMs` (both epoch ms): 5 minutes early, yet in a minute at the soonest, and never late. */
export function statedExpirationMs(trueMs: number, nowMs: number): number {
  return Math.min(trueMs, Math.max(trueMs - EARLY_MS, nowMs + LEAST_MS));
}
