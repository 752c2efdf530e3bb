import { test } from "tap";
import { CircuitOpen, type CircuitState } from "../../../sidecar/sts-upstream/circuit-breaker.ts";
import { CallGate, OPEN_GATE } from "../../../sidecar/sts-upstream/rate-limiter.ts";
import { FakeClock } from "../fake-clock.ts";
import { THROTTLED } from "../fake-sts.ts";

const how = { isAwaited: () => true, unwanted: new AbortController().signal };

test("what waits for a turn is refused when the circuit opens, and the state is told with its reason", async (t) => {
  const clock = new FakeClock();
  const changes: [CircuitState, string | null][] = [];
  const gate = new CallGate({ clock, onCircuit: (...change) => changes.push(change) });
  const release = Promise.withResolvers<never>();
  let calls = 0;
  const call = (): Promise<never> => {
    calls += 1;
    return release.promise;
  };
  const asked = Array.from({ length: 40 }, () => gate.run(call, how));
  await clock.advance(0);
  t.equal(gate.inFlight, 8);
  t.equal(gate.waiting, 32);
  t.equal(gate.circuit, "closed");
  release.reject(THROTTLED);
  const ends = await Promise.allSettled(asked);
  const refused = ends.filter((end) => end.status === "rejected" && end.reason instanceof CircuitOpen);
  t.ok(calls <= 16, `${calls} calls: 8 and those that had the places of the first failures`);
  t.equal(refused.length, 40 - calls);
  t.equal(gate.circuit, "open");
  t.equal(gate.inFlight, 0);
  await clock.advance(5_000);
  t.equal(await gate.run(() => Promise.resolve("called"), how), "called");
  t.same(changes.map(([state]) => state), ["open", "half-open", "closed"]);
  t.match(changes[0]?.[1], /^STS is not asked since .*Rate exceeded$/);
  t.equal(changes[2]?.[1], null);
});

test("the gate of what asks no STS lets everything through", async (t) => {
  t.equal(await OPEN_GATE.run(() => Promise.resolve("called"), how), "called");
});
