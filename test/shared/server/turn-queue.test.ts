import { setImmediate as nextTurn } from "node:timers/promises";
import { test } from "tap";
import { TurnQueue } from "../../../shared/sources/slices.ts";

const inTime = (): number => 1;

test("resumes one task in each turn of the event loop, and prefers the task that has paused least often", async (t) => {
  const queue = new TurnQueue();
  const resumed: string[] = [];
  const pause = async (name: string, pauses: number): Promise<void> => {
    await queue.pause(pauses, inTime);
    resumed.push(name);
  };
  const tasks = [pause("long", 9), pause("first", 1), pause("second", 1), pause("short", 0)];
  const perTurn: number[] = [];
  while (resumed.length < tasks.length) {
    const before = resumed.length;
    await nextTurn();
    perTurn.push(resumed.length - before);
  }
  t.same(resumed, ["short", "first", "second", "long"]);
  t.equal(Math.max(...perTurn), 1);
  await queue.pause(0, inTime);
});

test("in the next turn, resumes every task whose deadline has passed", async (t) => {
  const queue = new TurnQueue();
  const resumed: number[] = [];
  const late = Array.from({ length: 3 }, async (_, i) => {
    await queue.pause(100 + i, () => 0);
    resumed.push(i);
  });
  const shorter = queue.pause(0, inTime).then(() => resumed.push(9));
  await nextTurn();
  await Promise.race([shorter, ...late]);
  t.same(new Set(resumed), new Set([0, 1, 2, 9]));
  await Promise.all([shorter, ...late]);
});
