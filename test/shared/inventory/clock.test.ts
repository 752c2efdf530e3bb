import { mock } from "node:test";
import { afterEach, beforeEach, test } from "tap";
import { systemClock } from "../../../shared/inventory/clock.ts";

const DAY_MS = 86_400_000;

/** A day at a time: a timer that another one sets is reached only by a later step. */
function passDays(days: number): void {
  for (let day = 0; day < days; day++) mock.timers.tick(DAY_MS);
}

beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
afterEach(() => mock.timers.reset());

test("a delay longer than setTimeout takes runs when it is over, not at once", async (t) => {
  let runs = 0;
  systemClock.schedule(60 * DAY_MS, () => runs++);
  passDays(59);
  t.equal(runs, 0);
  passDays(2);
  t.equal(runs, 1);
});

test("what is called off never runs, also after a part of a long delay", async (t) => {
  let runs = 0;
  const callOff = systemClock.schedule(60 * DAY_MS, () => runs++);
  passDays(30);
  callOff();
  passDays(60);
  t.equal(runs, 0);
});
