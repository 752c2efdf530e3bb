import { test } from "tap";
import type { Steps } from "../../../shared/decisions/paced.ts";
import { inSlices } from "../../../shared/server/slices.ts";

/** Steps that each take so many ms of a clock, and what was done when. */
function work(durations: readonly number[]): { readonly steps: Steps<string>; readonly now: () => number; readonly pauses: number[]; readonly pause: () => Promise<void> } {
  let nowMs = 0;
  const pauses: number[] = [];
  function* run(): Steps<string> {
    for (const duration of durations) {
      nowMs += duration;
      yield null;
    }
    return "done";
  }
  const pause = async (): Promise<void> => {
    pauses.push(nowMs);
    nowMs += 1000; // whatever others do meanwhile is not of the next slice
  };
  return { steps: run(), now: () => nowMs, pauses, pause };
}

const ENOUGH = { sliceMs: 10, remainingMs: () => 1 };

test("short work is done at once", async (t) => {
  const { steps, now, pause, pauses } = work([1, 1, 2]);
  t.equal(await inSlices(steps, { ...ENOUGH, now, pause }), "done");
  t.same(pauses, []);
});

test("long work gives way well before a slice is over, each slice measured by itself", async (t) => {
  const { steps, now, pause, pauses } = work([3, 3, 3, 3, 3]);
  t.equal(await inSlices(steps, { ...ENOUGH, now, pause }), "done");
  t.same(pauses, [6, 1012]);
});

test("when the time runs out it is an error, whatever was found until then", async (t) => {
  const { steps, now, pause, pauses } = work([6, 6, 6]);
  let remaining = 2;
  await t.rejects(inSlices(steps, { sliceMs: 10, now, pause, remainingMs: () => --remaining }), {
    code: "ERR_REQUEST_DEADLINE",
    message: "the time for an answer was too short for all that the change concerns; try again, or make it in smaller steps",
  });
  t.same(pauses, [6]);
});

test("what is done only after the time is an error too", async (t) => {
  const { steps, now, pause } = work([4]);
  await t.rejects(inSlices(steps, { sliceMs: 10, now, pause, remainingMs: () => 0 }), { code: "ERR_REQUEST_DEADLINE" });
});

test("what the work throws is the caller's", async (t) => {
  function* fails(): Steps<string> {
    yield null;
    throw new Error("no");
  }
  await t.rejects(inSlices(fails(), { ...ENOUGH, now: () => 0, pause: async () => {} }), { message: "no" });
});
