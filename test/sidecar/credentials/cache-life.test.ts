import * as fc from "fast-check";
import { test } from "tap";
import { randomFrom } from "../../../bench/random.ts";
import { CredentialCache, type CredentialCacheOptions } from "../../../sidecar/credentials/cache.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import { CallGate } from "../../../sidecar/sts-upstream/rate-limiter.ts";
import { parameters } from "../../shared/decisions/property.ts";
import { FakeClock } from "../fake-clock.ts";
import { type Behaviour, FakeSTS, HOUR, MINUTE, SECOND } from "../fake-sts.ts";

function subject(options: Partial<CredentialCacheOptions> = {}): { clock: FakeClock; sts: FakeSTS; cache: CredentialCache } {
  const clock = new FakeClock();
  return { clock, sts: new FakeSTS(clock), cache: new CredentialCache({ clock, random: () => 0.5, ...options }) };
}

/** What a caller could be harmed by; null where it could not. */
function fault(sts: FakeSTS, clock: FakeClock, credentials: Credentials): string | null {
  const { accessKeyID, secretAccessKey, sessionToken, accountID, arn, userID, expirationMs } = credentials;
  if ([accessKeyID, secretAccessKey, sessionToken, accountID, arn, userID].some((text) => text === "" || text === null)) return "a field is empty";
  const stated = (expirationMs ?? Infinity) - clock.now();
  if (stated < MINUTE) return `${stated} ms are said to be left`;
  const left = sts.leftMs(credentials);
  if (left < MINUTE) return `${left} ms are left in truth`;
  // The clocks may part by a second before the end is stated anew.
  return stated > left + SECOND ? `${stated} ms are said to be left of ${left}` : null;
}

interface Step {
  readonly waitMs: number;
  readonly jumpMs: number;
  readonly does: Behaviour;
  readonly latencyMs: number;
}

test("whatever STS and the clock do, none of 10^5 answers is empty or has under 60 s to live", async (t) => {
  const step = fc.record<Step>({
    waitMs: fc.oneof(fc.integer({ min: 0, max: MINUTE }), fc.integer({ min: 0, max: 20 * MINUTE })),
    jumpMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: -10 * MINUTE, max: 10 * MINUTE }) }),
    does: fc.oneof({ weight: 3, arbitrary: fc.constant<Behaviour>("grants") },
      { weight: 2, arbitrary: fc.constantFrom<Behaviour>("is empty", "is short", "denies", "finds it invalid", "throttles", "hangs") }),
    latencyMs: fc.constantFrom(0, 20, 900, 4_900),
  });
  const counts = { given: 0, refused: 0 };
  const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), fc.integer(), async (steps, seed) => {
    const faults: string[] = [];
    const random = randomFrom(seed);
    const { clock, sts, cache } = subject({ random });
    const ask = async (): Promise<void> => {
      try {
        const credentials = await cache.get(sts.lookup(random() < 0.5 ? "a" : "b"));
        counts.given += 1;
        const found = fault(sts, clock, credentials);
        if (found !== null) faults.push(found);
      } catch {
        counts.refused += 1;
      }
    };
    for (const { waitMs, jumpMs, does, latencyMs } of steps) {
      Object.assign(sts, { behaviour: does, latencyMs });
      const asked: Promise<void>[] = Array.from({ length: 25 }, ask);
      await clock.advance(0);
      clock.jump(jumpMs);
      asked.push(...Array.from({ length: 25 }, ask));
      await clock.advance(waitMs);
      asked.push(...Array.from({ length: 10 }, ask));
      await clock.advance(5 * SECOND);
      await Promise.all(asked);
    }
    cache.close();
    if (faults.length > 0) throw new Error(faults.join("; "));
  });
  await fc.assert(property, parameters(t, 100));
  t.comment(`${counts.given} answers with credentials, ${counts.refused} refusals (asked: 10^5 answers, none of them bad)`);
  t.ok(counts.given + counts.refused >= 100_000);
  t.ok(counts.given > 30_000);
});

