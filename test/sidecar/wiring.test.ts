import { test } from "tap";
import type { SigningCredentials } from "../../sidecar/credentials/session.ts";
import { FakeClock, moveUntil } from "./fake-clock.ts";
import { BASE, get, start } from "./running-sidecar.ts";

const MINUTE = 60_000;
const PATH = "/v1/credentials/selectors/team-a";

test("in a 30 min STS outage, is ready and returns cached roles; afterward, refreshes within 45 s", async (t) => {
  const clock = new FakeClock(Date.now());
  let isDown = false;
  const baseProvider = async (): Promise<SigningCredentials> => ({ ...BASE, expirationMs: clock.now() + 60 * MINUTE });
  const { sidecar, source, logLines } = await start(t, {}, { clock, baseProvider }, () =>
    isDown ? { do: "reset" } : null,
  );
  const status = async (path: string): Promise<number> =>
    (await get(path === PATH ? sidecar.address : sidecar.healthAddress, path)).status;
  const metric = async (line: string): Promise<boolean> =>
    (await get(sidecar.healthAddress, "/metrics")).body.includes(`ack_role_resolver_sidecar_${line}`);
  t.equal(await status(PATH), 200);
  // The refreshes are due after 24 to 36 minutes, so that each fails first.
  await clock.advance(20 * MINUTE);
  isDown = true;
  for (let minute = 0; minute < 30; minute++) {
    await clock.advance(MINUTE);
    source.status = { loaded: true, lastSyncMs: clock.steady(), fault: null };
    const statuses = await Promise.all(["/healthz", "/readyz", "/startupz", PATH].map(status));
    if (statuses.some((one) => one !== 200)) t.fail(`minute ${minute}: ${statuses.join(" ")}`);
  }
  const lastOfBase = (): string | undefined => logLines.findLast((line) => line.includes("base identity"));
  t.match(lastOfBase(), "base identity refresh failed");
  t.notOk(await metric("refresh_lag_seconds 0\n"));
  isDown = false;
  const isRefreshed = async (): Promise<boolean> =>
    (await metric("refresh_lag_seconds 0\n")) && lastOfBase()?.includes("base identity verified") === true;
  t.ok(await moveUntil(isRefreshed, { clock, stepMs: 1_000, steps: 45 }));
  t.ok(logLines.length < 15, `${logLines.length} lines in an outage`);
});

test("probes each role with --check IRS-27=warn, and logs and counts a role that STS rejects", async (t) => {
  const clock = new FakeClock(Date.now());
  const { sidecar, sts, logLines } = await start(t, { check: ["IRS-27=warn"] }, { clock }, ({ action }) => (
    action === "AssumeRole" ? { do: "reject", code: "AccessDenied", status: 403, message: "no" } : null
  ));
  t.equal((await get(sidecar.address, "/v1/credentials")).status, 200);
  const body = async (): Promise<string> => (await get(sidecar.healthAddress, "/metrics")).body;
  t.ok(
    await moveUntil(async () => (await body()).includes('sidecar_role_checks_total{result="refused"} 1'), {
      clock,
      stepMs: 100,
      steps: 100,
    }),
  );
  t.match(await body(), "ack_role_resolver_sidecar_failing_roles 1");
  t.match(JSON.parse(logLines.find((line) => line.includes("IRS-27")) ?? "{}"), {
    selector: "team-a",
    sts_code: "AccessDenied",
    reason: /Allow sts:AssumeRole to arn:aws:iam::999999999999:role\/ack \(insert the path.* Show it: /,
  });
  t.equal(sts.calls.filter(({ action }) => action === "AssumeRole").length, 1);
});

test("probes no role if --check IRS-27=warn is not set", async (t) => {
  const clock = new FakeClock(Date.now());
  const { sidecar, sts } = await start(t, {}, { clock });
  t.equal((await get(sidecar.address, "/v1/credentials")).status, 200);
  await clock.advance(MINUTE);
  t.same(sts.calls.map(({ action }) => action), ["GetCallerIdentity"]);
});

test("listens before STS responds, and is ready after STS responds", async (t) => {
  const blocked = Promise.withResolvers<null>();
  const { sidecar } = await start(t, {}, {}, () => blocked.promise);
  const probes = async (): Promise<number[]> =>
    Promise.all(
      ["/healthz", "/startupz", "/readyz"].map(async (path) => (await get(sidecar.healthAddress, path)).status),
    );
  t.same(await probes(), [200, 200, 503]);
  const pending = get(sidecar.address, "/v1/credentials");
  blocked.resolve(null);
  t.equal((await pending).status, 200, "a request sent before readiness receives its response");
  t.same(await probes(), [200, 200, 200]);
});

test("returns credentials, is ready and logs no warning after the clock is set forward or back", async (t) => {
  const clock = new FakeClock(Date.now());
  const baseProvider = async (): Promise<SigningCredentials> => ({ ...BASE, expirationMs: clock.now() + 60 * MINUTE });
  const { sidecar, source, logLines } = await start(t, {}, { clock, baseProvider });
  for (const jumpMs of [0, 10 * MINUTE, -20 * MINUTE]) {
    clock.jump(jumpMs);
    source.status = { loaded: true, lastSyncMs: clock.steady(), fault: null };
    t.equal((await get(sidecar.address, PATH)).status, 200);
    t.equal((await get(sidecar.healthAddress, "/readyz")).status, 200);
    const metrics = (await get(sidecar.healthAddress, "/metrics")).body;
    t.match(metrics, "ack_role_resolver_sidecar_refresh_lag_seconds 0\n");
    t.match(metrics, 'circuit_state{state="closed"} 1');
  }
  t.same(logLines.filter((line) => line.includes('"warn"')), []);
});
