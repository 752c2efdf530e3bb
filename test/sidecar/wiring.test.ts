import { test } from "tap";
import { ResolverError } from "../../shared/decisions/errors.ts";
import type { SigningCredentials } from "../../sidecar/sts-upstream/connection.ts";
import { FakeClock } from "./fake-clock.ts";
import { BASE, get, start } from "./running-sidecar.ts";

const MINUTE = 60_000;
const PATH = "/v1/credentials/selectors/team-a";

/** Moves the clock until it holds. Answers of STS come over a socket, so each step lets one other answer come over one. */
async function moveUntil(holds: () => Promise<boolean>, { clock, stepMs, steps }: { clock: FakeClock; stepMs: number; steps: number }): Promise<boolean> {
  for (let i = 0; i < steps; i++) {
    if (await holds()) return true;
    await clock.advance(stepMs);
  }
  return false;
}

test("an STS that is dead for 30 minutes costs neither liveness, nor readiness, nor a warm role; after it all is renewed within 30 s", async (t) => {
  const clock = new FakeClock(Date.now());
  let dead = false;
  const baseProvider = async (): Promise<SigningCredentials> => ({ ...BASE, expirationMs: clock.now() + 60 * MINUTE });
  const { sidecar, source, logLines } = await start(t, {}, { clock, baseProvider }, () => (dead ? { do: "reset" } : null));
  const status = async (path: string): Promise<number> => (await get(path === PATH ? sidecar.address : sidecar.healthAddress, path)).status;
  const metric = async (line: string): Promise<boolean> => (await get(sidecar.healthAddress, "/metrics")).body.includes(`ack_role_resolver_sidecar_${line}`);
  t.equal(await status(PATH), 200);
  await clock.advance(25 * MINUTE);
  dead = true;
  for (let minute = 0; minute < 30; minute++) {
    await clock.advance(MINUTE);
    source.status = { loaded: true, lastSyncMs: clock.now(), fault: null };
    const statuses = await Promise.all(["/healthz", "/readyz", "/startupz", PATH].map(status));
    if (statuses.some((one) => one !== 200)) t.fail(`minute ${minute}: ${statuses.join(" ")}`);
  }
  t.equal(logLines.filter((line) => line.includes("base identity could not be renewed")).length, 1);
  t.notOk(await metric("refresh_lag_seconds 0\n"));
  dead = false;
  const renewed = async (): Promise<boolean> => (await metric("refresh_lag_seconds 0\n")) && logLines.filter((line) => line.includes("base identity proven")).length === 2;
  t.ok(await moveUntil(renewed, { clock, stepMs: 1_000, steps: 45 }));
  t.ok(logLines.length < 15, `${logLines.length} lines in an outage`);
});

test("with --check IRS-27=warn each granted role is tried in its own time, and one that STS refuses is warned of and counted", async (t) => {
  const clock = new FakeClock(Date.now());
  const { sidecar, sts, logLines } = await start(t, { check: ["IRS-27=warn"] }, { clock }, ({ action }) => (
    action === "AssumeRole" ? { do: "refuse", code: "AccessDenied", status: 403, message: "no" } : null
  ));
  t.equal((await get(sidecar.address, "/v1/credentials")).status, 200);
  const body = async (): Promise<string> => (await get(sidecar.healthAddress, "/metrics")).body;
  t.ok(await moveUntil(async () => (await body()).includes('sidecar_role_checks_total{result="refused"} 1'), { clock, stepMs: 100, steps: 100 }));
  t.match(await body(), "ack_role_resolver_sidecar_failing_roles 1");
  t.match(JSON.parse(logLines.find((line) => line.includes("IRS-27")) ?? "{}"), { selector: "team-a", sts_code: "AccessDenied", fix: /assumed-role\/ack\/pod/ });
  t.equal(sts.calls.filter(({ action }) => action === "AssumeRole").length, 1);
});

test("without it no role is tried that nobody asks for", async (t) => {
  const clock = new FakeClock(Date.now());
  const { sidecar, sts } = await start(t, {}, { clock });
  t.equal((await get(sidecar.address, "/v1/credentials")).status, 200);
  await clock.advance(MINUTE);
  t.same(sts.calls.map(({ action }) => action), ["GetCallerIdentity"]);
});

test("the base identity is renewed before its end, and its end ends no session that is kept", async (t) => {
  const clock = new FakeClock(Date.now());
  let lifeMs = 60 * MINUTE;
  let gone = false;
  const baseProvider = async (): Promise<SigningCredentials> => {
    if (gone) throw new ResolverError("ERR_BASE_UNAVAILABLE", "gone");
    return { ...BASE, expirationMs: clock.now() + lifeMs };
  };
  const { sidecar, source } = await start(t, {}, { clock, baseProvider });
  t.equal((await get(sidecar.address, PATH)).status, 200);
  lifeMs = 2 * MINUTE;
  await clock.advance(23 * MINUTE);
  const expirySeconds = async (): Promise<number> => Number(/base_identity_expiry_seconds (\d+)/.exec((await get(sidecar.healthAddress, "/metrics")).body)?.[1]);
  t.ok(await moveUntil(async () => (await expirySeconds()) <= 120, { clock, stepMs: 2_000, steps: 500 }), "renewed before its end");
  gone = true;
  await clock.advance(3 * MINUTE);
  source.status = { loaded: true, lastSyncMs: clock.now(), fault: null };
  const lost = async (): Promise<boolean> => (await get(sidecar.healthAddress, "/readyz")).body === "gone\n";
  t.ok(await moveUntil(lost, { clock, stepMs: 1_000, steps: 60 }), "no base any more");
  t.match(await get(sidecar.address, PATH), { status: 200, body: /"AccountId":"111111111111"/ }, "the role that is kept is vended for longer than the base lived");
});

test("it listens before STS answers, and is ready and answers as soon as it has", async (t) => {
  const held = Promise.withResolvers<null>();
  const { sidecar } = await start(t, {}, {}, () => held.promise);
  const probes = async (): Promise<number[]> => Promise.all(["/healthz", "/startupz", "/readyz"].map(async (path) => (await get(sidecar.healthAddress, path)).status));
  t.same(await probes(), [200, 200, 503]);
  const asked = get(sidecar.address, "/v1/credentials");
  held.resolve(null);
  t.equal((await asked).status, 200, "who has asked before is answered then");
  t.same(await probes(), [200, 200, 200]);
});

test("a clock that is set 10 minutes forth, and 20 back, costs nobody an answer nor a state its truth", async (t) => {
  const clock = new FakeClock(Date.now());
  const baseProvider = async (): Promise<SigningCredentials> => ({ ...BASE, expirationMs: clock.now() + 60 * MINUTE });
  const { sidecar, source, logLines } = await start(t, {}, { clock, baseProvider });
  for (const jumpMs of [0, 10 * MINUTE, -20 * MINUTE]) {
    clock.jump(jumpMs);
    source.status = { loaded: true, lastSyncMs: clock.now(), fault: null };
    t.equal((await get(sidecar.address, PATH)).status, 200);
    t.equal((await get(sidecar.healthAddress, "/readyz")).status, 200);
    const metrics = (await get(sidecar.healthAddress, "/metrics")).body;
    t.match(metrics, "ack_role_resolver_sidecar_refresh_lag_seconds 0\n");
    t.match(metrics, 'circuit_state{state="closed"} 1');
  }
  t.same(logLines.filter((line) => line.includes('"warn"')), []);
});
