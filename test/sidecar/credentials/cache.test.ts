import { test } from "tap";
import { CredentialCache } from "../../../sidecar/credentials/cache.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import type { CallGuard } from "../../../sidecar/sts-upstream/rate-limiter.ts";
import { FakeClock } from "../fake-clock.ts";
import { CacheUnderTest, FakeSTS, HOUR, MINUTE } from "../fake-sts.ts";

test("gives a refresh the priority of a waiting client when its session is about to expire", async (t) => {
  const clock = new FakeClock();
  const sts = new FakeSTS(clock);
  const refreshes: (() => boolean)[] = [];
  const guard: CallGuard = {
    check: () => {},
    run: (call, { isAwaited }) => {
      if (isAwaited()) return call();
      refreshes.push(isAwaited);
      return new Promise(() => {});
    },
  };
  const cache = new CredentialCache({ clock, random: () => 0.5, guard });
  await cache.get(sts.lookup("a"));
  await clock.advance(54 * MINUTE);
  t.same(refreshes.map((isAwaited) => isAwaited()), [false], "the refresh is queued at half of the lifetime");
  await clock.advance(2 * MINUTE);
  t.same(refreshes.map((isAwaited) => isAwaited()), [true]);
  cache.close();
});

test("does not cause an unhandled rejection if an STS call fails while no client is waiting", async (t) => {
  const { cache, clock, sts } = new CacheUnderTest();
  sts.behavior = "throttles";
  void cache.get(sts.lookup("a")).catch(() => {});
  await clock.advance(0);
  t.equal(cache.peek("a"), null);
});

test("refreshes a used session after half its lifetime, and returns the old session until then", async (t) => {
  const one = new CacheUnderTest();
  const { clock, sts } = one;
  await one.get();
  await clock.advance(30 * MINUTE - 1);
  t.equal(sts.calls.length, 1, "no refresh before half the lifetime");
  sts.latencyMs = 1_000;
  await clock.advance(1);
  t.equal(sts.calls.length, 2, "a refresh starts at half the lifetime");
  t.equal((await one.get()).accessKeyID, "ASIA1", "the old session is returned during the call");
  await clock.advance(1_000);
  t.equal((await one.get()).accessKeyID, "ASIA2");
  t.equal(sts.calls.length, 2);
});

test("refreshes a session up to a tenth of its lifetime earlier or later than half its lifetime", async (t) => {
  for (const [random, share] of [[0, 0.4], [0.999_999, 0.6]] as const) {
    const one = new CacheUnderTest({ random: () => random });
    await one.get();
    await one.clock.advance(share * HOUR - 10);
    t.equal(one.sts.calls.length, 1);
    await one.clock.advance(20);
    t.equal(one.sts.calls.length, 2);
  }
});

test("rejects credentials that are incomplete, expired or about to expire", async (t) => {
  const clock = new FakeClock();
  const complete: Credentials = {
    accessKeyID: "ASIA1", secretAccessKey: "secret", sessionToken: "token", expirationMs: clock.now() + 60_000,
    accountID: "111122223333", arn: "arn:aws:sts::111122223333:assumed-role/a/s", userID: "AROAA:s",
  };
  const get = (answer: Credentials): Promise<Credentials> => {
    const cache = new CredentialCache({ clock, random: () => 0.5 });
    return cache.get({ key: "a", grantedBy: cache, load: async () => answer });
  };
  for (const change of [
    { accessKeyID: "" }, { secretAccessKey: "" }, { sessionToken: "" }, { accountID: "" }, { expirationMs: 0 },
    { expirationMs: clock.now() + 59_999 },
  ]) {
    await t.rejects(get({ ...complete, ...change }), {
      code: "ERR_STS_UNAVAILABLE", message: "STS returned credentials that are incomplete or about to expire.",
    });
  }
  t.equal((await get(complete)).accessKeyID, "ASIA1", "a lifetime of 60 s is enough");
});

test("accepts a key that does not expire, and reloads the key every 10 minutes", async (t) => {
  const { cache, clock, sts } = new CacheUnderTest();
  const load = async (signal: AbortSignal): Promise<Credentials> => (
    { ...await sts.load()(signal), sessionToken: null, expirationMs: null }
  );
  await cache.get({ key: "a", grantedBy: cache, load });
  await clock.advance(10 * MINUTE);
  t.equal(sts.calls.length, 2);
});

test("does not cache a session that was evicted while its STS call was in flight", async (t) => {
  const one = new CacheUnderTest();
  const { cache, clock, sts } = one;
  sts.latencyMs = 100;
  const request = one.get();
  cache.evict("a");
  await clock.advance(100);
  t.equal((await request).accessKeyID, "ASIA1", "the waiting client receives the session");
  t.equal(cache.peek("a"), null);
  t.equal(clock.scheduled, 0);
  cache.evict("a");
  t.equal(sts.calls.length, 1);
});

test("reports the first failed refresh, the next successful refresh, and the delay of a refresh", async (t) => {
  const events: string[] = [];
  const onRefresh = (key: string, _error: unknown, state: string): void => void events.push(`${key} ${state}`);
  const one = new CacheUnderTest({ onRefresh });
  const { cache, clock, sts } = one;
  await one.get();
  await clock.advance(30 * MINUTE);
  t.same(events, [], "successful refreshes are not reported");
  await one.get();
  sts.behavior = "throttles";
  await clock.advance(40 * MINUTE);
  t.same(events, ["a failing"]);
  t.equal(cache.refreshLagMs, 10 * MINUTE);
  clock.jump(-10 * MINUTE);
  t.equal(cache.refreshLagMs, 10 * MINUTE, "the delay does not depend on the wall clock");
  sts.behavior = "grants";
  await clock.advance(MINUTE);
  t.same(events, ["a failing", "a recovered"]);
  t.equal(cache.refreshLagMs, 0);
  await one.get();
  sts.behavior = "throttles";
  await clock.advance(50 * MINUTE);
  t.ok(cache.refreshLagMs > 0);
  await clock.advance(11 * MINUTE);
  t.equal(cache.refreshLagMs, 0, "no delay is reported for a session that was unused for an hour");
  cache.close();
});
