import { t as root, type Test } from "tap";

/**
 * Limits the remaining time of a test. The default of tap is 30 s per file, and its runner accepts another limit only
 * from the root test. The limit that is passed to tap includes the time so far, because tap compares it with the whole
 * duration of the test.
 */
export function setTimeLimit(t: Test, limitMs: number): void {
  const totalMs = performance.now() + limitMs;
  root.setTimeout(totalMs);
  t.setTimeout(totalMs);
}
