import { test } from "tap";
import { ResolverError } from "../../../shared/decisions/errors.ts";
import { CredentialCache, type CredentialCacheOptions } from "../../../sidecar/credentials/cache.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import { FakeClock } from "../fake-clock.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;
/** What sessions are wanted on where that never changes. */
const grantedBy = {};

function session(clock: FakeClock, lifeMs: number, number = 1): Credentials {
  return {
    accessKeyID: `ASIA${number}`, secretAccessKey: "secret", sessionToken: "token", expirationMs: clock.now() + lifeMs,
    accountID: "111122223333", arn: "arn:aws:sts::111122223333:assumed-role/a/s", userID: "AROAA:s",
  };
}

/** A loader that counts its calls and settles when told. */
class Loader {
  calls = 0;
  readonly #waiting: PromiseWithResolvers<Credentials>[] = [];
  readonly load = (): Promise<Credentials> => {
    this.calls += 1;
    const waiting = Promise.withResolvers<Credentials>();
    this.#waiting.push(waiting);
    return waiting.promise;
  };
  answer(credentials: Credentials): void {
    this.#waiting.shift()?.resolve(credentials);
  }
  fail(error: Error): void {
    this.#waiting.shift()?.reject(error);
  }
}

function subject(options: Partial<CredentialCacheOptions> = {}): { clock: FakeClock; cache: CredentialCache; loader: Loader } {
  const clock = new FakeClock();
  // 0.5 is the middle of every jitter: half life exactly.
  return { clock, loader: new Loader(), cache: new CredentialCache({ clock, random: () => 0.5, ...options }) };
}

const refusal = new ResolverError("ERR_STS_REFUSED", "STS answered AssumeRole with AccessDenied");
const trouble = new ResolverError("ERR_STS_UNAVAILABLE", "STS could not be asked");

test("the answer is kept although nobody waits for it any longer", async (t) => {
  const { cache, clock, loader } = subject();
  const hungUp = cache.get({ key: "a", grantedBy, load: loader.load });
  const follower = cache.get({ key: "a", grantedBy, load: loader.load });
  loader.answer(session(clock, HOUR));
  t.equal((await follower).accessKeyID, "ASIA1");
  await hungUp;
  t.equal((await cache.get({ key: "a", grantedBy, load: loader.load })).accessKeyID, "ASIA1");
  t.equal(loader.calls, 1);
});

test("a failure that nobody waits for is no unhandled rejection", async (t) => {
  const { cache, clock, loader } = subject();
  void cache.get({ key: "a", grantedBy, load: loader.load }).catch(() => {});
  loader.fail(trouble);
  await clock.advance(0);
  t.equal(cache.peek("a"), null);
});

test("a session is renewed at half of its life while it is used, and the one before served until then", async (t) => {
  const { cache, clock, loader } = subject();
  const first = cache.get({ key: "a", grantedBy, load: loader.load });
  loader.answer(session(clock, HOUR));
  await first;

  await clock.advance(30 * MINUTE - 1);
  t.equal(loader.calls, 1, "not before");
  await clock.advance(1);
  t.equal(loader.calls, 2, "at half life");
  t.equal((await cache.get({ key: "a", grantedBy, load: loader.load })).accessKeyID, "ASIA1", "the old one while STS is asked");
  loader.answer(session(clock, HOUR, 2));
  await clock.advance(0);
  t.equal((await cache.get({ key: "a", grantedBy, load: loader.load })).accessKeyID, "ASIA2");
  t.equal(loader.calls, 2);
});

