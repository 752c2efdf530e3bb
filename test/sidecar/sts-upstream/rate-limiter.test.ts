import { test } from "tap";
import type { CircuitState } from "../../../sidecar/sts-upstream/circuit-breaker.ts";
import { CircuitOpenError } from "../../../sidecar/sts-upstream/errors.ts";
import { RateLimiter, STSCallGuard } from "../../../sidecar/sts-upstream/rate-limiter.ts";
import { FakeClock } from "../fake-clock.ts";
import { THROTTLED, UNREACHABLE } from "../fake-sts.ts";

const AWAITED = { isAwaited: () => true, signal: new AbortController().signal };

interface Subject {
  readonly clock: FakeClock;
  readonly limiter: RateLimiter;
  /** The names of the calls, in the order in which they started. */
  readonly started: readonly string[];
  readonly startedAtMs: readonly number[];
  /** Contains a function for each call in flight, oldest first, which ends the call. */
  readonly running: (() => void)[];
  readonly run: (
    name: string,
    options?: { readonly isAwaited?: () => boolean; readonly signal?: AbortSignal; readonly endsAtOnce?: boolean },
  ) => Promise<void>;
}

function subject(): Subject {
  const clock = new FakeClock();
  const limiter = new RateLimiter(clock);
  const started: string[] = [];
  const startedAtMs: number[] = [];
  const running: (() => void)[] = [];
  const run: Subject["run"] = (
    name,
    { isAwaited = () => true, signal = new AbortController().signal, endsAtOnce = false } = {},
  ) => {
    const call = (): Promise<void> => {
      started.push(name);
      startedAtMs.push(clock.steady());
      return endsAtOnce ? Promise.resolve() : new Promise((resolve) => running.push(resolve));
    };
    return limiter.run(call, { isAwaited, signal });
  };
  return { clock, limiter, started, startedAtMs, running, run };
}

test("runs at most 32 STS calls at a time, and starts queued calls in order of arrival", async (t) => {
  const { limiter, clock, started, running, run } = subject();
  const calls = Array.from({ length: 36 }, (_, i) => run(`${i}`));
  await clock.advance(10_000);
  t.equal(limiter.inFlight, 32);
  t.equal(limiter.waiting, 4);
  running.shift()?.();
  await clock.advance(0);
  t.same(started.slice(32), ["32"]);
  for (let i = 0; i < 36; i++) {
    running.shift()?.();
    await clock.advance(0);
  }
  await Promise.all(calls);
  t.same(started, Array.from({ length: 36 }, (_, i) => `${i}`));
  t.equal(limiter.inFlight, 0);
  t.equal(clock.scheduled, 0, "no timer remains");
});

test("starts 200 calls immediately after an idle period, and then 200 calls a second", async (t) => {
  const { clock, limiter, startedAtMs, run } = subject();
  const calls = Array.from({ length: 500 }, (_, i) => run(`${i}`, { endsAtOnce: true }));
  await clock.advance(0);
  t.equal(startedAtMs.length, 200);
  t.equal(Math.round(limiter.delayMs), 1_505, "the time until the 301st call in the queue");
  await clock.advance(1_000);
  t.equal(startedAtMs.length, 400);
  await clock.advance(500);
  await Promise.all(calls);
  t.equal(startedAtMs.length, 500);
  await clock.advance(3_600_000);
  const burst = Array.from({ length: 250 }, () => run("x", { endsAtOnce: true }));
  await clock.advance(0);
  t.equal(startedAtMs.length, 700, "a burst has at most 200 calls");
  await clock.advance(250);
  await Promise.all(burst);
});

/** Starts `count` calls to an STS that allows `perSecond` calls, in bursts of one second, and responds after 100 ms. */
function throttledCalls({ clock, limiter }: Subject, { count, perSecond }: { count: number; perSecond: number }): {
  readonly completed: readonly number[]; readonly calls: () => number; readonly all: Promise<unknown>;
} {
  const completed: number[] = [];
  let [tokens, atMs, calls] = [perSecond, clock.steady(), 0];
  const call = (i: number) => async (): Promise<void> => {
    calls += 1;
    tokens = Math.min(perSecond, tokens + ((clock.steady() - atMs) * perSecond) / 1000);
    atMs = clock.steady();
    const isThrottled = tokens < 1;
    if (!isThrottled) tokens -= 1;
    await new Promise<void>((resolve) => void clock.schedule(100, resolve));
    if (isThrottled) throw THROTTLED;
    completed.push(i);
  };
  const all = Promise.all(Array.from({ length: count }, (_, i) => limiter.run(call(i), AWAITED)));
  return { completed, calls: () => calls, all };
}

test("completes 1,000 calls in order although STS throttles, at most of the rate that STS allows", async (t) => {
  for (const [perSecond, maxSeconds] of [[150, 8], [100, 13], [30, 60]] as const) {
    const one = subject();
    const { completed, calls, all } = throttledCalls(one, { count: 1_000, perSecond });
    await one.clock.advance(maxSeconds * 1000);
    await all;
    const seconds = `${perSecond}/s: ${calls()} calls`;
    t.ok(calls() < 1_500, seconds);
    const displaced = Math.max(...completed.map((i, position) => Math.abs(i - position)));
    t.ok(displaced <= 150, `${seconds}; a throttled call keeps its place (${displaced})`);
  }
});

