import { test } from "tap";
import { ResolverError } from "../../../shared/decisions/errors.ts";
import { CircuitBreaker, type CircuitState, NotAsked } from "../../../sidecar/sts-upstream/circuit-breaker.ts";
import { FakeClock } from "../fake-clock.ts";
import { DENIED, THROTTLED } from "../fake-sts.ts";

interface Subject {
  readonly clock: FakeClock;
  readonly circuit: CircuitBreaker;
  readonly changes: readonly CircuitState[];
  /** `ok`, or the code of the error; `open` where nothing was called. */
  readonly ask: (fault?: Error) => Promise<string>;
}

function subject(): Subject {
  const clock = new FakeClock();
  const changes: CircuitState[] = [];
  const circuit = new CircuitBreaker({ clock, onChange: (state) => changes.push(state) });
  const ask = async (fault?: Error): Promise<string> => {
    try {
      await circuit.run(async () => {
        if (fault !== undefined) throw fault;
      });
      return "ok";
    } catch (reason) {
      if (reason instanceof NotAsked) return "open";
      return reason instanceof ResolverError ? reason.code : String(reason);
    }
  };
  return { clock, circuit, changes, ask };
}

async function failFiveTimes({ ask }: Subject): Promise<void> {
  for (let i = 0; i < 5; i++) await ask(THROTTLED);
}

test("it opens after 5 failures in a row, and says since when and why", async (t) => {
  const one = subject();
  for (let i = 0; i < 4; i++) await one.ask(THROTTLED);
  t.equal(one.circuit.state, "closed", "4 are not enough");
  t.equal(await one.ask(), "ok");
  for (let i = 0; i < 4; i++) await one.ask(THROTTLED);
  t.equal(one.circuit.state, "closed", "nor 4 after a success");
  t.equal(await one.ask(THROTTLED), "ERR_STS_UNAVAILABLE");
  t.equal(one.circuit.state, "open");
  await t.rejects(one.circuit.run(() => Promise.reject(new Error("called"))), {
    code: "ERR_STS_UNAVAILABLE",
    message: "STS is not asked since 2026-08-01T12:00:00Z, after 5 failures in a row, but for one trial each 5 s. " +
      "The last failure: STS answered AssumeRole with Throttling: Rate exceeded",
  });
});

test("one call each 5 s tries whether STS is back, and the others are refused meanwhile", async (t) => {
  const one = subject();
  await failFiveTimes(one);
  await one.clock.advance(4_999);
  t.equal(await one.ask(), "open");
  await one.clock.advance(1);
  const held = Promise.withResolvers<null>();
  const trial = one.circuit.run(() => held.promise);
  t.equal(one.circuit.state, "half-open");
  t.equal(await one.ask(), "open", "one alone");
  held.reject(THROTTLED);
  await t.rejects(trial, THROTTLED);
  t.equal(one.circuit.state, "open");
  await one.clock.advance(4_999);
  t.equal(await one.ask(), "open");
  await one.clock.advance(1);
  t.equal(await one.ask(), "ok");
  t.equal(one.circuit.state, "closed");
  t.same(one.changes, ["open", "half-open", "open", "half-open", "closed"]);
});

test("a refusal is an answer about the role: it closes the circuit and is no failure", async (t) => {
  const one = subject();
  for (let i = 0; i < 20; i++) t.equal(await one.ask(DENIED), "ERR_STS_REFUSED");
  t.equal(one.circuit.state, "closed");
  await failFiveTimes(one);
  await one.clock.advance(5_000);
  await one.ask(DENIED);
  t.equal(one.circuit.state, "closed");
});

test("what fails before STS is asked says nothing of STS, and a trial that it ends is made again after 5 s", async (t) => {
  const one = subject();
  const base = new ResolverError("ERR_BASE_UNAVAILABLE", "no identity");
  for (let i = 0; i < 10; i++) await one.ask(base);
  for (let i = 0; i < 10; i++) await one.ask(new TypeError("a fault of ours"));
  for (let i = 0; i < 10; i++) await one.ask(new NotAsked("dropped while it waited for its turn"));
  t.equal(one.circuit.state, "closed");
  await failFiveTimes(one);
  await one.clock.advance(5_000);
  t.equal(await one.ask(base), "ERR_BASE_UNAVAILABLE");
  t.equal(one.circuit.state, "open");
  t.equal(await one.ask(), "open");
  await one.clock.advance(5_000);
  t.equal(await one.ask(), "ok");
});

test("a call that was under way when the circuit opened closes it by succeeding, and changes nothing by failing", async (t) => {
  const one = subject();
  const [good, bad] = [Promise.withResolvers<null>(), Promise.withResolvers<null>()];
  const calls = [one.circuit.run(() => good.promise), one.circuit.run(() => bad.promise)];
  await failFiveTimes(one);
  await one.clock.advance(5_000);
  const trial = Promise.withResolvers<null>();
  const tried = one.circuit.run(() => trial.promise);
  bad.reject(THROTTLED);
  await t.rejects(calls[1] ?? Promise.resolve(), THROTTLED);
  t.equal(one.circuit.state, "half-open");
  good.resolve(null);
  await calls[0];
  t.equal(one.circuit.state, "closed");
  trial.reject(THROTTLED);
  await t.rejects(tried, THROTTLED);
  t.equal(one.circuit.state, "closed", "STS has answered since");
});
