import { test } from "tap";
import { FakeClock } from "../fake-clock.ts";
import { BASE, get, start } from "../running-sidecar.ts";
import { SECRET_NAMESPACE, secretData, SecretServer } from "./secret-server.ts";
import { INFRASTRUCTURE } from "../../shared/capa-objects.ts";
import { HOUR, SECOND } from "../fake-sts.ts";

const SETTINGS = { group: [INFRASTRUCTURE], identitySecretNamespace: SECRET_NAMESPACE };

test("/readyz returns 503 until the Secrets are listed, and while their list is too old", async (t) => {
  const clock = new FakeClock(Date.now());
  const server = new SecretServer(clock, { creds: secretData({ AccessKeyID: "AKIA1", SecretAccessKey: "secret" }) });
  server.status = 403;
  const baseProvider = async (): Promise<typeof BASE & { expirationMs: number }> => (
    { ...BASE, expirationMs: clock.now() + 12 * HOUR }
  );
  const { sidecar, source, logLines } = await start(t, SETTINGS, { clock, api: server.api, baseProvider });
  const page = async (path: string): Promise<string> => {
    source.status = { loaded: true, lastSyncMs: clock.steady(), fault: null };
    const { status, body } = await get(sidecar.healthAddress, path);
    return `${status} ${body.trim()}`;
  };
  await get(sidecar.address, "/v1/credentials");
  await clock.advance(SECOND);
  t.match(await page("/startupz"), /^503 /);
  const denied = "not allowed to list secrets in the namespace capa-system";
  t.match(await page("/readyz"), `503 the list of Secrets is not loaded yet: ${denied}`);
  server.status = 200;
  await clock.advance(60 * SECOND);
  t.same([await page("/startupz"), await page("/readyz")], ["200 ok", "200 ok"]);
  server.status = 500;
  await clock.advance(200 * SECOND);
  t.match(await page("/readyz"), /^200 ok\nthe list of Secrets is stale, and was last current \d+ s ago: the API /);
  await clock.advance(200 * SECOND);
  t.match(await page("/readyz"), /^503 the list of Secrets is \d+ s old \(maximum: 300 s\): the API server /);
  server.status = 200;
  await clock.advance(60 * SECOND);
  t.same(await page("/readyz"), "200 ok");
  const lines = logLines.filter((line) => line.includes("list of Secrets is"));
  t.equal(lines.length, 4, "one line for each change of the state");
});

test("stops the watch of the Secrets if the sidecar cannot start", async (t) => {
  const clock = new FakeClock(Date.now());
  const server = new SecretServer(clock);
  const settings = { ...SETTINGS, tokenFile: `${t.testdir()}/missing/folder/token` };
  await t.rejects(start(t, settings, { clock, api: server.api }));
  await clock.advance(SECOND);
  const before = server.requests.length;
  await clock.advance(600 * SECOND);
  t.equal(server.requests.length, before);
});
