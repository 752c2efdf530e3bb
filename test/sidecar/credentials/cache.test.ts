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

const UNAVAILABLE = new ResolverError("ERR_STS_UNAVAILABLE", "STS is unavailable");

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
