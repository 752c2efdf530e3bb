import { t as root, type Test } from "tap";

/** Only a test that hangs reaches this limit. A loaded machine does not. */
const TEST_LIMIT_MS = 6 * 60_000;

/**
 * Limits the remaining time of a test, by default to 6 minutes. The default of tap is 30 s per file, and its runner
 * accepts another limit only from the root test. The limit that is passed to tap includes the time so far, because tap
 * compares it with the whole duration of the test.
 */
export function setTimeLimit(t: Test, limitMs = TEST_LIMIT_MS): void {
  const totalMs = performance.now() + limitMs;
  root.setTimeout(totalMs);
  t.setTimeout(totalMs);
}
