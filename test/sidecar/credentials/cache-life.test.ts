import * as fc from "fast-check";
import { test } from "tap";
import { randomFrom } from "../../../bench/random.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import { parameters } from "../../shared/property.ts";
import type { FakeClock } from "../fake-clock.ts";
import { type Behavior, CacheUnderTest, type FakeSTS, HOUR, MINUTE, SECOND } from "../fake-sts.ts";

/** Returns the fault of the credentials; null if a client can use the credentials. */
function fault(sts: FakeSTS, clock: FakeClock, credentials: Credentials): string | null {
  const { accessKeyID, secretAccessKey, sessionToken, accountID, arn, userID, expirationMs } = credentials;
  const fields = [accessKeyID, secretAccessKey, sessionToken, accountID, arn, userID];
  if (fields.some((text) => text === "" || text === null)) return "a field is empty";
  const reportedMs = (expirationMs ?? Infinity) - clock.now();
  if (reportedMs < MINUTE) return `${reportedMs} ms reported`;
  const actualMs = sts.leftMs(credentials);
  if (actualMs < MINUTE) return `${actualMs} ms left`;
  // The tolerance is one second, because the cache recomputes the expiration only if the clocks differ by more than
  // that.
  return reportedMs > actualMs + SECOND ? `${reportedMs} ms reported, ${actualMs} ms left` : null;
}

interface Step {
  readonly waitMs: number;
  readonly jumpMs: number;
  readonly does: Behavior;
  readonly latencyMs: number;
}

test("returns no empty or expiring credentials in 100,000 responses with STS faults and clock changes", async (t) => {
  const faulty = fc.constantFrom<Behavior>("is empty", "is short", "denies", "finds it invalid", "throttles", "hangs");
  const step = fc.record<Step>({
    waitMs: fc.oneof(fc.integer({ min: 0, max: MINUTE }), fc.integer({ min: 0, max: 20 * MINUTE })),
    jumpMs: fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: -10 * MINUTE, max: 10 * MINUTE }) },
    ),
    does: fc.oneof({ weight: 3, arbitrary: fc.constant<Behavior>("grants") }, { weight: 2, arbitrary: faulty }),
    latencyMs: fc.constantFrom(0, 20, 900, 4_900),
  });
  const outcomes = { returned: 0, rejected: 0 };
  const someSteps = fc.array(step, { minLength: 10, maxLength: 30 });
  const property = fc.asyncProperty(someSteps, fc.integer(), async (steps, seed) => {
    const faults: string[] = [];
    const random = randomFrom(seed);
    const { clock, sts, cache } = new CacheUnderTest({ random });
    const request = async (): Promise<void> => {
      try {
        const credentials = await cache.get(sts.lookup(random() < 0.5 ? "a" : "b"));
        outcomes.returned += 1;
        const found = fault(sts, clock, credentials);
        if (found !== null) faults.push(found);
      } catch {
        outcomes.rejected += 1;
      }
    };
    for (const { waitMs, jumpMs, does, latencyMs } of steps) {
      Object.assign(sts, { behavior: does, latencyMs });
      const requests: Promise<void>[] = Array.from({ length: 25 }, request);
      await clock.advance(0);
      clock.jump(jumpMs);
      requests.push(...Array.from({ length: 25 }, request));
      await clock.advance(waitMs);
      requests.push(...Array.from({ length: 10 }, request));
      await clock.advance(5 * SECOND);
      await Promise.all(requests);
    }
    cache.close();
    if (faults.length > 0) throw new Error(faults.join("; "));
  });
  await fc.assert(property, parameters(t, 100));
  t.comment(`${outcomes.returned} sessions, ${outcomes.rejected} errors (target: 10^5 responses)`);
  t.ok(outcomes.returned + outcomes.rejected >= 100_000);
  t.ok(outcomes.returned > 30_000);
});

