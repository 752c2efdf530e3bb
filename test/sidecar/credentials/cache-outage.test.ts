import * as fc from "fast-check";
import { test } from "tap";
import { parameters } from "../../shared/property.ts";
import { type Behavior, CacheUnderTest, DENIED, HOUR, INVALID, MINUTE, SECOND } from "../fake-sts.ts";

function subject(seed: number): CacheUnderTest {
  return new CacheUnderTest({ seed, isGuarded: true });
}

function keys(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `role ${i}`);
}

/** Requests the sessions for some time, so that the cache spreads their refreshes. */
async function warmUp(one: CacheUnderTest, names: readonly string[], forMs: number): Promise<void> {
  for (let passedMs = 0; passedMs < forMs; passedMs += 10 * MINUTE) {
    const requests = Promise.all(names.map((name) => one.request(name)));
    await one.clock.advance(10 * MINUTE);
    await requests;
  }
}

test("serves all cached sessions in a 22 min STS outage, and refreshes all within 30 s after the outage", async (t) => {
  let requests = 0;
  let slowestMs = 0;
  const outage = fc.record({
    seed: fc.integer(), afterMs: fc.integer({ min: 60 * MINUTE, max: 180 * MINUTE }),
    fault: fc.constantFrom<Behavior>("hangs", "throttles", "is empty"),
  });
  const property = fc.asyncProperty(outage, async ({ seed, afterMs, fault }) => {
    const one = subject(seed);
    const names = keys(12);
    await warmUp(one, names, afterMs);
    await one.clock.advance(afterMs % (10 * MINUTE));
    one.sts.behavior = fault;
    for (let second = 0; second < 22 * 60; second += 30) {
      const responses = await Promise.all(names.map((name) => one.request(name)));
      requests += responses.length;
      if (responses.some((response) => response !== "ok")) return false;
      await one.clock.advance(30 * SECOND);
    }
    one.sts.behavior = "grants";
    const recoveredMs = one.clock.steady();
    const isLagging = (): boolean => one.cache.refreshLagMs > 0;
    while (isLagging() && one.clock.steady() - recoveredMs < MINUTE) await one.clock.advance(500);
    slowestMs = Math.max(slowestMs, one.clock.steady() - recoveredMs);
    return !isLagging() && one.clock.steady() - recoveredMs <= 30 * SECOND;
  });
  await fc.assert(property, parameters(t, 25));
  t.comment(`0 errors in ${requests} responses during 22 min without STS (target: 0)`);
  t.comment(`all refreshed at most ${slowestMs / 1000} s after STS recovered (target: 30)`);
});

test("in an outage, serves a session until 60 s before it expires; afterward, a new one within 30 s", async (t) => {
  const one = subject(1);
  const requests = one.get("a");
  const session = await requests;
  one.sts.behavior = "hangs";
  await one.clock.advance(HOUR - MINUTE);
  t.equal(await one.request("a"), "ok");
  t.equal(one.sts.leftMs(session), MINUTE);
  t.equal((await one.get("a")).accessKeyID, session.accessKeyID);
  await one.clock.advance(1);
  const rejected = one.request("a");
  await one.clock.advance(5 * SECOND);
  t.equal(await rejected, "ERR_STS_UNAVAILABLE");
  await one.clock.advance(10 * MINUTE);
  one.sts.behavior = "grants";
  const recoveredMs = one.clock.steady();
  let response = "";
  while (response !== "ok" && one.clock.steady() - recoveredMs < MINUTE) {
    response = await one.request("a");
    await one.clock.advance(100);
  }
  t.comment(`returned ${(one.clock.steady() - recoveredMs) / 1000} s after STS recovered (target: 30)`);
  t.ok(one.clock.steady() - recoveredMs <= 30 * SECOND);
});

test("makes at most 3 STS calls in 10 s for 200 requests for one uncached session while STS hangs", async (t) => {
  const one = subject(2);
  one.sts.behavior = "hangs";
  const rejected: Promise<string>[] = [];
  for (let caller = 0; caller < 200; caller++) {
    rejected.push(one.request("a"));
    await one.clock.advance(50);
  }
  t.comment(`${one.sts.calls.length} calls in 10 s for 200 requests (target: 3)`);
  t.ok(one.sts.calls.length >= 2 && one.sts.calls.length <= 3);
  await one.clock.advance(5 * SECOND);
  t.same([...new Set(await Promise.all(rejected))], ["ERR_STS_UNAVAILABLE"]);
  t.equal(one.guard.inFlight, 0, "timed-out calls free their slots");
});

test("makes at most 1 STS call in 5 s while the circuit is open because STS throttles 200 sessions", async (t) => {
  for (const warm of [true, false]) {
    const one = subject(3);
    const names = keys(200);
    if (warm) await warmUp(one, names, 2 * HOUR);
    one.sts.behavior = "throttles";
    one.sts.latencyMs = 20;
    const fromMs = one.clock.steady();
    let openedMs = Infinity;
    let errors = 0;
    for (let second = 0; second < 600; second += 2) {
      const responses = names.map((name) => one.request(name));
      await one.clock.advance(2 * SECOND);
      errors += (await Promise.all(responses)).filter((response) => response !== "ok").length;
      if (one.guard.circuit !== "closed") openedMs = Math.min(openedMs, one.clock.steady());
    }
    const calls = one.sts.callsBetween(openedMs, Infinity);
    const opening = one.sts.callsBetween(fromMs, openedMs);
    const openSeconds = Math.round((one.clock.steady() - openedMs) / 1000);
    t.comment(`${warm ? "cached" : "uncached"}: ${opening} calls until the circuit opened`);
    t.comment(`${calls} calls in the ${openSeconds} s after (target: 1 per 5 s)`);
    t.ok(calls <= Math.ceil((one.clock.steady() - openedMs) / 5_000));
    t.equal(warm ? errors : 0, 0, "cached sessions are served");
    t.ok(opening <= 32 + 8, "only the calls in flight, and a few at each lower rate, reach STS");
  }
});

