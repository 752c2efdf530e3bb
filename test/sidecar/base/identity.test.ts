import { test } from "tap";
import { ResolverError } from "../../../shared/formats/errors.ts";
import { BaseIdentity, type BaseProvider } from "../../../sidecar/base/identity.ts";
import type { CallerIdentity, SigningCredentials } from "../../../sidecar/credentials/session.ts";
import { UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { FakeClock } from "../fake-clock.ts";

const MINUTE = 60_000;
const clock = new FakeClock();
const IDENTITY: CallerIdentity = {
  accountID: "999999999999", arn: "arn:aws:sts::999999999999:assumed-role/ack/pod", userID: "AROAACK:pod",
};

function credentials(): SigningCredentials {
  const expirationMs = clock.now() + 60 * MINUTE;
  return { accessKeyID: "ASIABASE", secretAccessKey: "planted-secret", sessionToken: "planted-token", expirationMs };
}

function subject(
  provider: BaseProvider, callerIdentity = async (): Promise<CallerIdentity> => IDENTITY,
  rest: Partial<ConstructorParameters<typeof BaseIdentity>[0]> = {},
): BaseIdentity {
  const sts = { callerIdentity, clockLagMs: 0 };
  return new BaseIdentity({ provider, sts, clock, random: () => 0.5, onAttempt: () => {}, ...rest });
}

test("is usable after STS verifies the identity, and refreshes credentials after half their lifetime", async (t) => {
  let calls = 0;
  const base = subject(async () => {
    calls += 1;
    return credentials();
  });
  t.equal(base.usable, false, "reading the property starts the first verification");
  t.equal(base.verified, null);
  await clock.advance(0);
  t.equal(base.usable, true);
  t.equal(base.fault, null);
  t.match(await base.get(), { accessKeyID: "ASIABASE", ...IDENTITY });
  t.equal(calls, 1);
  await clock.advance(30 * MINUTE);
  t.equal(calls, 2);
  base.invalidate(await base.get());
  t.equal(base.usable, false);
  // The base identity stays known while the sidecar loads new credentials.
  t.match(base.verified, { arn: IDENTITY.arn, isSession: true });
  await clock.advance(0);
  t.equal(calls, 3);
  base.close();
});

test("expires the credentials earlier if the local clock is behind the clock of STS", async (t) => {
  for (const clockLagMs of [0, 10 * MINUTE]) {
    const sts = { callerIdentity: async () => IDENTITY, clockLagMs };
    const base = subject(async () => credentials(), sts.callerIdentity, { sts });
    t.equal((await base.get()).expirationMs, clock.now() + 60 * MINUTE - clockLagMs);
    base.close();
  }
});

test("reports a provider that does not respond as ERR_BASE_UNAVAILABLE", async (t) => {
  const own = new FakeClock();
  const base = subject(() => new Promise(() => {}), undefined, { clock: own });
  const failed = t.rejects(base.get(), {
    code: "ERR_BASE_UNAVAILABLE",
    message: /^The sidecar has no credentials for its base identity \(no response within 4\.9 s\)\. /,
  });
  await own.advance(5_000);
  await failed;
  t.match(base.fault, /no response within 4\.9 s/, "readiness reports the same reason");
  base.close();
});

test("evicts rejected credentials once, and does not evict the credentials that replace them", async (t) => {
  let made = 0;
  const base = subject(async () => {
    made += 1;
    return { ...credentials(), accessKeyID: `ASIA${made}` };
  });
  const first = await base.get();
  base.invalidate(first);
  t.equal(base.usable, false);
  base.invalidate(first);
  const next = await base.get();
  base.invalidate(first);
  t.equal((await base.get()).accessKeyID, next.accessKeyID);
  t.equal(made, 2);
  base.close();
});

test("reports a failing provider but does not quote the provider's error message", async (t) => {
  const base = subject(() => Promise.reject(new Error("planted detail")));
  await t.rejects(base.get(), {
    code: "ERR_BASE_UNAVAILABLE",
    message: "The sidecar has no credentials for its base identity (Error). " +
      "Configure web identity, Pod Identity, a profile or an instance role for the sidecar.",
  });
  t.equal(base.usable, false);
  t.match(base.fault, /^The sidecar has no credentials for its base identity \(Error\)\. /);
  const thrownString = subject(() => Promise.reject("planted detail"));
  await t.rejects(thrownString.get(), { message: /\(unknown\)/ });
  const known = subject(() => Promise.reject(new ResolverError("ERR_CONFIG_INVALID", "unchanged message")));
  await t.rejects(known.get(), { code: "ERR_CONFIG_INVALID", message: "unchanged message" });
});

test("is not usable while STS rejects the base credentials", async (t) => {
  const expired = new ResolverError("ERR_BASE_UNAVAILABLE", "STS returned ExpiredToken");
  const base = subject(async () => credentials(), () => Promise.reject(expired));
  await t.rejects(base.get(), { code: "ERR_BASE_UNAVAILABLE" });
  t.equal(base.usable, false);
  t.equal(base.fault, "STS returned ExpiredToken");
  const broken = subject(async () => credentials(), () => Promise.reject(new TypeError("planted detail")));
  await t.rejects(broken.get(), TypeError);
  t.equal(broken.fault, "Loading the base identity failed. The next request logs the details.");
});

test("reports AccessDenied for GetCallerIdentity as ERR_BASE_UNAVAILABLE", async (t) => {
  const message = "STS returned AccessDenied for GetCallerIdentity: no";
  const denied = new UpstreamSTSError(message, { stsCode: "AccessDenied", stsStatus: 403 });
  const base = subject(async () => credentials(), () => Promise.reject(denied));
  await t.rejects(base.get(), {
    code: "ERR_BASE_UNAVAILABLE", message: `STS rejected the sidecar's base identity. ${message}`,
  });
  t.match(base.fault, /GetCallerIdentity/);
});

test("reports the status of each attempt, and the age and expiration of the last verified identity", async (t) => {
  const own = new FakeClock();
  const statuses: string[] = [];
  let fails = false;
  const provider: BaseProvider = async () => {
    if (fails) throw new Error("none");
    return { ...credentials(), expirationMs: own.now() + 60 * MINUTE };
  };
  const base = subject(provider, undefined, { clock: own, onAttempt: ({ status }) => statuses.push(status) });
  t.equal(base.lastVerification, null);
  await base.get();
  t.same(base.lastVerification, { ageMs: 0, expirationMs: own.now() + 60 * MINUTE });
  fails = true;
  await own.advance(31 * MINUTE);
  t.match(base.lastVerification, { ageMs: 31 * MINUTE });
  t.same([...new Set(statuses)], ["verified", "stale"]);
  t.equal(base.usable, true);
  own.jump(10 * MINUTE);
  t.match(base.lastVerification, { ageMs: 31 * MINUTE }, "the age does not depend on the wall clock");
  await own.advance(30 * MINUTE);
  t.equal(base.usable, false);
  t.equal(statuses.at(-1), "unavailable");
  fails = false;
  await own.advance(30_000);
  await base.get();
  t.equal(statuses.at(-1), "verified");
  base.close();
});

test("generates stand-in keys that are valid for an hour, renews them after half of it, and shares them", async (t) => {
  const own = new FakeClock();
  const base = subject(async () => ({ ...credentials(), expirationMs: null }), undefined, { clock: own });
  const [first, same] = await Promise.all([base.getStandIn(), base.getStandIn()]);
  t.match(first, {
    ...IDENTITY, accessKeyID: /^ASIA[A-Z2-7]{16}$/, secretAccessKey: /^[\w+/]{40}$/,
    sessionToken: /^[\w+/]{256}$/, expirationMs: own.now() + 60 * MINUTE,
  });
  t.same(same, first);
  t.notMatch(JSON.stringify(first), "planted");
  await own.advance(30 * MINUTE - 1);
  t.same(await base.getStandIn(), first);
  await own.advance(1);
  const next = await base.getStandIn();
  t.not(next.accessKeyID, first.accessKeyID);
  t.not(next.secretAccessKey, first.secretAccessKey);
  base.close();
});

test("returns the last stand-in keys until 60 s before they expire while the identity is unavailable", async (t) => {
  const own = new FakeClock();
  let isDown = true;
  const provider: BaseProvider = async () => {
    if (isDown) throw new Error("unavailable");
    return { ...credentials(), expirationMs: own.now() + 2 * MINUTE };
  };
  const base = subject(provider, undefined, { clock: own });
  await t.rejects(base.getStandIn(), { code: "ERR_BASE_UNAVAILABLE" }, "the identity is not verified yet");
  isDown = false;
  await own.advance(MINUTE);
  const first = await base.getStandIn();
  isDown = true;
  await own.advance(59 * MINUTE);
  t.same(await base.getStandIn(), first);
  await own.advance(1);
  await t.rejects(base.getStandIn(), { code: "ERR_BASE_UNAVAILABLE" });
  base.close();
});
