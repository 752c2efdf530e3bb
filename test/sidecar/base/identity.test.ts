import { test } from "tap";
import { ResolverError } from "../../../shared/decisions/errors.ts";
import { BaseIdentity, type BaseProvider } from "../../../sidecar/base/identity.ts";
import type { CallerIdentity } from "../../../sidecar/sts-upstream/client.ts";
import type { SigningCredentials } from "../../../sidecar/sts-upstream/connection.ts";
import { UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { FakeClock } from "../fake-clock.ts";

const MINUTE = 60_000;
const clock = new FakeClock();
const IDENTITY: CallerIdentity = { accountID: "999999999999", arn: "arn:aws:sts::999999999999:assumed-role/ack/pod", userID: "AROAACK:pod" };

function credentials(): SigningCredentials {
  return { accessKeyID: "ASIABASE", secretAccessKey: "planted-secret", sessionToken: "planted-token", expirationMs: clock.now() + 60 * MINUTE };
}

function subject(provider: BaseProvider, callerIdentity: () => Promise<CallerIdentity> = async () => IDENTITY): BaseIdentity {
  return new BaseIdentity({ provider, sts: { callerIdentity, behindMs: 0 }, clock, random: () => 0.5 });
}

test("it is usable once STS has said whose it is, and is renewed at half life", async (t) => {
  let calls = 0;
  const base = subject(async () => {
    calls += 1;
    return credentials();
  });
  t.equal(base.usable, false, "not asked yet, but asked for from now on");
  t.equal(base.known, null);
  await clock.advance(0);
  t.equal(base.usable, true);
  t.equal(base.fault, null);
  t.match(await base.get(), { accessKeyID: "ASIABASE", ...IDENTITY });
  t.equal(calls, 1);
  await clock.advance(30 * MINUTE);
  t.equal(calls, 2);
  base.forget(await base.get());
  t.equal(base.usable, false);
  t.same(base.known, { arn: IDENTITY.arn, isSession: true }, "who it is stays known while its credentials are had anew");
  await clock.advance(0);
  t.equal(calls, 3);
  base.close();
});

test("where this machine's clock is behind STS's, the end that AWS stated is taken to be that much nearer", async (t) => {
  for (const behindMs of [0, 10 * MINUTE]) {
    const base = new BaseIdentity({ provider: async () => credentials(), sts: { callerIdentity: async () => IDENTITY, behindMs }, clock, random: () => 0.5 });
    t.equal((await base.get()).expirationMs, clock.now() + 60 * MINUTE - behindMs);
    base.close();
  }
});

test("a provider that hangs is the base's trouble, not one of STS that would stop the calls for it", async (t) => {
  const own = new FakeClock();
  const base = new BaseIdentity({ provider: () => new Promise(() => {}), sts: { callerIdentity: async () => IDENTITY, behindMs: 0 }, clock: own, random: () => 0.5 });
  const failed = t.rejects(base.get(), { code: "ERR_BASE_UNAVAILABLE", message: /^No credentials for the sidecar itself \(no answer within 4\.9 s\)\. / });
  await own.advance(5_000);
  await failed;
  t.match(base.fault, /no answer within 4\.9 s/, "and it is not ready for that reason");
  base.close();
});

test("of several calls that STS refused with one identity, the first makes it forgotten and the others leave the next one alone", async (t) => {
  let made = 0;
  const base = subject(async () => {
    made += 1;
    return { ...credentials(), accessKeyID: `ASIA${made}` };
  });
  const first = await base.get();
  base.forget(first);
  t.equal(base.usable, false);
  base.forget(first);
  const next = await base.get();
  base.forget(first);
  t.equal((await base.get()).accessKeyID, next.accessKeyID);
  t.equal(made, 2);
  base.close();
});

test("a provider without credentials is told without what it said", async (t) => {
  const base = subject(() => Promise.reject(new Error("planted detail")));
  await t.rejects(base.get(), {
    code: "ERR_BASE_UNAVAILABLE",
    message: "No credentials for the sidecar itself (Error). Give it an identity: web identity, Pod Identity, a profile or an instance role.",
  });
  t.equal(base.usable, false);
  t.match(base.fault, /^No credentials for the sidecar itself \(Error\)\. /);
  const odd = subject(() => Promise.reject("no error at all"));
  await t.rejects(odd.get(), { message: /\(unknown\)/ });
  const told = subject(() => Promise.reject(new ResolverError("ERR_CONFIG_INVALID", "as it is")));
  await t.rejects(told.get(), { code: "ERR_CONFIG_INVALID", message: "as it is" });
});

test("credentials that STS does not take are not usable", async (t) => {
  const base = subject(async () => credentials(), () => Promise.reject(new ResolverError("ERR_BASE_UNAVAILABLE", "STS answered ExpiredToken")));
  await t.rejects(base.get(), { code: "ERR_BASE_UNAVAILABLE" });
  t.equal(base.usable, false);
  t.equal(base.fault, "STS answered ExpiredToken");
  const broken = subject(async () => credentials(), () => Promise.reject(new TypeError("planted detail")));
  await t.rejects(broken.get(), TypeError);
  t.equal(broken.fault, "An unexpected fault; the log of the next request has the details.");
});

test("a refusal to say whose it is is the base's trouble, and no role's", async (t) => {
  const refusal = new UpstreamSTSError("STS answered GetCallerIdentity with AccessDenied: no", { stsCode: "AccessDenied", stsStatus: 403 });
  const base = subject(async () => credentials(), () => Promise.reject(refusal));
  await t.rejects(base.get(), { code: "ERR_BASE_UNAVAILABLE", message: /^The sidecar's own identity is not accepted\. STS answered GetCallerIdentity/ });
  t.match(base.fault, /GetCallerIdentity/);
});

test("what became of each attempt is told, how long ago it was proved, and when it ends", async (t) => {
  const own = new FakeClock();
  const told: string[] = [];
  let fails = false;
  const provider: BaseProvider = async () => {
    if (fails) throw new Error("none");
    return { ...credentials(), expirationMs: own.now() + 60 * MINUTE };
  };
  const base = new BaseIdentity({ provider, sts: { callerIdentity: async () => IDENTITY, behindMs: 0 }, clock: own, random: () => 0.5, onAttempt: ({ is }) => told.push(is) });
  t.equal(base.proved, null);
  await base.get();
  t.same(base.proved, { ageMs: 0, expirationMs: own.now() + 60 * MINUTE });
  fails = true;
  await own.advance(31 * MINUTE);
  t.match(base.proved, { ageMs: 31 * MINUTE });
  t.same([...new Set(told)], ["proven", "ageing"]);
  t.equal(base.usable, true);
  own.jump(10 * MINUTE);
  t.match(base.proved, { ageMs: 31 * MINUTE }, "whatever the clock is set to");
  await own.advance(30 * MINUTE);
  t.equal(base.usable, false);
  t.equal(told.at(-1), "lost");
  fails = false;
  await own.advance(30_000);
  await base.get();
  t.equal(told.at(-1), "proven");
  base.close();
});
