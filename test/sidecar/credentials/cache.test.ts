import { test } from "tap";
import { ResolverError } from "../../../shared/formats/errors.ts";
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

/** A loader that counts its calls. The test settles each call. */
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
  // With the random number 0.5, no delay has jitter, so the cache refreshes a session after exactly half its lifetime.
  return { clock, loader: new Loader(), cache: new CredentialCache({ clock, random: () => 0.5, ...options }) };
}

const DENIED = new ResolverError("ERR_STS_REFUSED", "STS returned AccessDenied for AssumeRole");
const UNAVAILABLE = new ResolverError("ERR_STS_UNAVAILABLE", "STS is unavailable");

test("caches the session although the client that requested it first disconnected", async (t) => {
  const { cache, clock, loader } = subject();
  const disconnected = cache.get({ key: "a", grantedBy, load: loader.load });
  const follower = cache.get({ key: "a", grantedBy, load: loader.load });
  loader.answer(session(clock, HOUR));
  t.equal((await follower).accessKeyID, "ASIA1");
  await disconnected;
  t.equal((await cache.get({ key: "a", grantedBy, load: loader.load })).accessKeyID, "ASIA1");
  t.equal(loader.calls, 1);
});

test("does not cause an unhandled rejection if an STS call fails while no client is waiting", async (t) => {
  const { cache, clock, loader } = subject();
  void cache.get({ key: "a", grantedBy, load: loader.load }).catch(() => {});
  loader.fail(UNAVAILABLE);
  await clock.advance(0);
  t.equal(cache.peek("a"), null);
});

test("refreshes a used session after half its lifetime, and returns the old session until then", async (t) => {
  const { cache, clock, loader } = subject();
  const first = cache.get({ key: "a", grantedBy, load: loader.load });
  loader.answer(session(clock, HOUR));
  await first;

  await clock.advance(30 * MINUTE - 1);
  t.equal(loader.calls, 1, "no refresh before half the lifetime");
  await clock.advance(1);
  t.equal(loader.calls, 2, "a refresh starts at half the lifetime");
  const during = await cache.get({ key: "a", grantedBy, load: loader.load });
  t.equal(during.accessKeyID, "ASIA1", "the old session is returned during the call");
  loader.answer(session(clock, HOUR, 2));
  await clock.advance(0);
  t.equal((await cache.get({ key: "a", grantedBy, load: loader.load })).accessKeyID, "ASIA2");
  t.equal(loader.calls, 2);
});

test("refreshes a session up to a tenth of its lifetime earlier or later than half its lifetime", async (t) => {
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

test("evicts a session at its refresh time if no client requested the session for an hour", async (t) => {
  const { cache, clock, loader } = subject();
  const load = async (): Promise<Credentials> => {
    loader.calls += 1;
    return session(clock, HOUR, loader.calls);
  };
  await cache.get({ key: "a", grantedBy, load });
  await clock.advance(59 * MINUTE);
  t.equal(loader.calls, 2, "the session is refreshed once, at half its lifetime");
  await clock.advance(24 * HOUR);
  t.equal(loader.calls, 2, "the session is not refreshed again");
  t.equal(clock.scheduled, 0, "no timer remains");
  t.same([...cache.expirations()], []);
});

test("returns a cached session in an outage until 60 s before it expires, and then the error", async (t) => {
  const { cache, clock, loader } = subject();
  let up = true;
  const load = (): Promise<Credentials> => {
    loader.calls += 1;
    return up ? Promise.resolve(session(clock, HOUR)) : Promise.reject(UNAVAILABLE);
  };
  await cache.get({ key: "a", grantedBy, load });
  up = false;
  await clock.advance(59 * MINUTE);
  t.equal(
    (await cache.get({ key: "a", grantedBy, load })).accessKeyID,
    "ASIA1",
    "a session that is valid for 60 s is returned",
  );
  t.ok(loader.calls > 2, "the refresh was retried");
  t.ok(loader.calls < 180, "the retries have pauses");
  await clock.advance(1);
  await t.rejects(
    cache.get({ key: "a", grantedBy, load }),
    UNAVAILABLE,
    "a session that is valid for 59.999 s is not returned",
  );
  up = true;
  await clock.advance(30_000);
  t.equal(
    (await cache.get({ key: "a", grantedBy, load })).accessKeyID,
    "ASIA1",
    "a new session is available within 30 s",
  );
});

test("evicts the session on AccessDenied and caches the error for 60 s", async (t) => {
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

test("aborts an STS call that hangs for 5 s, and makes at most 3 calls in 10 s", async (t) => {
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

test("rejects credentials that are incomplete, expired or about to expire", async (t) => {
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
  t.equal((await cache.get({ key: "a", grantedBy, load })).accessKeyID, "ASIA1", "a lifetime of 60 s is enough");
});

test("accepts a key that does not expire, and reloads the key every 10 minutes", async (t) => {
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

test("evicts the least recently used session if the cache is full", async (t) => {
  const { cache, clock } = subject({ limit: 2 });
  const load = async (): Promise<Credentials> => session(clock, HOUR);
  await cache.get({ key: "a", grantedBy, load });
  await cache.get({ key: "b", grantedBy, load });
  await cache.get({ key: "a", grantedBy, load });
  await cache.get({ key: "c", grantedBy, load });
  t.same([...cache.expirations()].map(({ key }) => key), ["a", "c"]);
  t.equal(clock.scheduled, 2, "the refresh of the evicted session is canceled");
});

test("does not cache a session that was evicted while its STS call was in flight", async (t) => {
  const { cache, clock, loader } = subject();
  const request = cache.get({ key: "a", grantedBy, load: loader.load });
  cache.evict("a");
  loader.answer(session(clock, HOUR));
  t.equal((await request).accessKeyID, "ASIA1", "the waiting client receives the session");
  t.equal(cache.peek("a"), null);
  t.equal(clock.scheduled, 0);
  cache.evict("a");
  t.equal(loader.calls, 1);
});

test("reports cache hits and misses, and leaves no timer after close()", async (t) => {
  const lookups: string[] = [];
  const { cache, clock } = subject({ onLookup: (result) => lookups.push(result) });
  const load = async (): Promise<Credentials> => session(clock, HOUR);
  await cache.get({ key: "a", grantedBy, load });
  await cache.get({ key: "a", grantedBy, load });
  t.same(lookups, ["miss", "hit"]);
  cache.close();
  t.equal(clock.scheduled, 0);
});