test("halves the rate once for calls that STS throttles together, and recovers within 10 s", async (t) => {
  const { clock, limiter, run } = subject();
  const throttled = Promise.withResolvers<never>();
  let attempts = 0;
  const call = (): Promise<void> => (attempts++ < 20 ? throttled.promise : Promise.resolve());
  const calls = Array.from({ length: 20 }, () => limiter.run(call, AWAITED));
  await clock.advance(0);
  throttled.reject(THROTTLED);
  await clock.advance(0);
  t.equal(limiter.waiting, 20);
  t.equal(Math.round(limiter.delayMs), 300, "at 100 calls a second, after 100 ms");
  await clock.advance(300);
  await Promise.all(calls);
  await clock.advance(10_000);
  const burst = Array.from({ length: 300 }, () => run("x", { endsAtOnce: true }));
  await clock.advance(0);
  t.equal(limiter.waiting, 100);
  await clock.advance(1_000);
  await Promise.all(burst);
});

test("rejects a throttled call after 5 lower rates in a row did not help", async (t) => {
  const { clock, limiter } = subject();
  let attempts = 0;
  const call = (): Promise<never> => {
    attempts += 1;
    return Promise.reject(THROTTLED);
  };
  const rejected = t.rejects(limiter.run(call, AWAITED), THROTTLED);
  await clock.advance(1_499);
  t.equal(attempts, 4, "after pauses of 100, 200 and 400 ms");
  await clock.advance(1);
  await rejected;
  t.equal(attempts, 5);
  const again = t.rejects(limiter.run(call, AWAITED), THROTTLED);
  await clock.advance(5_000);
  await again;
  t.equal(attempts, 6, "until STS responds again, a probe is not repeated");
});

test("starts a call that a client waits for before other calls, even if the client arrives later", async (t) => {
  const { clock, started, running, run } = subject();
  const awaited = new Set(["d"]);
  const calls = Array.from({ length: 32 }, (_, i) => run(`${i}`));
  calls.push(..."abcd".split("").map((name) => run(name, { isAwaited: () => awaited.has(name) })));
  awaited.add("c");
  await clock.advance(0);
  for (let i = 0; i < 36; i++) {
    running.shift()?.();
    await clock.advance(0);
  }
  await Promise.all(calls);
  t.equal(started.slice(32).join(""), "cdab");
});

test("a failed call frees its slot for the next call", async (t) => {
  const { limiter, clock } = subject();
  await t.rejects(limiter.run(() => Promise.reject(new Error("failed")), AWAITED), { message: "failed" });
  t.equal(limiter.inFlight, 0);
  await t.rejects(limiter.run(() => { throw new Error("threw"); }, AWAITED), { message: "threw" });
  t.equal(limiter.inFlight, 0);
  t.equal(clock.scheduled, 0);
});

test("removes an aborted call from the queue, but does not stop an aborted call in flight", async (t) => {
  const { limiter, clock, started, running, run } = subject();
  const abort = new AbortController();
  const first = run("first", { signal: abort.signal });
  const others = Array.from({ length: 31 }, () => run("other"));
  const queued = run("waits", { signal: abort.signal });
  await clock.advance(0);
  abort.abort(new Error("evicted"));
  await t.rejects(queued, { message: "evicted" });
  t.equal(limiter.waiting, 0);
  t.equal(limiter.inFlight, 32);
  while (running.length > 0) running.shift()?.();
  await Promise.all([first, ...others]);
  t.notOk(started.includes("waits"));
  await t.rejects(run("late", { signal: abort.signal }), { message: "evicted" });
  t.equal(clock.scheduled, 0);
});

test("rejectWaiting rejects all queued calls", async (t) => {
  const { limiter, clock, running, run } = subject();
  const flying = Array.from({ length: 32 }, () => run("flies"));
  const waiting = Array.from({ length: 3 }, () => run("waits"));
  await clock.advance(0);
  limiter.rejectWaiting(new Error("STS is down"));
  for (const one of waiting) await t.rejects(one, { message: "STS is down" });
  while (running.length > 0) running.shift()?.();
  await Promise.all(flying);
  t.equal(limiter.inFlight, 0);
});

test("rejects queued calls when the circuit opens, and reports each circuit state with its reason", async (t) => {
  const clock = new FakeClock();
  const changes: [CircuitState, string | null][] = [];
  const guard = new STSCallGuard({ clock, onCircuit: (...change) => changes.push(change) });
  const response = Promise.withResolvers<never>();
  let started = 0;
  const call = (): Promise<never> => {
    started += 1;
    return response.promise;
  };
  const calls = Array.from({ length: 40 }, () => guard.run(call, AWAITED));
  await clock.advance(0);
  t.equal(guard.inFlight, 32);
  t.equal(guard.waiting, 8);
  t.equal(guard.circuit, "closed");
  t.equal(guard.retryAfterSeconds, 1);
  response.reject(UNREACHABLE);
  const results = await Promise.allSettled(calls);
  const notRun = results.filter((result) => result.status === "rejected" && result.reason instanceof CircuitOpenError);
  t.ok(started <= 40, `${started} calls: the first 32, and those that started after the first failures`);
  t.equal(notRun.length, 40 - started);
  t.equal(guard.circuit, "open");
  t.equal(guard.inFlight, 0);
  t.equal(guard.retryAfterSeconds, 5);
  await clock.advance(5_000);
  t.equal(await guard.run(() => Promise.resolve("called"), AWAITED), "called");
  t.same(changes.map(([state]) => state), ["open", "half-open", "closed"]);
  t.match(changes[0]?.[1], /^STS circuit open since .*ECONNRESET\).$/);
  t.equal(changes[2]?.[1], null);
});
