import { mock } from "node:test";
import { type Test, test } from "tap";
import { systemClock } from "../../shared/core/clock.ts";

const DAY_MS = 86_400_000;

/**
 * Advances the mock timers by one day at a time, because one tick does not run the timers that are created during the
 * tick.
 */
function passDays(days: number): void {
  for (let day = 0; day < days; day++) mock.timers.tick(DAY_MS);
}

function mockTimers(t: Test): void {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.teardown(() => mock.timers.reset());
}

test("runs a call only after its full delay if the delay exceeds the limit of setTimeout", async (t) => {
  mockTimers(t);
  let runs = 0;
  systemClock.schedule(60 * DAY_MS, () => runs++);
  passDays(59);
  t.equal(runs, 0);
  passDays(2);
  t.equal(runs, 1);
});

test("does not run a call that is canceled during a long delay", async (t) => {
  mockTimers(t);
  let runs = 0;
  const cancel = systemClock.schedule(60 * DAY_MS, () => runs++);
  passDays(30);
  cancel();
  passDays(60);
  t.equal(runs, 0);
});
