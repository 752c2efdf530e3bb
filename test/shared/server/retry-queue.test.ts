import { test } from "tap";
import { RETRY_MS, RetryQueue } from "../../../shared/server/retry-queue.ts";

const LIMIT = 1_000;

test("contains each key once, in the order in which it was added", (t) => {
  const queue = new RetryQueue(LIMIT);
  for (const key of ["b", "a", "b"]) queue.add(key);
  t.equal(queue.size, 2);
  t.same(queue.take(0), { key: "b", failures: 0 });
  t.same(queue.take(0), { key: "a", failures: 0 });
  t.equal(queue.take(0), null);
  t.end();
});

test("a key whose write failed waits longer after each failure, and delays no other key", (t) => {
  const queue = new RetryQueue(LIMIT);
  queue.add("bad");
  let nowMs = 0;
  for (const [failures, delayMs] of [...RETRY_MS, RETRY_MS.at(-1) ?? 0].entries()) {
    const taken = queue.take(nowMs);
    t.same(taken, { key: "bad", failures });
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
  t.same(queue.take(0), { key: "next", failures: 0 });
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
