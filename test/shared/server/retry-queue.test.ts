import { test } from "tap";
import { RETRY_MS, RetryQueue } from "../../../shared/server/retry-queue.ts";

const LIMIT = 1_000;

test("contains each key once, in the order in which it was added", (t) => {
  const queue = new RetryQueue(LIMIT);
  for (const key of ["b", "a", "b"]) queue.add(key);
  t.equal(queue.size, 2);
  t.same(queue.take(0), { key: "b", flow: "", failures: 0 });
  t.same(queue.take(0), { key: "a", flow: "", failures: 0 });
  t.equal(queue.take(0), null);
  t.end();
});

test("a key whose write failed waits longer after each failure, and delays no other key", (t) => {
  const queue = new RetryQueue(LIMIT);
  queue.add("bad");
  let nowMs = 0;
  for (const [failures, delayMs] of [...RETRY_MS, RETRY_MS.at(-1) ?? 0].entries()) {
    const taken = queue.take(nowMs);
    t.same(taken, { key: "bad", flow: "", failures });
    if (taken !== null) queue.retry(taken, nowMs);
    queue.add("bad");
    queue.add("good");
    t.same([queue.size, queue.failing], [2, 1], "the waiting key is not added again");
    t.equal(queue.take(nowMs)?.key, "good");
    t.equal(queue.take(nowMs + delayMs - 1), null);
    nowMs += delayMs;
  }
  t.equal(queue.take(nowMs)?.key, "bad");
  t.end();
});

test("a full queue ignores keys, and an empty queue accepts them again", (t) => {
  const queue = new RetryQueue(LIMIT);
  for (let i = 0; i <= LIMIT; i++) queue.add(`r${i}`);
  t.equal(queue.size, LIMIT);
  for (let taken = queue.take(0); taken !== null; taken = queue.take(0)) queue.retry(taken, 0);
  t.same([queue.size, queue.failing], [LIMIT, LIMIT]);
  queue.clear();
  queue.add("next");
  t.same(queue.take(0), { key: "next", flow: "", failures: 0 });
  t.end();
});

test("a flow of many keys delays no other flow: a new one is next, and then they take turns", (t) => {
  const queue = new RetryQueue(LIMIT);
  const take = (count: number): readonly string[] => Array.from({ length: count }, () => queue.take(0)?.key ?? "");
  for (const flow of ["mass", "large"]) for (let i = 0; i < 100; i++) queue.add(`${flow}-${i}`, flow);
  t.same(take(5), ["mass-0", "large-0", "mass-1", "large-1", "mass-2"]);
  queue.add("mass-50", "late");
  queue.add("late-0", "late");
  queue.add("late-1", "late");
  t.same(take(4), ["late-0", "large-2", "mass-3", "late-1"], "a key stays in its first flow");
  t.same(take(3), ["large-3", "mass-4", "large-4"]);
  queue.add("late-2", "late");
  t.equal(queue.take(0)?.key, "late-2", "a flow that was empty is new");
  const failed = queue.take(0);
  if (failed !== null) queue.retry(failed, 0);
  while (queue.take(0) !== null);
  const [delayMs = 0] = RETRY_MS;
  t.same(queue.take(delayMs), { key: "mass-5", flow: "mass", failures: 1 });
  t.equal(queue.size, 0);
  t.end();
});

test("takes 1,000,000 keys in linear time, while others are added", (t) => {
  const size = 1_000_000;
  const queue = new RetryQueue(size);
  for (let i = 0; i < size; i++) queue.add(`r${i}`);
  // If each call visited the gaps of the keys before, this would take minutes, and the test would time out.
  for (let i = 0; i < size; i++) {
    const key = queue.take(0)?.key;
    if (key !== `r${i}`) t.fail(`r${i} is not the next key, but ${key}`);
    if (i < 10) queue.add(`late${i}`);
  }
  for (let i = 0; i < 10; i++) t.equal(queue.take(0)?.key, `late${i}`);
  t.equal(queue.take(0), null);
  t.end();
});
