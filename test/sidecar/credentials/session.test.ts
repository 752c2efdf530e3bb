import { test } from "tap";
import { credentialsAt, readClocks, remainingMs, toCachedSession } from "../../../sidecar/credentials/session.ts";
import { FakeClock } from "../fake-clock.ts";
import { HOUR, MINUTE } from "../fake-sts.ts";

function credentials(expirationMs: number | null): Parameters<typeof toCachedSession>[0] {
  const identity = { accountID: "111122223333", arn: "arn", userID: "id" };
  return { accessKeyID: "ASIA", secretAccessKey: "secret", sessionToken: "token", ...identity, expirationMs };
}

test("computes the remaining lifetime by two clocks, and returns the shorter lifetime", async (t) => {
  const clock = new FakeClock();
  const session = toCachedSession(credentials(clock.now() + HOUR), readClocks(clock));
  t.equal(session.lifeMs, HOUR);
  await clock.advance(20 * MINUTE);
  t.equal(remainingMs(session, readClocks(clock)), 40 * MINUTE);
  clock.jump(10 * MINUTE);
  t.equal(remainingMs(session, readClocks(clock)), 30 * MINUTE, "the clock was set forward, or the machine slept");
  clock.jump(-20 * MINUTE);
  t.equal(remainingMs(session, readClocks(clock)), 40 * MINUTE, "the clock was set back");
});

test("moves the reported expiration if the wall clock was set back by more than a second", (t) => {
  const clock = new FakeClock();
  const session = toCachedSession(credentials(clock.now() + HOUR), readClocks(clock));
  t.equal(credentialsAt(session, readClocks(clock)), session.credentials);
  clock.jump(-1_000);
  t.equal(credentialsAt(session, readClocks(clock)), session.credentials);
  clock.jump(-9_000);
  t.equal(credentialsAt(session, readClocks(clock)).expirationMs, clock.now() + HOUR);
  clock.jump(20_000);
  t.equal(credentialsAt(session, readClocks(clock)), session.credentials, "the expiration is early enough");
  t.end();
});

test("the lifetime of a session is not longer if the clock is set back during the STS call", (t) => {
  const clock = new FakeClock();
  const calledAt = readClocks(clock);
  clock.jump(-10 * MINUTE);
  const session = toCachedSession(credentials(calledAt.nowMs + HOUR), calledAt);
  t.equal(remainingMs(session, readClocks(clock)), HOUR);
  t.equal(credentialsAt(session, readClocks(clock)).expirationMs, clock.now() + HOUR);
  t.end();
});

test("a session that has no expiration does not expire", (t) => {
  const clock = new FakeClock();
  const session = toCachedSession(credentials(null), readClocks(clock));
  t.equal(session.lifeMs, null);
  clock.jump(24 * HOUR);
  t.equal(remainingMs(session, readClocks(clock)), Infinity);
  t.equal(credentialsAt(session, readClocks(clock)), session.credentials);
  t.end();
});
