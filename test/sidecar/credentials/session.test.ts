import { test } from "tap";
import { asOf, keep, leftMs, momentOf } from "../../../sidecar/credentials/session.ts";
import { FakeClock } from "../fake-clock.ts";
import { HOUR, MINUTE } from "../fake-sts.ts";

function credentials(expirationMs: number | null): Parameters<typeof keep>[0] {
  return { accessKeyID: "ASIA", secretAccessKey: "secret", sessionToken: "token", accountID: "111122223333", arn: "arn", userID: "id", expirationMs };
}

test("a session lives to its end by the clock that gives it less", async (t) => {
  const clock = new FakeClock();
  const kept = keep(credentials(clock.now() + HOUR), momentOf(clock));
  t.equal(kept.lifeMs, HOUR);
  await clock.advance(20 * MINUTE);
  t.equal(leftMs(kept, momentOf(clock)), 40 * MINUTE);
  clock.jump(10 * MINUTE);
  t.equal(leftMs(kept, momentOf(clock)), 30 * MINUTE, "put forward, as when the machine slept");
  clock.jump(-20 * MINUTE);
  t.equal(leftMs(kept, momentOf(clock)), 40 * MINUTE, "put back");
});

test("once the clock was put back the end is stated by the new time, and not for a second of difference", (t) => {
  const clock = new FakeClock();
  const kept = keep(credentials(clock.now() + HOUR), momentOf(clock));
  t.equal(asOf(kept, momentOf(clock)), kept.credentials);
  clock.jump(-1_000);
  t.equal(asOf(kept, momentOf(clock)), kept.credentials);
  clock.jump(-9_000);
  t.equal(asOf(kept, momentOf(clock)).expirationMs, clock.now() + HOUR);
  clock.jump(20_000);
  t.equal(asOf(kept, momentOf(clock)), kept.credentials, "put forward, the end that was stated is early enough");
  t.end();
});

test("a clock that is put back during the call does not lengthen a life", (t) => {
  const clock = new FakeClock();
  const asked = momentOf(clock);
  clock.jump(-10 * MINUTE);
  const kept = keep(credentials(asked.nowMs + HOUR), asked);
  t.equal(leftMs(kept, momentOf(clock)), HOUR);
  t.equal(asOf(kept, momentOf(clock)).expirationMs, clock.now() + HOUR);
  t.end();
});

test("a key without an end lives on", (t) => {
  const clock = new FakeClock();
  const kept = keep(credentials(null), momentOf(clock));
  t.equal(kept.lifeMs, null);
  clock.jump(24 * HOUR);
  t.equal(leftMs(kept, momentOf(clock)), Infinity);
  t.equal(asOf(kept, momentOf(clock)), kept.credentials);
  t.end();
});
