import { test } from "tap";
import { RateLimiter } from "../../../sidecar/sts-upstream/rate-limiter.ts";
import { FakeClock } from "../fake-clock.ts";

interface Subject {
  readonly clock: FakeClock;
  readonly budget: RateLimiter;
  /** Names of calls in the order that they started in. */
  readonly started: readonly string[];
  readonly startedAtMs: readonly number[];
  /** Of the calls that run now, oldest first. */
  readonly running: (() => void)[];
  readonly ask: (name: string, how?: { readonly isAwaited?: () => boolean; readonly unwanted?: AbortSignal; readonly endsAtOnce?: boolean }) => Promise<void>;
}

function subject(): Subject {
  const clock = new FakeClock();
  const budget = new RateLimiter(clock);
  const started: string[] = [];
  const startedAtMs: number[] = [];
  const running: (() => void)[] = [];
  const ask: Subject["ask"] = (name, { isAwaited = () => true, unwanted = new AbortController().signal, endsAtOnce = false } = {}) => {
    const call = (): Promise<void> => {
      started.push(name);
      startedAtMs.push(clock.steady());
      return endsAtOnce ? Promise.resolve() : new Promise((resolve) => running.push(resolve));
    };
    return budget.run(call, { isAwaited, unwanted });
  };
  return { clock, budget, started, startedAtMs, running, ask };
}

test("at most 8 calls are in flight, and who waits longest goes next", async (t) => {
  const { budget, clock, started, running, ask } = subject();
  const asked = Array.from({ length: 12 }, (_, i) => ask(`${i}`));
  await clock.advance(10_000);
  t.equal(budget.inFlight, 8);
  t.equal(budget.waiting, 4);
  running.shift()?.();
  await clock.advance(0);
  t.same(started.slice(8), ["8"]);
  for (let i = 0; i < 12; i++) {
    running.shift()?.();
    await clock.advance(0);
  }
  await Promise.all(asked);
  t.same(started, Array.from({ length: 12 }, (_, i) => `${i}`));
  t.equal(budget.inFlight, 0);
  t.equal(clock.scheduled, 0, "no timer is left behind");
});

test("25 calls start at once after a quiet time, then 10 a second", async (t) => {
  const { clock, startedAtMs, ask } = subject();
  const asked = Array.from({ length: 100 }, (_, i) => ask(`${i}`, { endsAtOnce: true }));
  await clock.advance(0);
  t.equal(startedAtMs.length, 25);
  for (let second = 1; second <= 7; second++) {
    await clock.advance(1_000);
    t.equal(startedAtMs.length, 25 + 10 * second);
  }
  await clock.advance(500);
  await Promise.all(asked);
  t.equal(startedAtMs.length, 100);
  await clock.advance(3_600_000);
  const burst = Array.from({ length: 30 }, () => ask("x", { endsAtOnce: true }));
  await clock.advance(0);
  t.equal(startedAtMs.length, 125, "and no more than 25 were saved up");
  await clock.advance(500);
  await Promise.all(burst);
});

test("a call that somebody waits for goes before those that only refresh, also when that comes later", async (t) => {
  const { clock, started, running, ask } = subject();
  const isWanted = new Set(["d"]);
  const asked = "12345678".split("").map((name) => ask(name));
  asked.push(..."abcd".split("").map((name) => ask(name, { isAwaited: () => isWanted.has(name) })));
  isWanted.add("c");
  await clock.advance(0);
  for (let i = 0; i < 12; i++) {
    running.shift()?.();
    await clock.advance(0);
  }
  await Promise.all(asked);
  t.equal(started.slice(8).join(""), "cdab");
});

test("a call that fails frees its place", async (t) => {
  const { budget, clock } = subject();
  const how = { isAwaited: () => true, unwanted: new AbortController().signal };
  await t.rejects(budget.run(() => Promise.reject(new Error("failed")), how), { message: "failed" });
  t.equal(budget.inFlight, 0);
  await t.rejects(budget.run(() => { throw new Error("threw"); }, how), { message: "threw" });
  t.equal(budget.inFlight, 0);
  t.equal(clock.scheduled, 0);
});

test("who no longer wants its call loses its turn, and one that has started goes on", async (t) => {
  const { budget, clock, started, running, ask } = subject();
  const abort = new AbortController();
  const first = ask("first", { unwanted: abort.signal });
  const others = Array.from({ length: 7 }, () => ask("other"));
  const waits = ask("waits", { unwanted: abort.signal });
  await clock.advance(0);
  abort.abort(new Error("dropped"));
  await t.rejects(waits, { message: "dropped" });
  t.equal(budget.waiting, 0);
  t.equal(budget.inFlight, 8);
  while (running.length > 0) running.shift()?.();
  await Promise.all([first, ...others]);
  t.notOk(started.includes("waits"));
  await t.rejects(ask("late", { unwanted: abort.signal }), { message: "dropped" });
  t.equal(clock.scheduled, 0);
});

test("all that wait can be refused at once", async (t) => {
  const { budget, clock, running, ask } = subject();
  const flying = Array.from({ length: 8 }, () => ask("flies"));
  const waiting = Array.from({ length: 3 }, () => ask("waits"));
  await clock.advance(0);
  budget.refuseWaiting(new Error("STS is down"));
  for (const one of waiting) await t.rejects(one, { message: "STS is down" });
  while (running.length > 0) running.shift()?.();
  await Promise.all(flying);
  t.equal(budget.inFlight, 0);
});
