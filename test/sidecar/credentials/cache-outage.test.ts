import * as fc from "fast-check";
import { test } from "tap";
import { randomFrom } from "../../../bench/random.ts";
import { CredentialCache } from "../../../sidecar/credentials/cache.ts";
import { CallGate } from "../../../sidecar/sts-upstream/rate-limiter.ts";
import { parameters } from "../../shared/decisions/property.ts";
import { FakeClock } from "../fake-clock.ts";
import { type Behaviour, DENIED, FakeSTS, HOUR, INVALID, MINUTE, SECOND } from "../fake-sts.ts";

interface Subject {
  readonly clock: FakeClock;
  readonly sts: FakeSTS;
  readonly gate: CallGate;
  readonly cache: CredentialCache;
  /** `ok`, or the error's code. */
  readonly ask: (key: string, grantedBy?: object) => Promise<string>;
}

function subject(seed: number): Subject {
  const clock = new FakeClock();
  const sts = new FakeSTS(clock);
  const gate = new CallGate({ clock });
  const cache = new CredentialCache({ clock, random: randomFrom(seed), gate });
  const ask: Subject["ask"] = (key, grantedBy) =>
    cache.get(sts.lookup(key, grantedBy)).then(() => "ok", (error: unknown) => (error instanceof Error && "code" in error ? String(error.code) : String(error)));
  return { clock, sts, gate, cache, ask };
}

function keys(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `role ${i}`);
}

/** Warm, as after hours of use: every key was renewed at times of its own. */
async function warmUp({ clock, ask }: Subject, names: readonly string[], forMs: number): Promise<void> {
  for (let passedMs = 0; passedMs < forMs; passedMs += 10 * MINUTE) {
    const asked = Promise.all(names.map((name) => ask(name)));
    await clock.advance(10 * MINUTE);
    await asked;
  }
}

test("STS is dead for 22 minutes after any steady state: no warm session is refused, and each is renewed within 30 s of its return", async (t) => {
  let asks = 0;
  let slowestMs = 0;
  const outage = fc.record({
    seed: fc.integer(), afterMs: fc.integer({ min: 60 * MINUTE, max: 180 * MINUTE }), how: fc.constantFrom<Behaviour>("hangs", "throttles", "is empty"),
  });
  const property = fc.asyncProperty(outage, async ({ seed, afterMs, how }) => {
    const one = subject(seed);
    const names = keys(12);
    await warmUp(one, names, afterMs);
    await one.clock.advance(afterMs % (10 * MINUTE));
    one.sts.behaviour = how;
    for (let second = 0; second < 22 * 60; second += 30) {
      const answers = await Promise.all(names.map((name) => one.ask(name)));
      asks += answers.length;
      if (answers.some((answer) => answer !== "ok")) return false;
      await one.clock.advance(30 * SECOND);
    }
    one.sts.behaviour = "grants";
    const backMs = one.clock.steady();
    const stale = (): boolean => one.cache.refreshLagMs > 0;
    while (stale() && one.clock.steady() - backMs < MINUTE) await one.clock.advance(500);
    slowestMs = Math.max(slowestMs, one.clock.steady() - backMs);
    return !stale() && one.clock.steady() - backMs <= 30 * SECOND;
  });
  await fc.assert(property, parameters(t, 25));
  t.comment(`0 refusals of ${asks} answers during 22 min without STS (asked: 0); all renewed ${slowestMs / 1000} s after its return at most (asked: 30)`);
});

test("while STS is down what is valid is served to 60 s before its end, and again within 30 s of its return", async (t) => {
  const one = subject(1);
  const asked = one.cache.get(one.sts.lookup("a"));
  const session = await asked;
  one.sts.behaviour = "hangs";
  await one.clock.advance(HOUR - MINUTE);
  t.equal(await one.ask("a"), "ok");
  t.equal(one.sts.leftMs(session), MINUTE);
  t.equal((await one.cache.get(one.sts.lookup("a"))).accessKeyID, session.accessKeyID);
  await one.clock.advance(1);
  const refused = one.ask("a");
  await one.clock.advance(5 * SECOND);
  t.equal(await refused, "ERR_STS_UNAVAILABLE");
  await one.clock.advance(10 * MINUTE);
  one.sts.behaviour = "grants";
  const backMs = one.clock.steady();
  let answer = "";
  while (answer !== "ok" && one.clock.steady() - backMs < MINUTE) {
    answer = await one.ask("a");
    await one.clock.advance(100);
  }
  t.comment(`answered ${(one.clock.steady() - backMs) / 1000} s after STS came back (asked: 30)`);
  t.ok(one.clock.steady() - backMs <= 30 * SECOND);
});

