import { test } from "tap";
import { ResolverError } from "../../../shared/decisions/errors.ts";
import { CredentialCache } from "../../../sidecar/credentials/cache.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import { FakeClock } from "../fake-clock.ts";

const MINUTE = 60_000;

test("a refresh that fails is told once, and once when it succeeds again; its lag counts from when it was due, while somebody asks", async (t) => {
  const clock = new FakeClock();
  const told: string[] = [];
  let fails = false;
  const load = async (): Promise<Credentials> => {
    if (fails) throw new ResolverError("ERR_STS_UNAVAILABLE", "STS could not be asked");
    const identity = { accountID: "111122223333", arn: "arn:aws:sts::111122223333:assumed-role/a/s", userID: "AROAA:s" };
    return { accessKeyID: "ASIA", secretAccessKey: "secret", sessionToken: "token", expirationMs: clock.now() + 60 * MINUTE, ...identity };
  };
  const onRefresh = (key: string, error: unknown): void => void told.push(`${key} ${error === null ? "again" : "failing"}`);
  const cache = new CredentialCache({ clock, random: () => 0.5, onRefresh });
  const ask = (): Promise<Credentials> => cache.get({ key: "a", grantedBy: cache, load });
  await ask();
  await clock.advance(30 * MINUTE);
  t.same(told, [], "what succeeds is not told");
  await ask();
  fails = true;
  await clock.advance(40 * MINUTE);
  t.same(told, ["a failing"]);
  t.equal(cache.refreshLagMs, 10 * MINUTE);
  clock.jump(-10 * MINUTE);
  t.equal(cache.refreshLagMs, 10 * MINUTE, "whatever the clock is set to");
  fails = false;
  await clock.advance(MINUTE);
  t.same(told, ["a failing", "a again"]);
  t.equal(cache.refreshLagMs, 0);
  await ask();
  fails = true;
  await clock.advance(50 * MINUTE);
  t.ok(cache.refreshLagMs > 0);
  await clock.advance(11 * MINUTE);
  t.equal(cache.refreshLagMs, 0, "nobody has asked for an hour");
  cache.close();
});
