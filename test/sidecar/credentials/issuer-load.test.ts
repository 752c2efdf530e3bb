import { test } from "tap";
import { randomFrom } from "../../../bench/random.ts";
import type { Grant } from "../../../shared/decisions/grants/grant.ts";
import { NO_EXTRAS } from "../../../shared/decisions/selectors/session.ts";
import { BaseIdentity } from "../../../sidecar/base/identity.ts";
import { CredentialCache } from "../../../sidecar/credentials/cache.ts";
import { IssuedCredentials } from "../../../sidecar/credentials/issued.ts";
import { Issuer } from "../../../sidecar/credentials/issuer.ts";
import type { CallerIdentity } from "../../../sidecar/sts-upstream/client.ts";
import type { SigningCredentials } from "../../../sidecar/sts-upstream/connection.ts";
import { CallGate } from "../../../sidecar/sts-upstream/rate-limiter.ts";
import { FakeClock } from "../fake-clock.ts";
import { FakeSTS, HOUR, MINUTE, SECOND } from "../fake-sts.ts";

const [KINDS, REGIONS, ROLES] = [16, 3, 50];
/** What ACK's providers ask for, and use to the last second. */
const PROVIDER_LIFE_MS = 900 * SECOND;
const WANTED = { durationSeconds: 900, policy: null, policyARNs: [] };

interface Sidecar {
  readonly clock: FakeClock;
  readonly sts: FakeSTS;
  readonly vending: Issuer;
  /** Whether the base identity can be had. */
  base: boolean;
  lookups: { hit: number; miss: number; stale: number };
}

function sidecar(): Sidecar {
  const clock = new FakeClock();
  const sts = new FakeSTS(clock);
  sts.latencyMs = 100;
  const random = randomFrom(18);
  const lookups = { hit: 0, miss: 0, stale: 0 };
  const one: { base: boolean } = { base: true };
  const provider = async (): Promise<SigningCredentials> => {
    if (!one.base) throw new Error("none");
    return { accessKeyID: "ASIABASE", secretAccessKey: "secret", sessionToken: "token", expirationMs: clock.now() + HOUR };
  };
  const callerIdentity = async (): Promise<CallerIdentity> => ({ accountID: "999999999999", arn: "arn:aws:sts::999999999999:assumed-role/ack/pod", userID: "AROA:pod" });
  const base = new BaseIdentity({ provider, sts: { callerIdentity, behindMs: 0 }, clock, random, onAttempt: () => {} });
  const sessions = new CredentialCache({ clock, random, gate: new CallGate({ clock }), onLookup: (result) => (lookups[result] += 1) });
  const vending = new Issuer(
    { sessionName: "ack-role-resolver", region: "eu-west-1", vendsLongLivedBase: false, pinsAccount: false, allowedAccounts: [] },
    {
      base, sessions, issued: new IssuedCredentials(clock), identityOnly: null, onAccountRefused: () => {},
      sts: { assumeRole: (_, { roleARN }, signal) => sts.load(roleARN)(signal) },
    },
  );
  return Object.assign(one, { clock, sts, vending, lookups });
}

const GRANTS: readonly Grant[] = Array.from({ length: ROLES }, (_, i) => ({
  verdict: "role", roleARN: `arn:aws:iam::111111111111:role/team-${i}`, selectors: [`team-${i}`], extras: NO_EXTRAS, grantedBy: {},
}));

/** A provider of each kind, Region and role that asks at `startMs`, then each time its 900 s are over and it is next used. */
function startProviders({ clock, vending }: Sidecar, random: () => number, startMs: () => number): { readonly asked: () => number; readonly failed: () => number } {
  let asked = 0;
  let failed = 0;
  const ask = (grant: Grant): void => {
    asked += 1;
    vending.credentialsFor(grant, { as: "role", wanted: WANTED }).catch(() => (failed += 1));
    clock.schedule(PROVIDER_LIFE_MS + random() * 30 * SECOND, () => ask(grant));
  };
  for (let provider = 0; provider < KINDS * REGIONS * ROLES; provider++) {
    const grant = GRANTS[provider % ROLES]!;
    clock.schedule(startMs(), () => ask(grant));
  }
  return { asked: () => asked, failed: () => failed };
}