test("refreshes a session at the next request if a change of the clock has made the refresh due", async (t) => {
  const { clock, sts, cache } = new CacheUnderTest();
  const first = await cache.get(sts.lookup("a"));
  await clock.advance(25 * MINUTE);
  t.equal(sts.calls.length, 1);
  clock.jump(10 * MINUTE);
  sts.latencyMs = 300;
  t.equal(
    (await cache.get(sts.lookup("a"))).accessKeyID,
    first.accessKeyID,
    "the cached session is returned immediately",
  );
  t.equal(sts.calls.length, 2);
  await cache.get(sts.lookup("a"));
  t.equal(sts.calls.length, 2, "all requests cause one STS call");
  await clock.advance(300);
  t.not((await cache.get(sts.lookup("a"))).accessKeyID, first.accessKeyID);
  t.equal(sts.calls.length, 2);
});

test("returns sessions that are valid for at least 16 more minutes while STS is available", async (t) => {
  const random = randomFrom(1);
  const { clock, sts, cache } = new CacheUnderTest({ random, isGuarded: true });
  sts.latencyMs = 300;
  let minMs = Infinity;
  let responses = 0;
  for (let minute = 0; minute < 24 * 60; minute++) {
    // Some sessions are requested every minute, some once an hour and some once a day.
    const requests = Array.from({ length: 60 }, (_, i) => i).filter((i) => random() < [0.9, 0.02, 0.001][i % 3]!);
    for (const i of requests) {
      responses += 1;
      const measure = (one: Credentials): void => void (minMs = Math.min(minMs, sts.leftMs(one)));
      cache.get(sts.lookup(`role ${i}`)).then(measure, (error: unknown) => t.fail(String(error)));
    }
    await clock.advance(MINUTE);
  }
  t.comment(`at least ${(minMs / MINUTE).toFixed(1)} min left in ${responses} responses of 24 h (target: 16)`);
  t.ok(minMs >= 16 * MINUTE);
});

test("reports each session of 900 s once as too short, and refreshes the session every 7.5 minutes", async (t) => {
  const reported: [string, number][] = [];
  const { clock, sts, cache } = new CacheUnderTest({
    seed: 2, onShortLived: ({ key }, lifeMs) => reported.push([key, lifeMs]),
  });
  sts.lifeMs = 900 * SECOND;
  for (let minute = 0; minute < 10 * 60; minute++) {
    await Promise.all(["a", "b"].map((key) => cache.get(sts.lookup(key))));
    await clock.advance(MINUTE);
  }
  t.comment(`${(sts.calls.length / 2 / 10).toFixed(2)} calls an hour for each session (target: 8)`);
  t.ok(sts.calls.length / 2 <= 80 * 1.03);
  t.same(reported, [["a", 900_000], ["b", 900_000]]);
  sts.lifeMs = HOUR;
  await cache.get(sts.lookup("c"));
  t.equal(reported.length, 2, "sessions of an hour are not reported as too short");
});

test("does not refresh a session for which no client has waited, such as that of a probe", async (t) => {
  const { clock, sts, cache } = new CacheUnderTest();
  await cache.get({ ...sts.lookup("probed"), isAwaited: false });
  await cache.get({ ...sts.lookup("used"), isAwaited: false });
  await cache.get(sts.lookup("used"));
  t.equal(sts.calls.length, 2, "the client gets the session of the probe");
  await clock.advance(HOUR);
  t.same(sts.calls.map(({ key }) => key), ["probed", "used", "used"]);
  cache.close();
});

test("refreshes an unused session once and then evicts the session", async (t) => {
  for (const lifeMs of [900 * SECOND, HOUR, 12 * HOUR]) {
    const { clock, sts, cache } = new CacheUnderTest();
    sts.lifeMs = lifeMs;
    await cache.get(sts.lookup("a"));
    await clock.advance(3 * lifeMs);
    t.equal(sts.calls.length, 2);
    t.equal(clock.scheduled, 0);
    t.same([...cache.expirations()], []);
  }
});
