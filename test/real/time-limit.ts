import { t as root, type Test } from "tap";

/**
 * Limits the remaining time of a test. The default of tap is 30 s per file, and the runner takes another limit only
 * from the root test. tap compares the whole duration of the test with the last limit, so the limit includes the time
 * so far.
 */
export function setTimeLimit(t: Test, limitMs: number): void {
  const totalMs = performance.now() + limitMs;
  root.setTimeout(totalMs);
  t.setTimeout(totalMs);
}