for (const jumpMs of [10 * MINUTE, -10 * MINUTE]) {
  test(`a clock that is put ${jumpMs > 0 ? "forward" : "back"} by 10 minutes while it runs never makes an expired session of a good one`, async (t) => {
    for (let atMs = 0; atMs <= HOUR; atMs += 5 * MINUTE) {
      const { clock, sts, cache } = subject();
      t.equal(fault(sts, clock, await cache.get(sts.lookup("a"))), null);
      await clock.advance(atMs);
      sts.behaviour = "hangs";
      clock.jump(jumpMs);
      for (let passedMs = 0; passedMs <= HOUR; passedMs += MINUTE) {
        const answer = cache.get(sts.lookup("a")).then((one) => fault(sts, clock, one), () => null);
        await clock.advance(5 * SECOND);
        if (await answer !== null) t.fail(`${await answer}, ${passedMs} ms after a jump at ${atMs}`);
        await clock.advance(MINUTE - 5 * SECOND);
      }
      cache.close();
    }
  });
}

test("a session that a jump of the clock has made due is renewed in the background of the next request", async (t) => {
  const { clock, sts, cache } = subject();
  const first = await cache.get(sts.lookup("a"));
  await clock.advance(25 * MINUTE);
  t.equal(sts.calls.length, 1);
  clock.jump(10 * MINUTE);
  sts.latencyMs = 300;
  t.equal((await cache.get(sts.lookup("a"))).accessKeyID, first.accessKeyID, "served at once");
  t.equal(sts.calls.length, 2);
  await cache.get(sts.lookup("a"));
  t.equal(sts.calls.length, 2, "one call however many ask");
  await clock.advance(300);
  t.not((await cache.get(sts.lookup("a"))).accessKeyID, first.accessKeyID);
  t.equal(sts.calls.length, 2);
});

test("while STS is healthy no answer has under 16 minutes left", async (t) => {
  const random = randomFrom(1);
  const clock = new FakeClock();
  const sts = new FakeSTS(clock);
  const cache = new CredentialCache({ clock, random, gate: new CallGate({ clock }) });
  sts.latencyMs = 300;
  let leastMs = Infinity;
  let answers = 0;
  for (let minute = 0; minute < 24 * 60; minute++) {
    // Some are asked for all the time, some once in an hour and some once a day.
    const asked = Array.from({ length: 60 }, (_, i) => i).filter((i) => random() < [0.9, 0.02, 0.001][i % 3]!);
    for (const i of asked) {
      answers += 1;
      cache.get(sts.lookup(`role ${i}`)).then((one) => (leastMs = Math.min(leastMs, sts.leftMs(one))), (error: unknown) => t.fail(String(error)));
    }
    await clock.advance(MINUTE);
  }
  t.comment(`${(leastMs / MINUTE).toFixed(1)} min left at least in ${answers} answers of 24 h (asked: 16)`);
  t.ok(leastMs >= 16 * MINUTE);
});

test("sessions of 900 s are told of once for each and still take one call per 7.5 minutes", async (t) => {
  const told: [string, number][] = [];
  const { clock, sts, cache } = subject({ random: randomFrom(2), onShortLived: (...short) => told.push(short) });
  sts.lifeMs = 900 * SECOND;
  for (let minute = 0; minute < 10 * 60; minute++) {
    await Promise.all(["a", "b"].map((key) => cache.get(sts.lookup(key))));
    await clock.advance(MINUTE);
  }
  t.comment(`${(sts.calls.length / 2 / 10).toFixed(2)} calls an hour for each session (asked: 8)`);
  t.ok(sts.calls.length / 2 <= 80 * 1.03);
  t.same(told, [["a", 900_000], ["b", 900_000]]);
  sts.lifeMs = HOUR;
  await cache.get(sts.lookup("c"));
  t.equal(told.length, 2, "sessions of an hour are long enough");
});

test("what nobody asks for is renewed for one life more, whatever its length, and then dropped", async (t) => {
  for (const lifeMs of [900 * SECOND, HOUR, 12 * HOUR]) {
    const { clock, sts, cache } = subject();
    sts.lifeMs = lifeMs;
    await cache.get(sts.lookup("a"));
    await clock.advance(3 * lifeMs);
    t.equal(sts.calls.length, 2);
    t.equal(clock.scheduled, 0);
    t.same([...cache.expirations()], []);
  }
});
