import { test } from "tap";
import { ResolverError } from "../../../shared/formats/errors.ts";
import { CircuitBreaker, type CircuitState } from "../../../sidecar/sts-upstream/circuit-breaker.ts";
import { RejectedSignerError, STSNotCalledError } from "../../../sidecar/sts-upstream/errors.ts";
import { FakeClock } from "../fake-clock.ts";
import { DENIED, THROTTLED, UNREACHABLE } from "../fake-sts.ts";

interface Subject {
  readonly clock: FakeClock;
  readonly circuit: CircuitBreaker;
  readonly changes: readonly CircuitState[];
  /** Returns `ok`, the code of the error, or `open` if the call did not run. */
  readonly run: (fault?: Error) => Promise<string>;
}

function subject(): Subject {
  const clock = new FakeClock();
  const changes: CircuitState[] = [];
  const circuit = new CircuitBreaker({ clock, onChange: (state) => changes.push(state) });
  const run = async (fault?: Error): Promise<string> => {
    try {
      await circuit.run(async () => {
        if (fault !== undefined) throw fault;
      });
      return "ok";
    } catch (reason) {
      if (reason instanceof STSNotCalledError) return "open";
      return reason instanceof ResolverError ? reason.code : String(reason);
    }
  };
  return { clock, circuit, changes, run };
}

async function failFiveTimes({ run }: Subject): Promise<void> {
  for (let i = 0; i < 5; i++) await run(UNREACHABLE);
}

test("opens after 5 consecutive failures, and the error states the time and the reason", async (t) => {
  const one = subject();
  for (let i = 0; i < 4; i++) await one.run(UNREACHABLE);
  t.equal(one.circuit.state, "closed", "the circuit is closed after 4 failures");
  t.equal(await one.run(), "ok");
  for (let i = 0; i < 4; i++) await one.run(UNREACHABLE);
  t.equal(one.circuit.state, "closed", "the circuit is closed after a success and 4 failures");
  t.equal(await one.run(UNREACHABLE), "ERR_STS_UNAVAILABLE");
  t.equal(one.circuit.state, "open");
  await t.rejects(one.circuit.run(() => Promise.reject(new Error("called"))), {
    code: "ERR_STS_UNAVAILABLE",
    message: "STS circuit open since 2026-08-01T12:00:00Z after 5 failures in a row; probing STS every 5 s. " +
      "Last failure: The STS call failed (AssumeRole: ECONNRESET).",
  });
});

test("opens after one throttled call, because the rate limiter has tried lower rates before", async (t) => {
  const one = subject();
  t.equal(await one.run(THROTTLED), "ERR_STS_UNAVAILABLE");
  t.equal(one.circuit.state, "open");
  t.equal(one.circuit.delayMs, 5_000);
  await one.clock.advance(5_000);
  t.equal(await one.run(), "ok");
  t.equal(one.circuit.delayMs, 0);
});

test("while open, allows one probe every 5 s and rejects all other calls", async (t) => {
  const one = subject();
  await failFiveTimes(one);
  await one.clock.advance(4_999);
  t.equal(await one.run(), "open");
  await one.clock.advance(1);
  const pending = Promise.withResolvers<null>();
  const probe = one.circuit.run(() => pending.promise);
  t.equal(one.circuit.state, "half-open");
  t.equal(await one.run(), "open", "only one probe at a time");
  pending.reject(UNREACHABLE);
  await t.rejects(probe, UNREACHABLE);
  t.equal(one.circuit.state, "open");
  await one.clock.advance(4_999);
  t.equal(await one.run(), "open");
  await one.clock.advance(1);
  t.equal(await one.run(), "ok");
  t.equal(one.circuit.state, "closed");
  t.same(one.changes, ["open", "half-open", "open", "half-open", "closed"]);
});

test("treats an STS error about a role as a success, and closes the circuit", async (t) => {
  const one = subject();
  for (let i = 0; i < 20; i++) t.equal(await one.run(DENIED), "ERR_STS_REFUSED");
  t.equal(one.circuit.state, "closed");
  await failFiveTimes(one);
  await one.clock.advance(5_000);
  await one.run(DENIED);
  t.equal(one.circuit.state, "closed");
});

test("closes the circuit if STS rejects the credentials that signed the probe, because STS responded", async (t) => {
  const rejected = new RejectedSignerError("InvalidClientTokenId", "STS returned InvalidClientTokenId");
  const ofKey = new ResolverError("ERR_IDENTITY_SECRET", "STS rejected the access key", { cause: rejected });
  for (const error of [rejected, ofKey]) {
    const one = subject();
    await failFiveTimes(one);
    await one.clock.advance(5_000);
    t.equal(await one.run(error), error.code);
    t.equal(one.circuit.state, "closed", error.code);
  }
});

test("check() throws exactly if a call would be rejected, and does not change the state", async (t) => {
  const one = subject();
  one.circuit.check();
  await failFiveTimes(one);
  t.throws(() => one.circuit.check(), { code: "ERR_STS_UNAVAILABLE", message: /^STS circuit open since/ });
  await one.clock.advance(5_000);
  one.circuit.check();
  t.equal(one.circuit.state, "open");
  const probe = Promise.withResolvers<null>();
  const probed = one.circuit.run(() => probe.promise);
  t.throws(() => one.circuit.check(), { code: "ERR_STS_UNAVAILABLE" });
  probe.resolve(null);
  await probed;
  one.circuit.check();
});

test("ignores failures before the STS call, and probes again if a probe made no STS call", async (t) => {
  const one = subject();
  const base = new ResolverError("ERR_BASE_UNAVAILABLE", "no identity");
  for (let i = 0; i < 10; i++) await one.run(base);
  for (let i = 0; i < 10; i++) await one.run(new TypeError("internal error"));
  for (let i = 0; i < 10; i++) await one.run(new STSNotCalledError("evicted while queued"));
  t.equal(one.circuit.state, "closed");
  await failFiveTimes(one);
  await one.clock.advance(5_000);
  t.equal(await one.run(base), "ERR_BASE_UNAVAILABLE");
  t.equal(one.circuit.state, "open");
  t.equal(await one.run(), "open");
  await one.clock.advance(5_000);
  t.equal(await one.run(), "ok");
});

test("while half-open, closes if an earlier call succeeds, and ignores the failure of an earlier call", async (t) => {
  const one = subject();
  const [good, bad] = [Promise.withResolvers<null>(), Promise.withResolvers<null>()];
  const calls = [one.circuit.run(() => good.promise), one.circuit.run(() => bad.promise)];
  await failFiveTimes(one);
  await one.clock.advance(5_000);
  const probe = Promise.withResolvers<null>();
  const probed = one.circuit.run(() => probe.promise);
  bad.reject(UNREACHABLE);
  await t.rejects(calls[1] ?? Promise.resolve(), UNREACHABLE);
  t.equal(one.circuit.state, "half-open");
  good.resolve(null);
  await calls[0];
  t.equal(one.circuit.state, "closed");
  probe.reject(UNREACHABLE);
  await t.rejects(probed, UNREACHABLE);
  t.equal(one.circuit.state, "closed", "the circuit stays closed because STS responded after the probe started");
});
