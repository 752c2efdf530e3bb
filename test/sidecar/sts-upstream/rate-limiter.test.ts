import { test } from "tap";
import type { CircuitState } from "../../../sidecar/sts-upstream/circuit-breaker.ts";
import { CircuitOpenError } from "../../../sidecar/sts-upstream/errors.ts";
import { RateLimiter, STSCallGuard } from "../../../sidecar/sts-upstream/rate-limiter.ts";
import { FakeClock } from "../fake-clock.ts";
import { THROTTLED } from "../fake-sts.ts";

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

test("runs at most 8 STS calls at a time, and starts queued calls in order of arrival", async (t) => {
  const { limiter, clock, started, running, run } = subject();
  const calls = Array.from({ length: 12 }, (_, i) => run(`${i}`));
  await clock.advance(10_000);
  t.equal(limiter.inFlight, 8);
  t.equal(limiter.waiting, 4);
  running.shift()?.();
  await clock.advance(0);
  t.same(started.slice(8), ["8"]);
  for (let i = 0; i < 12; i++) {
    running.shift()?.();
    await clock.advance(0);
  }
  await Promise.all(calls);
  t.same(started, Array.from({ length: 12 }, (_, i) => `${i}`));
  t.equal(limiter.inFlight, 0);
  t.equal(clock.scheduled, 0, "no timer remains");
});

test("starts 25 calls immediately after an idle period, and then 10 calls a second", async (t) => {
  const { clock, startedAtMs, run } = subject();
  const calls = Array.from({ length: 100 }, (_, i) => run(`${i}`, { endsAtOnce: true }));
  await clock.advance(0);
  t.equal(startedAtMs.length, 25);
  for (let second = 1; second <= 7; second++) {
    await clock.advance(1_000);
    t.equal(startedAtMs.length, 25 + 10 * second);
  }
  await clock.advance(500);
  await Promise.all(calls);
  t.equal(startedAtMs.length, 100);
  await clock.advance(3_600_000);
  const burst = Array.from({ length: 30 }, () => run("x", { endsAtOnce: true }));
  await clock.advance(0);
  t.equal(startedAtMs.length, 125, "a burst has at most 25 calls");
  await clock.advance(500);
  await Promise.all(burst);
});

test("starts a call that a client waits for before other calls, even if the client arrives later", async (t) => {
  const { clock, started, running, run } = subject();
  const awaited = new Set(["d"]);
  const calls = "12345678".split("").map((name) => run(name));
  calls.push(..."abcd".split("").map((name) => run(name, { isAwaited: () => awaited.has(name) })));
  awaited.add("c");
  await clock.advance(0);
  for (let i = 0; i < 12; i++) {
    running.shift()?.();
    await clock.advance(0);
  }
  await Promise.all(calls);
  t.equal(started.slice(8).join(""), "cdab");
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
  const others = Array.from({ length: 7 }, () => run("other"));
  const queued = run("waits", { signal: abort.signal });
  await clock.advance(0);
  abort.abort(new Error("evicted"));
  await t.rejects(queued, { message: "evicted" });
  t.equal(limiter.waiting, 0);
  t.equal(limiter.inFlight, 8);
  while (running.length > 0) running.shift()?.();
  await Promise.all([first, ...others]);
  t.notOk(started.includes("waits"));
  await t.rejects(run("late", { signal: abort.signal }), { message: "evicted" });
  t.equal(clock.scheduled, 0);
});

test("rejectWaiting rejects all queued calls", async (t) => {
  const { limiter, clock, running, run } = subject();
  const flying = Array.from({ length: 8 }, () => run("flies"));
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
  t.equal(guard.inFlight, 8);
  t.equal(guard.waiting, 32);
  t.equal(guard.circuit, "closed");
  response.reject(THROTTLED);
  const results = await Promise.allSettled(calls);
  const notRun = results.filter((result) => result.status === "rejected" && result.reason instanceof CircuitOpenError);
  t.ok(started <= 16, `${started} calls: the first 8, and those that started after the first failures`);
  t.equal(notRun.length, 40 - started);
  t.equal(guard.circuit, "open");
  t.equal(guard.inFlight, 0);
  await clock.advance(5_000);
  t.equal(await guard.run(() => Promise.resolve("called"), AWAITED), "called");
  t.same(changes.map(([state]) => state), ["open", "half-open", "closed"]);
  t.match(changes[0]?.[1], /^STS circuit open since .*Rate exceeded$/);
  t.equal(changes[2]?.[1], null);
});
