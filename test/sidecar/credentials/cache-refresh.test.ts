import { test } from "tap";
import { ResolverError } from "../../../shared/formats/errors.ts";
import { CredentialCache } from "../../../sidecar/credentials/cache.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import { FakeClock } from "../fake-clock.ts";

const MINUTE = 60_000;

test("reports the first failed refresh, the next successful refresh, and the delay of a refresh", async (t) => {
  const clock = new FakeClock();
  const events: string[] = [];
  let fails = false;
  const load = async (): Promise<Credentials> => {
    if (fails) throw new ResolverError("ERR_STS_UNAVAILABLE", "STS is unavailable");
    const arn = "arn:aws:sts::111122223333:assumed-role/a/s";
    const identity = { accountID: "111122223333", arn, userID: "AROAA:s" };
    const expirationMs = clock.now() + 60 * MINUTE;
    return { accessKeyID: "ASIA", secretAccessKey: "secret", sessionToken: "token", expirationMs, ...identity };
  };
  const onRefresh = (key: string, _error: unknown, state: string): void => void events.push(`${key} ${state}`);
  const cache = new CredentialCache({ clock, random: () => 0.5, onRefresh });
  const request = (): Promise<Credentials> => cache.get({ key: "a", grantedBy: cache, load });
  await request();
  await clock.advance(30 * MINUTE);
  t.same(events, [], "successful refreshes are not reported");
  await request();
  fails = true;
  await clock.advance(40 * MINUTE);
  t.same(events, ["a failing"]);
  t.equal(cache.refreshLagMs, 10 * MINUTE);
  clock.jump(-10 * MINUTE);
  t.equal(cache.refreshLagMs, 10 * MINUTE, "the delay does not depend on the wall clock");
  fails = false;
  await clock.advance(MINUTE);
  t.same(events, ["a failing", "a recovered"]);
  t.equal(cache.refreshLagMs, 0);
  await request();
  fails = true;
  await clock.advance(50 * MINUTE);
  t.ok(cache.refreshLagMs > 0);
  await clock.advance(11 * MINUTE);
  t.equal(cache.refreshLagMs, 0, "no delay is reported for a session that was unused for an hour");
  cache.close();
});