test("STS hangs: 200 cold callers of one session make at most 3 calls in 10 s", async (t) => {
  const one = subject(2);
  one.sts.behaviour = "hangs";
  const refused: Promise<string>[] = [];
  for (let caller = 0; caller < 200; caller++) {
    refused.push(one.ask("a"));
    await one.clock.advance(50);
  }
  t.comment(`${one.sts.calls.length} calls in 10 s for 200 callers (asked: 3)`);
  t.ok(one.sts.calls.length >= 2 && one.sts.calls.length <= 3);
  await one.clock.advance(5 * SECOND);
  t.same([...new Set(await Promise.all(refused))], ["ERR_STS_UNAVAILABLE"]);
  t.equal(one.gate.inFlight, 0, "calls that were given up hold no place");
});

test("STS throttles for 10 min with 200 sessions in use: at most 1 call per 5 s once the circuit is open", async (t) => {
  for (const warm of [true, false]) {
    const one = subject(3);
    const names = keys(200);
    if (warm) await warmUp(one, names, 2 * HOUR);
    one.sts.behaviour = "throttles";
    one.sts.latencyMs = 20;
    const fromMs = one.clock.steady();
    let openedMs = Infinity;
    let refusals = 0;
    for (let second = 0; second < 600; second += 2) {
      const answers = names.map((name) => one.ask(name));
      await one.clock.advance(2 * SECOND);
      refusals += (await Promise.all(answers)).filter((answer) => answer !== "ok").length;
      if (one.gate.circuit !== "closed") openedMs = Math.min(openedMs, one.clock.steady());
    }
    const calls = one.sts.callsBetween(openedMs, Infinity);
    const opening = one.sts.callsBetween(fromMs, openedMs);
    t.comment(`${warm ? "warm" : "cold"}: ${opening} calls until it opened, ${calls} in the ${Math.round((one.clock.steady() - openedMs) / 1000)} s after (asked: 1 per 5 s)`);
    t.ok(calls <= Math.ceil((one.clock.steady() - openedMs) / 5_000));
    t.equal(warm ? refusals : 0, 0, "what is kept is served");
    t.ok(opening <= 33, "the first 5 failures, and what was under way meanwhile");
  }
});

test("a caller is refused at once while the circuit is open, told since when and why", async (t) => {
  const one = subject(4);
  one.sts.behaviour = "throttles";
  await Promise.all(keys(5).map((name) => one.ask(name)));
  const calls = one.sts.calls.length;
  await t.rejects(one.cache.get(one.sts.lookup("another")), { code: "ERR_STS_UNAVAILABLE", message: /^STS is not asked since 2026-08-01T12:00:00Z, .*Rate exceeded$/ });
  t.equal(one.sts.calls.length, calls);
});

test("a broken trust policy costs at most 60 calls an hour when it is asked for each 5 s, an invalid request 12", async (t) => {
  for (const [how, most] of [["denies", 60], ["finds it invalid", 12]] as const) {
    const one = subject(5);
    one.sts.behaviour = how;
    const answers = new Set<string>();
    for (let second = 0; second < 3600; second += 5) {
      answers.add(await one.ask("a"));
      await one.clock.advance(5 * SECOND);
    }
    t.comment(`STS ${how}: ${one.sts.calls.length} calls (asked: ${most})`);
    t.ok(one.sts.calls.length <= most && one.sts.calls.length >= most - 1);
    t.same([...answers], ["ERR_STS_REFUSED"]);
  }
});

