import { test } from "tap";
import type { Identity, ServiceAccountIdentity } from "../../../shared/model/identity.ts";
import type { SessionRequest } from "../../../shared/model/session.ts";
import { CredentialCache } from "../../../sidecar/credentials/cache.ts";
import type { Credentials } from "../../../sidecar/credentials/session.ts";
import { IdentitySessions } from "../../../sidecar/identities/sessions.ts";
import { ServiceAccountTokens } from "../../../sidecar/identities/service-account-tokens.ts";
import { RetryableSTSError, UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { STSCallGuard } from "../../../sidecar/sts-upstream/rate-limiter.ts";
import { accountIdentity } from "./account-identity.ts";
import { FakeClock } from "../fake-clock.ts";
import { HOUR, MINUTE, SECOND, THROTTLED } from "../fake-sts.ts";
import { TokenServer, tokenOf } from "./token-server.ts";

const OPTIONS = { sessionName: "ack-role-resolver", region: "eu-west-1" };

interface Sessions {
  get(identity: ServiceAccountIdentity): Promise<Credentials>;
}

function sessionsOf(ports: ConstructorParameters<typeof IdentitySessions>[1]): Sessions {
  const sessions = new IdentitySessions(OPTIONS, ports);
  return { get: (source) => sessions.get({ verdict: "identity", source, roles: [] }) };
}

function fail(): Promise<never> {
  return Promise.reject(new Error("not called"));
}

/** An STS that records its calls, and an API server that issues tokens. Every identity is part of the inventory. */
class Setup {
  readonly clock = new FakeClock();
  readonly server = new TokenServer();
  readonly calls: { readonly token: string; readonly request: SessionRequest; readonly atMs: number }[] = [];
  readonly removed = new Set<Identity>();
  /** The reports about calls: the name of the identity, and the error code of STS. */
  readonly reports: string[] = [];
  error: Error | null = null;
  readonly guard = new STSCallGuard({ clock: this.clock });
  readonly cache = new CredentialCache({ clock: this.clock, random: () => 0.5, guard: this.guard });
  readonly tokens = new ServiceAccountTokens({ api: this.server.api, clock: this.clock, onRequest: () => {} });
  readonly sessions = sessionsOf({
    base: { get: fail, whenVerified: fail, invalidate: () => {} },
    sts: {
      assumeRole: fail, callerIdentity: fail,
      assumeRoleWithWebIdentity: (token, request) => this.#assume(token, request),
    },
    secrets: null,
    tokens: this.tokens,
    sessions: this.cache,
    isCurrent: (identity) => !this.removed.has(identity),
    onAssumed: ({ name }) => void this.reports.push(name),
    onRefused: ({ identity }, { stsCode }) => void this.reports.push(`${identity.name} ${stsCode}`),
  });

  async #assume(token: string, request: SessionRequest): Promise<Credentials> {
    this.calls.push({ token, request, atMs: this.clock.steady() });
    if (this.error !== null) throw this.error;
    return {
      accessKeyID: `ASIA${this.calls.length}`, secretAccessKey: "secret", sessionToken: "token",
      expirationMs: this.clock.now() + HOUR, accountID: "111122223333",
      arn: "arn:aws:sts::111122223333:assumed-role/capa/session", userID: "AROAA:session",
    };
  }
}

test("requests a new token for each STS call, and refreshes the session at most 2.2 times an hour", async (t) => {
  const setup = new Setup();
  const identity = accountIdentity({ expirationSeconds: 600 });
  for (let minutes = 0; minutes < 180; minutes += 5) {
    const { expirationMs } = await setup.sessions.get(identity);
    t.ok((expirationMs ?? 0) - setup.clock.now() > 20 * MINUTE, `minute ${minutes}`);
    await setup.clock.advance(5 * MINUTE);
  }
  const startMs = setup.calls[0]?.atMs ?? 0;
  const late = setup.calls.filter(({ atMs }) => atMs >= startMs + HOUR && atMs < startMs + 3 * HOUR);
  t.ok(late.length >= 3 && late.length <= 4, `${late.length} calls in hours 2 and 3`);
  t.same(setup.calls.map(({ token }) => token), setup.calls.map((_, i) => tokenOf(i + 1)));
  t.equal(setup.server.requests.length, setup.calls.length, "no token is requested without a call");
});

