import { test } from "tap";
import type { Paced } from "../../../shared/formats/paced.ts";
import { runInSlices } from "../../../shared/sources/slices.ts";

interface TimedWork {
  readonly steps: Paced<string>;
  readonly clock: { readonly steady: () => number };
  /** The times at which the work was paused, in ms. */
  readonly pauses: number[];
  readonly pause: () => Promise<void>;
}

/** Returns work whose steps advance a fake clock by these durations, in ms. */
function work(durations: readonly number[]): TimedWork {
  let nowMs = 0;
  const pauses: number[] = [];
  function* run(): Paced<string> {
    for (const duration of durations) {
      nowMs += duration;
      yield 1;
    }
    return "done";
  }
  const pause = async (): Promise<void> => {
    pauses.push(nowMs);
    nowMs += 1000; // Other work takes this time, which must not count towards the next slice.
  };
  return { steps: run(), clock: { steady: () => nowMs }, pauses, pause };
}

const ENOUGH = { sliceMs: 10, remainingMs: () => 1 };

test("runs work that is shorter than a slice without a pause", async (t) => {
  const { steps, clock, pause, pauses } = work([1, 1, 2]);
  t.equal(await runInSlices(steps, { ...ENOUGH, clock, pause }), "done");
  t.same(pauses, []);
});

test("pauses long work before each slice ends, and does not count pauses as work time", async (t) => {
  const { steps, clock, pause, pauses } = work([3, 3, 3, 3, 3]);
  t.equal(await runInSlices(steps, { ...ENOUGH, clock, pause }), "done");
  t.same(pauses, [6, 1012]);
});

test("rejects when the deadline passes during the work, and returns no partial result", async (t) => {
  const { steps, clock, pause, pauses } = work([6, 6, 6]);
  let remaining = 2;
  await t.rejects(async () => runInSlices(steps, { sliceMs: 10, clock, pause, remainingMs: () => --remaining }), {
    code: "ERR_REQUEST_DEADLINE",
    message:
      "The change affects too many objects to check within the API server's timeout. Retry, or split the change.",
  });
  t.same(pauses, [6]);
});

test("rejects if the work finishes after the deadline", async (t) => {
  const { steps, clock, pause } = work([4]);
  await t.rejects(async () => runInSlices(steps, { sliceMs: 10, clock, pause, remainingMs: () => 0 }), {
    code: "ERR_REQUEST_DEADLINE",
  });
});

test("rejects with the error that the work throws", async (t) => {
  function* fails(): Paced<string> {
    yield 1;
    throw new Error("no");
  }
  const options = { ...ENOUGH, clock: { steady: () => 0 }, pause: async () => {} };
  await t.rejects(async () => runInSlices(fails(), options), { message: "no" });
});
