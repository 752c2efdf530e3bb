import { test } from "tap";
import { ResolverError } from "../../../shared/decisions/errors.ts";
import { CredentialCache, type CredentialCacheOptions } from "../../../sidecar/credentials/cache.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import { FakeClock } from "../fake-clock.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;
/** A grant that never changes. */
const grantedBy = {};

function session(clock: FakeClock, lifeMs: number, number = 1): Credentials {
  return {
    accessKeyID: `ASIA${number}`, secretAccessKey: "secret", sessionToken: "token", expirationMs: clock.now() + lifeMs,
    accountID: "111122223333", arn: "arn:aws:sts::111122223333:assumed-role/a/s", userID: "AROAA:s",
  };
}

/** A loader that counts its calls, which the test settles. */
class Loader {
  calls = 0;
  readonly #waiting: PromiseWithResolvers<Credentials>[] = [];
  readonly load = (): Promise<Credentials> => {
    this.calls += 1;
    const pending = Promise.withResolvers<Credentials>();
    this.#waiting.push(pending);
    return pending.promise;
  };
  answer(credentials: Credentials): void {
    this.#waiting.shift()?.resolve(credentials);
  }
  fail(error: Error): void {
    this.#waiting.shift()?.reject(error);
  }
}

interface Subject {
  readonly clock: FakeClock;
  readonly cache: CredentialCache;
  readonly loader: Loader;
}

function subject(options: Partial<CredentialCacheOptions> = {}): Subject {
  const clock = new FakeClock();
  // 0.5 removes every jitter: refreshes happen at exactly half of the life.
  return { clock, loader: new Loader(), cache: new CredentialCache({ clock, random: () => 0.5, ...options }) };
}

const DENIED = new ResolverError("ERR_STS_REFUSED", "STS returned AccessDenied for AssumeRole");
const UNAVAILABLE = new ResolverError("ERR_STS_UNAVAILABLE", "STS is unavailable");

test("caches the session although the first client disconnected", async (t) => {
  const { cache, clock, loader } = subject();
  const disconnected = cache.get({ key: "a", grantedBy, load: loader.load });
  const follower = cache.get({ key: "a", grantedBy, load: loader.load });
  loader.answer(session(clock, HOUR));
  t.equal((await follower).accessKeyID, "ASIA1");
  await disconnected;
  t.equal((await cache.get({ key: "a", grantedBy, load: loader.load })).accessKeyID, "ASIA1");
  t.equal(loader.calls, 1);
});

test("a failure without a waiting client is not an unhandled rejection", async (t) => {
  const { cache, clock, loader } = subject();
  void cache.get({ key: "a", grantedBy, load: loader.load }).catch(() => {});
  loader.fail(UNAVAILABLE);
  await clock.advance(0);
  t.equal(cache.peek("a"), null);
});

test("refreshes a session in use at half of its life, and serves the old one until then", async (t) => {
  const { cache, clock, loader } = subject();
  const first = cache.get({ key: "a", grantedBy, load: loader.load });
  loader.answer(session(clock, HOUR));
  await first;

  await clock.advance(30 * MINUTE - 1);
  t.equal(loader.calls, 1, "not before half of the life");
  await clock.advance(1);
  t.equal(loader.calls, 2, "at half of the life");
  const during = await cache.get({ key: "a", grantedBy, load: loader.load });
  t.equal(during.accessKeyID, "ASIA1", "the old session during the call");
  loader.answer(session(clock, HOUR, 2));
  await clock.advance(0);
  t.equal((await cache.get({ key: "a", grantedBy, load: loader.load })).accessKeyID, "ASIA2");
  t.equal(loader.calls, 2);
});

test("varies the refresh by a tenth of the life in both directions", async (t) => {
  for (const [random, share] of [[0, 0.4], [0.999_999, 0.6]] as const) {
    const { cache, clock, loader } = subject({ random: () => random });
    const first = cache.get({ key: "a", grantedBy, load: loader.load });
    loader.answer(session(clock, HOUR));
    await first;
    await clock.advance(share * HOUR - 10);
    t.equal(loader.calls, 1);
    await clock.advance(20);
    t.equal(loader.calls, 2);
  }
});

test("evicts a session that was not used for an hour instead of refreshing it", async (t) => {
  const { cache, clock, loader } = subject();
  const load = async (): Promise<Credentials> => {
    loader.calls += 1;
    return session(clock, HOUR, loader.calls);
  };
  await cache.get({ key: "a", grantedBy, load });
  await clock.advance(59 * MINUTE);
  t.equal(loader.calls, 2, "refreshed once, at half of its life");
  await clock.advance(24 * HOUR);
  t.equal(loader.calls, 2, "not refreshed again");
  t.equal(clock.scheduled, 0, "no timer remains");
  t.same([...cache.expirations()], []);
});