test("the jitter of a renewal is a tenth of the life to either side", async (t) => {
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

test("an entry that nobody used for an hour is dropped instead of renewed", async (t) => {
  const { cache, clock, loader } = subject();
  const load = async (): Promise<Credentials> => {
    loader.calls += 1;
    return session(clock, HOUR, loader.calls);
  };
  await cache.get({ key: "a", grantedBy, load });
  await clock.advance(59 * MINUTE);
  t.equal(loader.calls, 2, "renewed once at half life");
  await clock.advance(24 * HOUR);
  t.equal(loader.calls, 2, "and never again");
  t.equal(clock.scheduled, 0, "nothing is left behind");
  t.same([...cache.expirations()], []);
});

test("while STS is down what is valid is served to a minute before its end, then the trouble is told", async (t) => {
  const { cache, clock, loader } = subject();
  let up = true;
  const load = (): Promise<Credentials> => {
    loader.calls += 1;
    return up ? Promise.resolve(session(clock, HOUR)) : Promise.reject(trouble);
  };
  await cache.get({ key: "a", grantedBy, load });
  up = false;
  await clock.advance(59 * MINUTE);
  t.equal((await cache.get({ key: "a", grantedBy, load })).accessKeyID, "ASIA1", "60 s left");
  t.ok(loader.calls > 2, "it was tried all along");
  t.ok(loader.calls < 180, "and not without a pause");
  await clock.advance(1);
  await t.rejects(cache.get({ key: "a", grantedBy, load }), trouble, "59.999 s left");
  up = true;
  await clock.advance(30_000);
  t.equal((await cache.get({ key: "a", grantedBy, load })).accessKeyID, "ASIA1", "back within 30 s");
});

test("a refusal ends what is kept, and is remembered for 60 s", async (t) => {
  const { cache, clock, loader } = subject();
  const first = cache.get({ key: "a", grantedBy, load: loader.load });
  loader.answer(session(clock, HOUR));
  await first;
  await clock.advance(30 * MINUTE);
  loader.fail(refusal);
  await clock.advance(0);
  await t.rejects(cache.get({ key: "a", grantedBy, load: loader.load }), refusal);
  await clock.advance(59_999);
  await t.rejects(cache.get({ key: "a", grantedBy, load: loader.load }), refusal);
  t.equal(loader.calls, 2);
  await clock.advance(1);
  const again = cache.get({ key: "a", grantedBy, load: loader.load });
  t.equal(loader.calls, 3);
  loader.answer(session(clock, HOUR, 3));
  t.equal((await again).accessKeyID, "ASIA3");
});

test("a call that hangs has failed after 5 s, is aborted, and is repeated at most 3 times in 10 s", async (t) => {
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

test("incomplete, expired and short-lived answers are failures", async (t) => {
  const whole = session(new FakeClock(), HOUR);
  const { clock } = subject();
  const bad: readonly Credentials[] = [
    { ...whole, accessKeyID: "" }, { ...whole, secretAccessKey: "" }, { ...whole, sessionToken: "" }, { ...whole, accountID: "" },
    { ...whole, expirationMs: 0 }, { ...whole, expirationMs: clock.now() + 59_999 },
  ];
  for (const answer of bad) {
    const { cache } = subject();
    await t.rejects(cache.get({ key: "a", grantedBy, load: async () => answer }), {
      code: "ERR_STS_UNAVAILABLE", message: "STS answered with credentials that are incomplete or about to expire.",
    });
  }
  const { cache } = subject();
  t.equal((await cache.get({ key: "a", grantedBy, load: async () => ({ ...whole, expirationMs: clock.now() + 60_000 }) })).accessKeyID, "ASIA1", "the near miss");
});

test("a long-lived key is taken as it is and read anew each 10 minutes", async (t) => {
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

test("the one unused for longest goes when there are too many", async (t) => {
  const { cache, clock } = subject({ limit: 2 });
  const load = async (): Promise<Credentials> => session(clock, HOUR);
  await cache.get({ key: "a", grantedBy, load });
  await cache.get({ key: "b", grantedBy, load });
  await cache.get({ key: "a", grantedBy, load });
  await cache.get({ key: "c", grantedBy, load });
  t.same([...cache.expirations()].map(({ key }) => key), ["a", "c"]);
  t.equal(clock.scheduled, 2, "its renewal is called off with it");
});

test("an entry that was dropped under its call is not brought back", async (t) => {
  const { cache, clock, loader } = subject();
  const asked = cache.get({ key: "a", grantedBy, load: loader.load });
  cache.forget("a");
  loader.answer(session(clock, HOUR));
  t.equal((await asked).accessKeyID, "ASIA1", "who waited is answered");
  t.equal(cache.peek("a"), null);
  t.equal(clock.scheduled, 0);
  cache.forget("a");
  t.equal(loader.calls, 1);
});

test("hits and misses are told, and closing leaves no timer", async (t) => {
  const lookups: string[] = [];
  const { cache, clock } = subject({ onLookup: (result) => lookups.push(result) });
  const load = async (): Promise<Credentials> => session(clock, HOUR);
  await cache.get({ key: "a", grantedBy, load });
  await cache.get({ key: "a", grantedBy, load });
  t.same(lookups, ["miss", "hit"]);
  cache.close();
  t.equal(clock.scheduled, 0);
});
