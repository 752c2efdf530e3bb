import { test } from "tap";
import { randomFrom } from "../../../bench/random.ts";
import { CredentialCache } from "../../../sidecar/credentials/cache.ts";
import { CallGate } from "../../../sidecar/sts-upstream/rate-limiter.ts";
import { FakeClock } from "../fake-clock.ts";
import { FakeSTS, MINUTE, SECOND } from "../fake-sts.ts";

function subject(seed: number, gated = true): { clock: FakeClock; sts: FakeSTS; gate: CallGate; cache: CredentialCache } {
  const clock = new FakeClock();
  const gate = new CallGate({ clock });
  const cache = new CredentialCache({ clock, random: randomFrom(seed), ...(gated ? { gate } : {}) });
  return { clock, gate, cache, sts: new FakeSTS(clock) };
}

test("1,000 concurrent cold requests for one session make 1 call of an STS that takes 300 ms", async (t) => {
  const { clock, sts, cache } = subject(1);
  sts.latencyMs = 300;
  const asked = Array.from({ length: 1_000 }, () => cache.get(sts.lookup("a")));
  await clock.advance(300);
  t.equal(new Set((await Promise.all(asked)).map(({ accessKeyID }) => accessKeyID)).size, 1);
  t.comment(`${sts.calls.length} call (asked: 1)`);
  t.equal(sts.calls.length, 1);
});

test("1,000 concurrent cold requests over 50 sessions make 50 calls, 8 at a time, 25 at once and then 10/s", async (t) => {
  const { clock, sts, cache } = subject(2);
  sts.latencyMs = 100;
  const asked = Array.from({ length: 1_000 }, (_, i) => cache.get(sts.lookup(`${i % 50}`)));
  await clock.advance(5 * SECOND);
  t.equal(new Set((await Promise.all(asked)).map(({ accessKeyID }) => accessKeyID)).size, 50);
  t.comment(`${sts.calls.length} calls (asked: 50), ${sts.mostInFlight} in flight at most (asked: 8), ${sts.mostCallsWithin(SECOND)} in the busiest second`);
  t.equal(sts.calls.length, 50);
  t.equal(sts.mostInFlight, 8);
  t.ok(sts.mostCallsWithin(SECOND) <= 35);
});

test("the first caller leaves, and the 50 behind it are answered by its call", async (t) => {
  const { clock, sts, cache } = subject(3);
  sts.latencyMs = 500;
  // One who hangs up no longer looks at its promise; nothing of it reaches the call.
  void cache.get(sts.lookup("a"));
  await clock.advance(50);
  const followers = Array.from({ length: 50 }, () => cache.get(sts.lookup("a")));
  await clock.advance(450);
  t.equal((await Promise.all(followers)).length, 50);
  t.equal(sts.calls.length, 1);
});

test("the renewals of 1,000 sessions that were made in one moment are spread: no second holds over 2%", async (t) => {
  for (const gated of [false, true]) {
    const { clock, sts, cache } = subject(4, gated);
    const asked = Array.from({ length: 1_000 }, (_, i) => cache.get(sts.lookup(`${i}`)));
    await clock.advance(2 * MINUTE);
    await Promise.all(asked);
    const made = sts.calls.length;
    await clock.advance(40 * MINUTE);
    const seconds = new Map<number, number>();
    for (const { atMs } of sts.calls.slice(made)) seconds.set(Math.floor(atMs / SECOND), (seconds.get(Math.floor(atMs / SECOND)) ?? 0) + 1);
    const most = Math.max(...seconds.values());
    t.comment(`${sts.calls.length - made} renewals, at most ${most / 10}% in one second ${gated ? "within" : "without"} the budget (asked: 2%)`);
    t.equal(made, 1_000);
    t.ok(sts.calls.length - made >= 1_000);
    t.ok(most <= 20);
    cache.close();
  }
});

test("5,000 cold sessions pass through a cache of 1,000, and neither they, their timers nor their calls pile up", async (t) => {
  const { clock, sts, gate, cache } = subject(5);
  const ends = { given: 0, refused: 0 };
  let mostKept = 0;
  let mostTimers = 0;
  for (let i = 0; i < 5_000; i++) {
    cache.get(sts.lookup(`${i}`)).then(() => (ends.given += 1), () => (ends.refused += 1));
    if (i % 500 !== 0) continue;
    await clock.advance(SECOND);
    mostKept = Math.max(mostKept, [...cache.expirations()].length);
    mostTimers = Math.max(mostTimers, clock.scheduled);
    t.ok(gate.waiting <= 1_000);
  }
  t.ok(mostKept <= 1_000);
  // A timer for each, one for the next turn, and one for each call in flight.
  t.ok(mostTimers <= 1_009);
  t.equal(gate.circuit, "closed", "what was dropped in the queue is no failure of STS");
  await clock.advance(3 * MINUTE);
  t.comment(`${mostKept} kept, ${mostTimers} timers at most (asked: 1,000 sessions); ${ends.given} given, ${ends.refused} refused for want of a turn`);
  t.equal(ends.given + ends.refused, 5_000, "everybody was answered");
  cache.close();
  t.equal(clock.scheduled, 0);
});

test("100,000 sessions pass through a cache of 1,000, and the one in use all along stays", async (t) => {
  const { clock, sts, cache } = subject(6, false);
  const used = await cache.get(sts.lookup("used"));
  for (let i = 0; i < 100_000; i++) {
    await cache.get(sts.lookup(`${i}`));
    if (i % 500 === 0) await cache.get(sts.lookup("used"));
  }
  t.equal((await cache.get(sts.lookup("used"))).accessKeyID, used.accessKeyID);
  t.equal([...cache.expirations()].length, 1_000);
  t.equal(clock.scheduled, 1_000, "the timers of those that were dropped are called off");
  cache.close();
  t.equal(clock.scheduled, 0);
});

test("closing gives up the calls that are under way, and refuses those that wait", async (t) => {
  const { clock, sts, gate, cache } = subject(7);
  sts.behaviour = "hangs";
  const asked = Array.from({ length: 20 }, (_, i) => cache.get(sts.lookup(`${i}`)));
  await clock.advance(0);
  t.equal(sts.inFlight, 8);
  cache.close();
  const ends = await Promise.allSettled(asked);
  t.equal(ends.filter(({ status }) => status === "rejected").length, 20);
  t.equal(sts.inFlight, 0);
  t.equal(gate.inFlight, 0);
  t.equal(clock.scheduled, 0);
});
