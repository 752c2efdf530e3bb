import { setImmediate } from "node:timers/promises";
import { type Test, test } from "tap";
import { Outage } from "../../../shared/api/outage.ts";
import { FakeClock } from "../fake-clock.ts";
import { FakeAPIServer, type PendingRequest } from "./fake-api-server.ts";

interface OutageFixture {
  readonly server: FakeAPIServer;
  readonly clock: FakeClock;
  readonly outage: Outage;
  /** Advances the clock until the next probe, and returns the probe. */
  readonly probe: (delayMs?: number) => Promise<PendingRequest>;
  /** Resolves when the outage ends. */
  readonly ended: Promise<void>;
}

async function startOutage(t: Test): Promise<OutageFixture> {
  const server = new FakeAPIServer();
  await server.start();
  const clock = new FakeClock();
  const outage = new Outage({ api: server.api, clock, random: () => 0.5 });
  t.teardown(async () => {
    await outage.stop();
    await server.stop();
  });
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  outage.onEnd(resolve);
  const probe = async (delayMs = 1_500): Promise<PendingRequest> => {
    await clock.scheduled((ms) => ms === delayMs);
    clock.advance(delayMs);
    const request = await server.next();
    t.equal(request.path, "/readyz");
    return request;
  };
  return { server, clock, outage, probe, ended };
}

test("sends one probe at a time until the API server is ready", async (t) => {
  const { clock, outage, probe, ended } = await startOutage(t);
  for (let reported = 0; reported < 3; reported++) outage.report();
  t.same(clock.delays, [1_500]);
  (await probe()).reset();
  (await probe()).answer(500, "[-]poststarthook/rbac/bootstrap-roles failed");
  (await probe()).answer(429, "");
  const hanging = await probe();
  clock.advance(2_000);
  await hanging.closed;
  (await probe()).answer(200, "ok");
  await ended;
  t.same(clock.delays, [], "no timer is left");
});

for (const status of [401, 403, 404]) {
  test(`treats a ${status} response to a probe as the end of the outage`, async (t) => {
    const { outage, probe, ended } = await startOutage(t);
    outage.report();
    (await probe()).reset();
    (await probe()).answer(status, {});
    await ended;
    t.pass("the outage has ended");
  });
}

test("reports no end of an outage if the first probe succeeds", async (t) => {
  const { server, clock, outage, probe } = await startOutage(t);
  outage.onEnd(() => t.fail("the API server was not down"));
  outage.report();
  (await probe()).answer(200, "ok");
  // Repeats the report, because a report starts a new probe only after the first probe has ended.
  while (clock.delays.length !== 1 || clock.delays[0] !== 1_500) {
    await setImmediate();
    outage.report();
  }
  clock.advance(1_500);
  t.equal((await server.next()).path, "/readyz");
});

test("sends fewer probes after two minutes", async (t) => {
  const { clock, outage, probe } = await startOutage(t);
  outage.report();
  for (let elapsedMs = 0; elapsedMs < 120_000; elapsedMs += 1_500) (await probe()).reset();
  t.equal(await clock.scheduled((ms) => ms !== 2_000), 7_500);
});

test("stop() ends a pause and a probe, and later reports start no probe", async (t) => {
  const { clock, outage, probe } = await startOutage(t);
  outage.report();
  const request = await probe();
  await outage.stop();
  await request.closed;
  outage.report();
  t.same(clock.delays, []);
});
