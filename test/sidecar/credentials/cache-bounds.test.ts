import { test } from "tap";
import { CacheUnderTest, MINUTE, SECOND } from "../fake-sts.ts";

test("makes 50 STS calls for 1,000 concurrent requests for 50 uncached sessions, at most 32 at a time", async (t) => {
  const { clock, sts, cache } = new CacheUnderTest({ seed: 2, isGuarded: true });
  sts.latencyMs = 100;
  const calls = Array.from({ length: 1_000 }, (_, i) => cache.get(sts.lookup(`${i % 50}`)));
  await clock.advance(5 * SECOND);
  t.equal(new Set((await Promise.all(calls)).map(({ accessKeyID }) => accessKeyID)).size, 50);
  t.comment(`${sts.calls.length} calls (target: 50)`);
  t.comment(`at most ${sts.mostInFlight} in flight (target: 32)`);
  t.equal(sts.calls.length, 50);
  t.equal(sts.mostInFlight, 32);
});

test("completes an STS call for 50 waiting clients although the first client disconnects", async (t) => {
  const { clock, sts, cache } = new CacheUnderTest({ seed: 3, isGuarded: true });
  sts.latencyMs = 500;
  // The first client disconnects, so the test does not wait for its promise.
  void cache.get(sts.lookup("a"));
  await clock.advance(50);
  const followers = Array.from({ length: 50 }, () => cache.get(sts.lookup("a")));
  await clock.advance(450);
  t.equal((await Promise.all(followers)).length, 50);
  t.equal(sts.calls.length, 1);
});

test("spreads refreshes of 1,000 sessions of the same age, with at most 2% of them in any second", async (t) => {
  for (const isGuarded of [false, true]) {
    const { clock, sts, cache } = new CacheUnderTest({ seed: 4, isGuarded });
    const calls = Array.from({ length: 1_000 }, (_, i) => cache.get(sts.lookup(`${i}`)));
    await clock.advance(2 * MINUTE);
    await Promise.all(calls);
    const created = sts.calls.length;
    await clock.advance(40 * MINUTE);
    const seconds = new Map<number, number>();
    for (const { atMs } of sts.calls.slice(created)) {
      const second = Math.floor(atMs / SECOND);
      seconds.set(second, (seconds.get(second) ?? 0) + 1);
    }
    const max = Math.max(...seconds.values());
    const limits = `${isGuarded ? "with" : "without"} the rate limiter`;
    t.comment(`${sts.calls.length - created} refreshes, at most ${max / 10}% in one second ${limits} (target: 2%)`);
    t.equal(created, 1_000);
    t.ok(sts.calls.length - created >= 1_000);
    t.ok(max <= 20);
    cache.close();
  }
});

test("limits the number of sessions, timers and queued calls while 5,000 sessions are requested", async (t) => {
  const { clock, sts, guard, cache } = new CacheUnderTest({ seed: 5, isGuarded: true });
  const outcomes = { returned: 0, rejected: 0 };
  let maxCached = 0;
  let maxTimers = 0;
  for (let i = 0; i < 5_000; i++) {
    cache.get(sts.lookup(`${i}`)).then(() => (outcomes.returned += 1), () => (outcomes.rejected += 1));
    if (i % 500 !== 0) continue;
    await clock.advance(SECOND);
    maxCached = Math.max(maxCached, [...cache.expirations()].length);
    maxTimers = Math.max(maxTimers, clock.scheduled);
    t.ok(guard.waiting <= 1_000);
  }
  t.ok(maxCached <= 1_000);
  // The cache may set one timer for each session, one for the queue, and one for each call in flight.
  t.ok(maxTimers <= 1_033);
  t.equal(guard.circuit, "closed", "evicting queued calls is not a failure of STS");
  await clock.advance(3 * MINUTE);
  t.comment(`at most ${maxCached} cached and ${maxTimers} timers (target: 1,000 sessions)`);
  t.comment(`${outcomes.returned} returned, ${outcomes.rejected} evicted from the queue`);
  t.equal(outcomes.returned + outcomes.rejected, 5_000, "every request completes");
  cache.close();
  t.equal(clock.scheduled, 0);
});

test("does not evict a session in use while 100,000 other sessions pass through a cache of 1,000", async (t) => {
  const { clock, sts, cache } = new CacheUnderTest();
  const used = await cache.get(sts.lookup("used"));
  for (let i = 0; i < 100_000; i++) {
    await cache.get(sts.lookup(`${i}`));
    if (i % 500 === 0) await cache.get(sts.lookup("used"));
  }
  t.equal((await cache.get(sts.lookup("used"))).accessKeyID, used.accessKeyID);
  t.equal([...cache.expirations()].length, 1_000);
  t.equal(clock.scheduled, 1_000, "the timers of evicted sessions are canceled");
  cache.close();
  t.equal(clock.scheduled, 0);
});

test("close() aborts STS calls in flight and rejects queued calls", async (t) => {
  const { clock, sts, guard, cache } = new CacheUnderTest({ seed: 7, isGuarded: true });
  sts.behavior = "hangs";
  const calls = Array.from({ length: 40 }, (_, i) => cache.get(sts.lookup(`${i}`)));
  await clock.advance(0);
  t.equal(sts.inFlight, 32);
  cache.close();
  const outcomes = await Promise.allSettled(calls);
  t.equal(outcomes.filter(({ status }) => status === "rejected").length, 40);
  t.equal(sts.inFlight, 0);
  t.equal(guard.inFlight, 0);
  t.equal(clock.scheduled, 0);
});