test("sends every parameter of the identity to STS, and the default session name and duration", async (t) => {
  const setup = new Setup();
  await setup.sessions.get(accountIdentity());
  await setup.sessions.get(accountIdentity({
    sessionName: "capa", durationSeconds: 7200, inlinePolicy: "{}", policyARNs: ["arn:aws:iam::aws:policy/a"],
  }));
  t.match(setup.calls, [
    { request: { sessionName: "ack-role-resolver", durationSeconds: 3600, policy: null, policyARNs: [], tags: [] } },
    {
      request: {
        sessionName: "capa", durationSeconds: 7200, policy: "{}", policyARNs: ["arn:aws:iam::aws:policy/a"],
        externalID: null, sourceIdentity: null,
      },
    },
  ]);
});

test("shares one call between concurrent requests", async (t) => {
  const setup = new Setup();
  const identity = accountIdentity();
  await Promise.all(Array.from({ length: 50 }, () => setup.sessions.get(identity)));
  t.same([setup.calls.length, setup.server.requests.length], [1, 1]);
});

test("creates a new session for a changed or recreated identity, and does not refresh the old session", async (t) => {
  const setup = new Setup();
  const before = accountIdentity();
  await setup.sessions.get(before);
  setup.removed.add(before);
  const changes: readonly Partial<ServiceAccountIdentity>[] = [
    { uid: "uid-2" }, { audiences: ["sts.amazonaws.com", "b"] }, { expirationSeconds: 3600 }, { policyARNs: ["a"] },
    { roleARN: "arn:aws:iam::111122223333:role/other" }, { sessionName: "other" }, { durationSeconds: 900 },
    { inlinePolicy: "{}" }, { namespace: "team-b" }, { name: "other" },
  ];
  for (const change of changes) await setup.sessions.get(accountIdentity(change));
  t.equal(setup.calls.length, 1 + changes.length);
  await setup.sessions.get(accountIdentity({ resourceVersion: "2" }));
  t.equal(setup.calls.length, 1 + changes.length, "a change of metadata only does not affect the session");
  const current = accountIdentity();
  await setup.sessions.get(current);
  setup.removed.add(current);
  await setup.clock.advance(40 * MINUTE);
  const refreshed = setup.calls.slice(1 + changes.length).map(({ request }) => request);
  t.equal(refreshed.length, changes.length, "only the sessions of current identities are refreshed");
});

test("while the circuit is open, requests no token", async (t) => {
  const setup = new Setup();
  setup.error = THROTTLED;
  for (let i = 0; i < 5; i++) await t.rejects(setup.sessions.get(accountIdentity({ name: `n${i}` })));
  t.equal(setup.guard.circuit, "open");
  const requests = setup.server.requests.length;
  for (let i = 0; i < 5; i++) {
    await t.rejects(setup.sessions.get(accountIdentity({ name: `m${i}` })), { message: /^STS circuit open since/ });
  }
  t.equal(setup.server.requests.length, requests);
});

test("applies the rate limit to calls with a token", async (t) => {
  const setup = new Setup();
  const all = Promise.all(Array.from({ length: 60 }, (_, i) => setup.sessions.get(accountIdentity({ name: `n${i}` }))));
  await setup.clock.advance(SECOND);
  t.ok(setup.calls.length <= 36, `${setup.calls.length} calls in the first second`);
  await setup.clock.advance(MINUTE);
  await all;
  t.equal(setup.calls.length, 60);
});

test("an API server that does not respond delays no other call to STS, and does not open the circuit", async (t) => {
  const setup = new Setup();
  setup.server.before = () => new Promise(() => {});
  const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
  const pending = names.map((name) => setup.sessions.get(accountIdentity({ name })).catch((error: unknown) => error));
  await setup.clock.advance(0);
  t.same([setup.server.requests.length, setup.guard.inFlight, setup.guard.waiting], [8, 0, 0]);
  await setup.clock.advance(6 * SECOND);
  const errors = await Promise.all(pending);
  t.match(errors, errors.map(() => ({ code: "ERR_CLUSTER_UNREADABLE", message: /: no response\. Retry/ })));
  t.same([setup.calls.length, setup.guard.circuit], [0, "closed"]);
});