test("the tries of botocore and of the JavaScript SDK make one call", async (t) => {
  for (const tries of [3, 5]) {
    const one = subject(6);
    one.sts.behaviour = "denies";
    for (let i = 0; i < tries; i++) {
      t.equal(await one.ask("a"), "ERR_STS_REFUSED");
      await one.clock.advance(700);
    }
    t.equal(one.sts.calls.length, 1);
  }
});

test("a refusal is forgotten at once when what was granted on has changed, and trouble is not", async (t) => {
  const one = subject(7);
  one.sts.behaviour = "denies";
  t.equal(await one.ask("a"), "ERR_STS_REFUSED");
  one.sts.behaviour = "grants";
  t.equal(await one.ask("a"), "ERR_STS_REFUSED");
  t.equal(await one.ask("a", { changed: true }), "ok");
  one.sts.behaviour = "throttles";
  for (let i = 0; i < 3; i++) await one.ask("b", { number: i });
  t.equal(one.sts.callsBetween(0, Infinity), 3, "one for b: a change of its selector makes STS no healthier");
});

test("two selectors of one role ask once each while STS refuses it, not at every turn", async (t) => {
  const one = subject(8);
  const selectors = [{ name: "a" }, { name: "b" }] as const;
  one.sts.behaviour = "denies";
  for (let second = 0; second < 3600; second += 5) {
    await one.ask("role", selectors[second % 2]);
    await one.clock.advance(5 * SECOND);
  }
  t.ok(one.sts.calls.length <= 61, `${one.sts.calls.length} calls in an hour`);
});

test("STS's AccessDenied ends what is kept, and another refusal does not", async (t) => {
  for (const [how, kept] of [["denies", false], ["finds it invalid", true]] as const) {
    const one = subject(9);
    t.equal(await one.ask("a"), "ok");
    one.sts.behaviour = how;
    await one.clock.advance(40 * MINUTE);
    t.equal(one.sts.calls.length, kept ? 4 : 2, "one at the first, then each 5 minutes where it is kept and refreshed");
    if (kept) t.equal(await one.ask("a"), "ok");
    else await t.rejects(one.cache.get(one.sts.lookup("a")), DENIED);
    one.cache.close();
    t.equal(one.clock.scheduled, 0);
  }
  t.equal(INVALID.stsCode, "ValidationError");
});

test("a session that STS denies ahead of its time is asked for no more until somebody wants it", async (t) => {
  const one = subject(10);
  t.equal(await one.ask("a"), "ok");
  one.clock.jump(40 * MINUTE);
  one.sts.behaviour = "denies";
  t.equal(await one.ask("a"), "ok", "served, and renewed in the background since the clock says that it is due");
  await one.clock.advance(2 * HOUR);
  t.equal(one.sts.calls.length, 2);
  t.equal(one.clock.scheduled, 0);
});

/** How long the last of some cold sessions, which were asked for each second of an outage, takes after it. */
async function recoveryMs(seed: number, how: Behaviour): Promise<number> {
  const one = subject(seed);
  const missing = new Set(keys(1 + (seed % 4)));
  const askAll = (): void => {
    for (const name of missing) void one.ask(name).then((answer) => answer === "ok" && missing.delete(name));
  };
  one.sts.behaviour = how;
  for (let second = 0; second < 300 + seed; second++) {
    askAll();
    await one.clock.advance(SECOND);
  }
  one.sts.behaviour = "grants";
  const backMs = one.clock.steady();
  while (missing.size > 0 && one.clock.steady() - backMs < MINUTE) {
    askAll();
    await one.clock.advance(250);
  }
  return one.clock.steady() - backMs;
}

test("cold sessions that were asked for each second of an outage are given within 30 s of STS's return", async (t) => {
  const taken: number[] = [];
  for (const how of ["throttles", "hangs"] as const) {
    for (let seed = 0; seed < 20; seed++) taken.push(await recoveryMs(seed, how));
  }
  t.comment(`the slowest of ${taken.length} outages: ${Math.max(...taken) / 1000} s (asked: 30)`);
  t.ok(Math.max(...taken) <= 30 * SECOND);
});
