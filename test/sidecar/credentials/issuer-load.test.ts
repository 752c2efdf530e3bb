import { test } from "tap";
import { NOTHING_CLOSED } from "../../../shared/core/closures.ts";
import { SELECTOR_OWNER } from "../../../shared/core/grant-session.ts";
import { randomFrom } from "../../../bench/random.ts";
import type { Grant } from "../../../shared/core/grant.ts";
import { NO_EXTRAS } from "../../../shared/core/session.ts";
import { BaseIdentity } from "../../../sidecar/base/identity.ts";
import { CredentialCache } from "../../../sidecar/credentials/cache.ts";
import { IssuedCredentials } from "../../../sidecar/credentials/issued.ts";
import { Issuer } from "../../../sidecar/credentials/issuer.ts";
import type { CallerIdentity, SigningCredentials } from "../../../sidecar/credentials/session.ts";
import { STSCallGuard } from "../../../sidecar/sts-upstream/rate-limiter.ts";
import { FakeClock } from "../fake-clock.ts";
import { FakeSTS, HOUR, MINUTE, SECOND } from "../fake-sts.ts";

const [KINDS, REGIONS, ROLES] = [16, 3, 50];
/** ACK's credential providers request sessions of this duration, and use each session until its last second. */
const PROVIDER_LIFE_MS = 900 * SECOND;
const CLIENT = { key: "", fields: () => ({}) };
const WANTED = { durationSeconds: 900, policy: null, policyARNs: [] };

interface Sidecar {
  readonly clock: FakeClock;
  readonly sts: FakeSTS;
  readonly issuer: Issuer;
  /** True while the base identity is available. */
  base: boolean;
}

function sidecar(): Sidecar {
  const clock = new FakeClock();
  const sts = new FakeSTS(clock);
  sts.latencyMs = 100;
  const random = randomFrom(18);
  const subject: { base: boolean } = { base: true };
  const provider = async (): Promise<SigningCredentials> => {
    if (!subject.base) throw new Error("unavailable");
    const expirationMs = clock.now() + HOUR;
    return { accessKeyID: "ASIABASE", secretAccessKey: "secret", sessionToken: "token", expirationMs };
  };
  const arn = "arn:aws:sts::999999999999:assumed-role/ack/pod";
  const callerIdentity = async (): Promise<CallerIdentity> => ({ accountID: "999999999999", arn, userID: "AROA:pod" });
  const ofBase = { callerIdentity, clockLagMs: 0 };
  const base = new BaseIdentity({ provider, sts: ofBase, clock, random, onAttempt: () => {} });
  const sessions = new CredentialCache({ clock, random, guard: new STSCallGuard({ clock }) });
  const issuer = new Issuer(
    {
      sessionName: "ack-role-resolver", region: "eu-west-1", base: null, scopeNamespace: null,
      allowedAccounts: [], group: ["s3.services.k8s.aws"],
    },
    {
      base, profile: { closures: NOTHING_CLOSED }, sessions,
      issued: new IssuedCredentials(clock),
      onAccountRejected: () => {}, audit: { obtained: () => {}, issued: () => undefined },
      sts: { assumeRole: (_, { roleARN }, signal) => sts.load(roleARN)(signal) },
    },
  );
  return Object.assign(subject, { clock, sts, issuer });
}

interface Providers {
  readonly requests: () => number;
  readonly failed: () => number;
}

const GRANTS: readonly Grant[] = Array.from({ length: ROLES }, (_, i) => ({
  verdict: "role", roleARN: `arn:aws:iam::111111111111:role/team-${i}`, selectors: [`team-${i}`], extras: NO_EXTRAS,
  owner: SELECTOR_OWNER, grantedBy: {},
}));

/**
 * Starts one provider for each kind, Region and role. Each provider requests a session at `startMs` and then every 900
 * s.
 */
function startProviders({ clock, issuer }: Sidecar, random: () => number, startMs: () => number): Providers {
  let requests = 0;
  let failed = 0;
  const request = (grant: Grant): void => {
    requests += 1;
    issuer.credentialsFor(grant, { kind: "role", client: CLIENT, requested: WANTED }).catch(() => (failed += 1));
    clock.schedule(PROVIDER_LIFE_MS + random() * 30 * SECOND, () => request(grant));
  };
  for (let provider = 0; provider < KINDS * REGIONS * ROLES; provider++) {
    const grant = GRANTS[provider % ROLES]!;
    clock.schedule(startMs(), () => request(grant));
  }
  return { requests: () => requests, failed: () => failed };
}

test("makes at most 2.2 AssumeRole calls an hour per session for 16 kinds, 3 Regions and 50 roles", async (t) => {
  const subject = sidecar();
  // All providers start at the same time, as when every controller restarts.
  const providers = startProviders(subject, randomFrom(1), () => 0);
  await subject.clock.advance(3 * HOUR);
  const hours = [0, 1, 2].map((hour) => subject.sts.callsBetween(hour * HOUR, (hour + 1) * HOUR));
  const later = (hours[1] ?? 0) + (hours[2] ?? 0);
  const perHour = later / 2;
  t.comment(`AssumeRole calls by hour: ${hours.join(", ")}; ${perHour.toFixed(0)}/h in hours 2 and 3 (target: 110)`);
  t.comment(`${(perHour / ROLES).toFixed(2)} an hour for each session (target: 2.2)`);
  t.comment(`requests of the providers: ${providers.requests()} in 3 h; failed: ${providers.failed()}`);
  t.ok(perHour <= 2.2 * ROLES);
  t.equal(providers.failed(), 0);
  const cold = subject.sts.calls.filter(({ atMs }) => atMs < 10 * SECOND);
  t.equal(cold.length, ROLES, "48 requests for one uncached session cause one call");
  const beyond = cold.filter(({ atMs }, i) => i + 1 > 200 + Math.ceil(atMs / 5));
  t.comment(`uncached: ${cold.length} calls in ${cold.at(-1)?.atMs} ms (target: 200 at once, then 200/s)`);
  t.comment(`at most ${subject.sts.mostInFlight} in flight (target: 32)`);
  t.same(beyond, []);
  t.ok(subject.sts.mostInFlight <= 32);
});

test("returns cached sessions while the base identity is unavailable, and refreshes them afterward", async (t) => {
  const subject = sidecar();
  const request = async (): Promise<string> => {
    const issued = subject.issuer.credentialsFor(GRANTS[0]!, { kind: "role", client: CLIENT });
    const answer = issued.then(() => "ok", (error: Error & { code: string }) => error.code);
    await subject.clock.advance(SECOND);
    return answer;
  };
  t.equal(await request(), "ok");
  subject.base = false;
  const answers: string[] = [];
  for (let minute = 0; minute < 130; minute++) {
    answers.push(await request());
    await subject.clock.advance(MINUTE - SECOND);
  }
  // The base credentials expired after 60 minutes, but the role session is still valid.
  t.same([...new Set(answers.slice(0, 85))], ["ok"]);
  t.equal(answers.at(-1), "ERR_BASE_UNAVAILABLE");
  subject.base = true;
  const recoveredMs = subject.clock.steady();
  while (await request() !== "ok" && subject.clock.steady() - recoveredMs < MINUTE);
  const seconds = (subject.clock.steady() - recoveredMs) / 1000;
  t.comment(`issued ${seconds} s after the base identity recovered (target: 30)`);
  t.ok(subject.clock.steady() - recoveredMs <= 30 * SECOND);
});