test("serves a session until 60 s before it expires without STS, and then rejects with the error", async (t) => {
  const { cache, clock, loader } = subject();
  let up = true;
  const load = (): Promise<Credentials> => {
    loader.calls += 1;
    return up ? Promise.resolve(session(clock, HOUR)) : Promise.reject(UNAVAILABLE);
  };
  await cache.get({ key: "a", grantedBy, load });
  up = false;
  await clock.advance(59 * MINUTE);
  t.equal((await cache.get({ key: "a", grantedBy, load })).accessKeyID, "ASIA1", "60 s left");
  t.ok(loader.calls > 2, "it was retried");
  t.ok(loader.calls < 180, "with pauses");
  await clock.advance(1);
  await t.rejects(cache.get({ key: "a", grantedBy, load }), UNAVAILABLE, "59.999 s left");
  up = true;
  await clock.advance(30_000);
  t.equal((await cache.get({ key: "a", grantedBy, load })).accessKeyID, "ASIA1", "available within 30 s");
});

test("evicts the session on AccessDenied, and caches the error for 60 s", async (t) => {
  const { cache, clock, loader } = subject();
  const first = cache.get({ key: "a", grantedBy, load: loader.load });
  loader.answer(session(clock, HOUR));
  await first;
  await clock.advance(30 * MINUTE);
  loader.fail(DENIED);
  await clock.advance(0);
  await t.rejects(cache.get({ key: "a", grantedBy, load: loader.load }), DENIED);
  await clock.advance(59_999);
  await t.rejects(cache.get({ key: "a", grantedBy, load: loader.load }), DENIED);
  t.equal(loader.calls, 2);
  await clock.advance(1);
  const again = cache.get({ key: "a", grantedBy, load: loader.load });
  t.equal(loader.calls, 3);
  loader.answer(session(clock, HOUR, 3));
  t.equal((await again).accessKeyID, "ASIA3");
});

test("aborts a hanging call after 5 s, and makes at most 3 calls in 10 s", async (t) => {
  const { cache, clock } = subject();
  const signals: AbortSignal[] = [];
  const load = (signal: AbortSignal): Promise<Credentials> => {
    signals.push(signal);
    return new Promise(() => {});
  };
  for (let i = 0; i < 200; i++) {
    cache.get({ key: "a", grantedBy, load }).catch(() => {});
    await clock.advance(50);
  }
  t.ok(signals.length >= 2 && signals.length <= 3, `${signals.length} calls`);
  t.equal(signals[0]?.aborted, true);
});

test("rejects incomplete, expired and short-lived credentials", async (t) => {
  const complete = session(new FakeClock(), HOUR);
  const { clock } = subject();
  const bad: readonly Credentials[] = [
    { ...complete, accessKeyID: "" }, { ...complete, secretAccessKey: "" }, { ...complete, sessionToken: "" },
    { ...complete, accountID: "" }, { ...complete, expirationMs: 0 },
    { ...complete, expirationMs: clock.now() + 59_999 },
  ];
  for (const answer of bad) {
    const { cache } = subject();
    await t.rejects(cache.get({ key: "a", grantedBy, load: async () => answer }), {
      code: "ERR_STS_UNAVAILABLE", message: "STS returned credentials that are incomplete or about to expire.",
    });
  }
  const { cache } = subject();
  const load = async (): Promise<Credentials> => ({ ...complete, expirationMs: clock.now() + 60_000 });
  t.equal((await cache.get({ key: "a", grantedBy, load })).accessKeyID, "ASIA1", "60 s of life are enough");
});

test("accepts a long-lived key and reloads it every 10 minutes", async (t) => {
  const { cache, clock } = subject();
  let calls = 0;
  const load = async (): Promise<Credentials> => {
    calls += 1;
    return { ...session(clock, HOUR), sessionToken: null, expirationMs: null };
  };
  await cache.get({ key: "a", grantedBy, load });
  await clock.advance(10 * MINUTE);
  t.equal(calls, 2);
});

test("evicts the least recently used session", async (t) => {
  const { cache, clock } = subject({ limit: 2 });
  const load = async (): Promise<Credentials> => session(clock, HOUR);
  await cache.get({ key: "a", grantedBy, load });
  await cache.get({ key: "b", grantedBy, load });
  await cache.get({ key: "a", grantedBy, load });
  await cache.get({ key: "c", grantedBy, load });
  t.same([...cache.expirations()].map(({ key }) => key), ["a", "c"]);
  t.equal(clock.scheduled, 2, "its refresh is canceled");
});

test("does not cache a session that was evicted during its call", async (t) => {
  const { cache, clock, loader } = subject();
  const request = cache.get({ key: "a", grantedBy, load: loader.load });
  cache.evict("a");
  loader.answer(session(clock, HOUR));
  t.equal((await request).accessKeyID, "ASIA1", "the waiting client receives it");
  t.equal(cache.peek("a"), null);
  t.equal(clock.scheduled, 0);
  cache.evict("a");
  t.equal(loader.calls, 1);
});

test("reports hits and misses, and leaves no timer after close", async (t) => {
  const lookups: string[] = [];
  const { cache, clock } = subject({ onLookup: (result) => lookups.push(result) });
  const load = async (): Promise<Credentials> => session(clock, HOUR);
  await cache.get({ key: "a", grantedBy, load });
  await cache.get({ key: "a", grantedBy, load });
  t.same(lookups, ["miss", "hit"]);
  cache.close();
  t.equal(clock.scheduled, 0);
});
