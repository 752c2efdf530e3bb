import { randomBytes } from "node:crypto";
import { test } from "tap";
import { ResolverError } from "../../../shared/formats/errors.ts";
import { IdentityOnlyKeys } from "../../../sidecar/base/identity.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import { FakeClock } from "../fake-clock.ts";
import { BASE_IDENTITY } from "../sidecar-under-test.ts";

const MINUTE = 60_000;
const BASE: Credentials = {
  ...BASE_IDENTITY, accessKeyID: "ASIABASE", secretAccessKey: "planted-secret", sessionToken: "planted-token",
  expirationMs: null,
};

test("generates keys that are valid for an hour, renews them after half an hour, and shares them", async (t) => {
  const clock = new FakeClock();
  const keys = new IdentityOnlyKeys({ base: { get: async () => BASE }, clock, randomBytes });
  const [first, same] = await Promise.all([keys.get(), keys.get()]);
  t.match(first, {
    ...BASE_IDENTITY, accessKeyID: /^ASIA[A-Z2-7]{16}$/, secretAccessKey: /^[\w+/]{40}$/,
    sessionToken: /^[\w+/]{256}$/, expirationMs: clock.now() + 60 * MINUTE,
  });
  t.equal(same, first);
  t.notMatch(JSON.stringify(first), "planted");
  await clock.advance(30 * MINUTE - 1);
  t.equal(await keys.get(), first);
  await clock.advance(1);
  const next = await keys.get();
  t.not(next.accessKeyID, first.accessKeyID);
  t.not(next.secretAccessKey, first.secretAccessKey);
  t.equal(next.expirationMs, clock.now() + 60 * MINUTE);
});

test("returns the last keys until 60 s before they expire while the base identity is unavailable", async (t) => {
  const clock = new FakeClock();
  let isDown = true;
  const get = async (): Promise<Credentials> => {
    if (isDown) throw new ResolverError("ERR_BASE_UNAVAILABLE", "unavailable");
    return BASE;
  };
  const keys = new IdentityOnlyKeys({ base: { get }, clock, randomBytes });
  await t.rejects(keys.get(), { code: "ERR_BASE_UNAVAILABLE" }, "the identity is not verified yet");
  isDown = false;
  const first = await keys.get();
  isDown = true;
  await clock.advance(59 * MINUTE - 1);
  t.equal(await keys.get(), first);
  await clock.advance(1);
  await t.rejects(keys.get(), { code: "ERR_BASE_UNAVAILABLE" });
});