test("ends a session after at most 60% of its lifetime if its namespace no longer allows the token", async (t) => {
  const setup = new Setup();
  const identity = accountIdentity();
  await setup.sessions.get(identity);
  setup.server.status = 500;
  await setup.clock.advance(36 * MINUTE);
  t.equal((await setup.sessions.get(identity)).accessKeyID, "ASIA1", "an error of the API server ends no session");
  Object.assign(setup.server, { status: 403, reason: "Forbidden" });
  await setup.clock.advance(20 * SECOND);
  await t.rejects(setup.sessions.get(identity), { code: "ERR_IDENTITY_TOKEN" });
});

test("adds the fix to an error of STS, evicts a denied session and retries an invalid token after 10 s", async (t) => {
  const setup = new Setup();
  const identity = accountIdentity();
  await setup.sessions.get(identity);
  const invalid = { stsCode: "InvalidIdentityToken", stsStatus: 400 };
  setup.error = new UpstreamSTSError("STS returned InvalidIdentityToken.", invalid);
  await setup.clock.advance(35 * MINUTE);
  const cached = setup.calls.length;
  t.ok(cached > 1, "the refresh failed");
  t.equal((await setup.sessions.get(identity)).accessKeyID, "ASIA1", "the session stays usable");
  setup.error = new UpstreamSTSError("STS returned AccessDenied.", { stsCode: "AccessDenied", stsStatus: 403 });
  await setup.clock.advance(MINUTE);
  await t.rejects(setup.sessions.get(identity), {
    code: "ERR_STS_REFUSED", stsCode: "AccessDenied",
    message: 'The role of AWSServiceAccountIdentity "capa" cannot be assumed: STS returned AccessDenied. In the trust '
      + "policy of arn:aws:iam::111122223333:role/capa, allow sts:AssumeRoleWithWebIdentity to the OIDC provider of "
      + 'the issuer "https://oidc.example/cluster", on condition that sub is system:serviceaccount:team-a:capa and '
      + 'aud is "sts.amazonaws.com".',
  });
  const other = accountIdentity({ name: "other" });
  setup.error = new RetryableSTSError("STS returned IDPCommunicationError.", "IDPCommunicationError");
  const unreachable = await setup.sessions.get(other).catch((error: unknown) => error);
  t.match(unreachable, {
    code: "ERR_STS_UNAVAILABLE", message: /^The role of .* The sidecar retries with a new token\.$/,
  });
  setup.error = new UpstreamSTSError("STS returned InvalidIdentityToken.", invalid);
  await setup.clock.advance(MINUTE);
  await t.rejects(setup.sessions.get(other), { message: /create the OIDC provider of the issuer/ });
  setup.error = null;
  await t.rejects(setup.sessions.get(other), { code: "ERR_STS_REFUSED" }, "the rejection is cached");
  await setup.clock.advance(10 * SECOND);
  t.match(await setup.sessions.get(other), { accountID: "111122223333" });
});

test("reports each role that STS rejects or assumes, but no error that a retry may avoid", async (t) => {
  const setup = new Setup();
  setup.error = new UpstreamSTSError("STS returned AccessDenied.", { stsCode: "AccessDenied", stsStatus: 403 });
  await t.rejects(setup.sessions.get(accountIdentity()));
  setup.error = new RetryableSTSError("STS returned ExpiredToken.", "ExpiredToken");
  await setup.clock.advance(MINUTE);
  await t.rejects(setup.sessions.get(accountIdentity()));
  setup.error = null;
  await setup.clock.advance(MINUTE);
  await setup.sessions.get(accountIdentity());
  t.same(setup.reports, ["capa AccessDenied", "capa"]);
});

test("rejects a service account identity with --from, without a call to STS", async (t) => {
  const setup = new Setup();
  const sts = { assumeRole: fail, callerIdentity: fail, assumeRoleWithWebIdentity: fail };
  const base = { get: fail, whenVerified: fail, invalidate: () => {} };
  const sessions = sessionsOf({
    base, sts, secrets: null, tokens: null, sessions: setup.cache, isCurrent: () => true,
  });
  await t.rejects(sessions.get(accountIdentity()), {
    code: "ERR_IDENTITY_TOKEN",
    message: 'AWSServiceAccountIdentity "capa" cannot be used: with --from, the sidecar has no API server that issues '
      + "tokens of ServiceAccounts. Use --cluster.",
  });
});
