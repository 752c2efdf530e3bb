import { test } from "tap";
import { LIMITS } from "../../../shared/decisions/limits.ts";
import { RefreshQueue, RETRY_MS } from "../../../webhook/reconciling/refresh-queue.ts";

test("contains each resource once, in the order in which it was found", (t) => {
  const queue = new RefreshQueue();
  for (const key of ["b", "a", "b"]) queue.add(key);
  t.equal(queue.size, 2);
  t.same(queue.take(0), { key: "b", failures: 0 });
  t.same(queue.take(0), { key: "a", failures: 0 });
  t.equal(queue.take(0), null);
  t.end();
});

test("a resource whose write failed waits longer after each failure, and delays no other resource", (t) => {
  const queue = new RefreshQueue();
  queue.add("bad");
  let nowMs = 0;
  for (const [failures, delayMs] of [...RETRY_MS, RETRY_MS.at(-1) ?? 0].entries()) {
    const taken = queue.take(nowMs);
    t.same(taken, { key: "bad", failures });
    if (taken !== null) queue.retry(taken, nowMs);
    queue.add("bad");
    queue.add("good");
    t.same([queue.size, queue.failing], [2, 1], "a scan does not add the waiting resource again");
    t.equal(queue.take(nowMs)?.key, "good");
    t.equal(queue.take(nowMs + delayMs - 1), null);
    nowMs += delayMs;
  }
  t.equal(queue.take(nowMs)?.key, "bad");
  t.end();
});

test("a full queue ignores resources, and an empty queue accepts them again", (t) => {
  const queue = new RefreshQueue();
  const limit = LIMITS.queuedRefreshes.value;
  for (let i = 0; i <= limit; i++) queue.add(`r${i}`);
  t.equal(queue.size, limit);
  for (let taken = queue.take(0); taken !== null; taken = queue.take(0)) queue.retry(taken, 0);
  t.same([queue.size, queue.failing], [limit, limit]);
  queue.clear();
  queue.add("next");
  t.same(queue.take(0), { key: "next", failures: 0 });
  t.end();
});