test("16 kinds in 3 Regions with 50 roles for 3 hours: at most 2.2 AssumeRole calls an hour for each session, after a burst of 25 and 10/s", async (t) => {
  const one = sidecar();
  // All at once, as when every controller starts anew.
  const providers = startProviders(one, randomFrom(1), () => 0);
  await one.clock.advance(3 * HOUR);
  const hours = [0, 1, 2].map((hour) => one.sts.callsBetween(hour * HOUR, (hour + 1) * HOUR));
  const later = (hours[1] ?? 0) + (hours[2] ?? 0);
  t.comment(`AssumeRole calls by hour: ${hours.join(", ")}; ${(later / 2 / ROLES).toFixed(2)} an hour for each session over hours 2 and 3 (asked: 2.2); ${(later / 2).toFixed(0)}/h (asked: 110)`);
  t.comment(`asked for by the providers: ${providers.asked()} in 3 h; refused: ${providers.failed()}`);
  t.ok(later / 2 <= 2.2 * ROLES);
  t.equal(providers.failed(), 0);
  const cold = one.sts.calls.filter(({ atMs }) => atMs < 10 * SECOND);
  t.equal(cold.length, ROLES, "one call for each cold session, though 48 wait for it");
  const beyond = cold.filter(({ atMs }, i) => i + 1 > 25 + Math.ceil(atMs / 100));
  t.comment(`cold: ${cold.length} calls in ${cold.at(-1)?.atMs} ms, ${one.sts.mostInFlight} in flight at most (asked: 25 at once, then 10/s; 8)`);
  t.same(beyond, []);
  t.ok(one.sts.mostInFlight <= 8);
});

test("10,000 calls of ACK's providers, which name a session anew each time, are answered from what is kept in 99 of 100", async (t) => {
  const one = sidecar();
  // Controllers come to their resources one after another.
  const providers = startProviders(one, randomFrom(2), ((random) => () => random() * 5 * MINUTE)(randomFrom(3)));
  while (providers.asked() < 10_000) await one.clock.advance(SECOND);
  const { hit, miss, stale } = one.lookups;
  const rate = hit / (hit + miss + stale);
  t.comment(`${(rate * 100).toFixed(2)}% of ${hit + miss + stale} (asked: 99%)`);
  t.ok(rate >= 0.99);
  t.equal(providers.failed(), 0);
});

test("what is warm is vended while the base identity cannot be had, also once that has ended, and renewed within 30 s of its return", async (t) => {
  const one = sidecar();
  const ask = async (): Promise<string> => {
    const answer = Promise.all(GRANTS.slice(0, 1).map((grant) => one.vending.credentialsFor(grant, { as: "role" }))).then(() => "ok", (error: Error & { code: string }) => error.code);
    await one.clock.advance(SECOND);
    return answer;
  };
  t.equal(await ask(), "ok");
  one.base = false;
  const answers: string[] = [];
  for (let minute = 0; minute < 130; minute++) {
    answers.push(await ask());
    await one.clock.advance(MINUTE - SECOND);
  }
  t.same([...new Set(answers.slice(0, 85))], ["ok"], "the base identity ended after 60 minutes, the session that was had with it lives on");
  t.equal(answers.at(-1), "ERR_BASE_UNAVAILABLE");
  one.base = true;
  const backMs = one.clock.steady();
  while (await ask() !== "ok" && one.clock.steady() - backMs < MINUTE);
  t.comment(`vended again ${(one.clock.steady() - backMs) / 1000} s after it could be had (asked: 30)`);
  t.ok(one.clock.steady() - backMs <= 30 * SECOND);
});