test("while the circuit is open, rejects a request immediately, and states the reason and the time", async (t) => {
  const one = subject(4);
  one.sts.behavior = "throttles";
  const requests = Promise.all(keys(5).map((name) => one.request(name)));
  await one.clock.advance(2 * SECOND);
  await requests;
  const calls = one.sts.calls.length;
  await t.rejects(one.get("another"), {
    code: "ERR_STS_UNAVAILABLE", message: /^STS circuit open since 2026-08-01T12:00:0\dZ .*Rate exceeded$/,
  });
  t.equal(one.sts.calls.length, calls);
});

test("makes at most 60 STS calls an hour for a denied role, and 12 an hour for an invalid request", async (t) => {
  for (const [fault, max] of [["denies", 60], ["finds it invalid", 12]] as const) {
    const one = subject(5);
    one.sts.behavior = fault;
    const responses = new Set<string>();
    for (let second = 0; second < 3600; second += 5) {
      responses.add(await one.request("a"));
      await one.clock.advance(5 * SECOND);
    }
    t.comment(`STS ${fault}: ${one.sts.calls.length} calls (target: ${max})`);
    t.ok(one.sts.calls.length <= max && one.sts.calls.length >= max - 1);
    t.same([...responses], ["ERR_STS_REFUSED"]);
  }
});

test("calls STS immediately after a denied selector changed, but not during an outage", async (t) => {
  const one = subject(7);
  one.sts.behavior = "denies";
  t.equal(await one.request("a"), "ERR_STS_REFUSED");
  one.sts.behavior = "grants";
  t.equal(await one.request("a"), "ERR_STS_REFUSED");
  t.equal(await one.request("a", { changed: true }), "ok");
  one.sts.behavior = "is empty";
  for (let i = 0; i < 3; i++) await one.request("b", { number: i });
  t.equal(one.sts.callsBetween(0, Infinity), 3, "a changed selector causes no STS call during an outage");
});

test("makes one STS call a minute for a denied role, although requests alternate between two selectors", async (t) => {
  const one = subject(8);
  const selectors = [{ name: "a" }, { name: "b" }] as const;
  one.sts.behavior = "denies";
  for (let second = 0; second < 3600; second += 5) {
    await one.request("role", selectors[second % 2]);
    await one.clock.advance(5 * SECOND);
  }
  t.ok(one.sts.calls.length <= 61, `${one.sts.calls.length} calls in an hour`);
});

test("evicts a cached session on AccessDenied, but not on other STS errors", async (t) => {
  for (const [fault, isCached] of [["denies", false], ["finds it invalid", true]] as const) {
    const one = subject(9);
    t.equal(await one.request("a"), "ok");
    one.sts.behavior = fault;
    await one.clock.advance(40 * MINUTE);
    // STS receives one call at the first refresh, and then one call every 5 minutes for the cached session.
    t.equal(one.sts.calls.length, isCached ? 4 : 2);
    if (isCached) t.equal(await one.request("a"), "ok");
    else await t.rejects(one.get("a"), DENIED);
    one.cache.close();
    t.equal(one.clock.scheduled, 0);
  }
  t.equal(INVALID.stsCode, "ValidationError");
});

test("calls STS for a denied session only when a client requests the session", async (t) => {
  const one = subject(10);
  t.equal(await one.request("a"), "ok");
  one.clock.jump(40 * MINUTE);
  one.sts.behavior = "denies";
  t.equal(await one.request("a"), "ok", "served from the cache, and refreshed because the clock change made it due");
  await one.clock.advance(2 * HOUR);
  t.equal(one.sts.calls.length, 2);
  t.equal(one.clock.scheduled, 0);
});

/**
 * Returns the time from the end of an outage until every uncached session is available. Clients send requests every
 * second.
 */
async function recoveryMs(seed: number, fault: Behavior): Promise<number> {
  const one = subject(seed);
  const missing = new Set(keys(1 + (seed % 4)));
  const askAll = (): void => {
    for (const name of missing) void one.request(name).then((response) => response === "ok" && missing.delete(name));
  };
  one.sts.behavior = fault;
  for (let second = 0; second < 300 + seed; second++) {
    askAll();
    await one.clock.advance(SECOND);
  }
  one.sts.behavior = "grants";
  const recoveredMs = one.clock.steady();
  while (missing.size > 0 && one.clock.steady() - recoveredMs < MINUTE) {
    askAll();
    await one.clock.advance(250);
  }
  return one.clock.steady() - recoveredMs;
}

test("returns uncached sessions within 30 s after an outage if clients retry every second", async (t) => {
  const taken: number[] = [];
  for (const fault of ["throttles", "hangs"] as const) {
    for (let seed = 0; seed < 20; seed++) taken.push(await recoveryMs(seed, fault));
  }
  t.comment(`the slowest of ${taken.length} outages: ${Math.max(...taken) / 1000} s (target: 30)`);
  t.ok(Math.max(...taken) <= 30 * SECOND);
});
