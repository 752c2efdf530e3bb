import { test } from "tap";
import type { ServiceAccountIdentity } from "../../../shared/capa/identity.ts";
import { RetryableSTSError, UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { accountIdentity, IdentitySetup, STATIC } from "./setup.ts";
import { HOUR, MINUTE, SECOND, UNREACHABLE } from "../fake-sts.ts";
import { tokenOf } from "./token-server.ts";

test("requests a new token for each STS call, and refreshes the session at most 2.2 times an hour", async (t) => {
  const setup = new IdentitySetup();
  const identity = accountIdentity({ expirationSeconds: 600 });
  for (let minutes = 0; minutes < 180; minutes += 5) {
    const { expirationMs } = await setup.ofAccount(identity);
    t.ok((expirationMs ?? 0) - setup.clock.now() > 20 * MINUTE, `minute ${minutes}`);
    await setup.clock.advance(5 * MINUTE);
  }
  const startMs = setup.tokenCalls[0]?.atMs ?? 0;
  const late = setup.tokenCalls.filter(({ atMs }) => atMs >= startMs + HOUR && atMs < startMs + 3 * HOUR);
  t.ok(late.length >= 3 && late.length <= 4, `${late.length} calls in hours 2 and 3`);
  t.same(setup.tokenCalls.map(({ token }) => token), setup.tokenCalls.map((_, i) => tokenOf(i + 1)));
  t.equal(setup.server.requests.length, setup.tokenCalls.length, "no token is requested without a call");
});

test("sends every parameter of the identity to STS, and the default session name and duration", async (t) => {
  const setup = new IdentitySetup();
  await setup.ofAccount(accountIdentity());
  await setup.ofAccount(accountIdentity({
    sessionName: "capa", durationSeconds: 7200, inlinePolicy: "{}", policyARNs: ["arn:aws:iam::aws:policy/a"],
  }));
  t.match(setup.tokenCalls, [
    { request: { sessionName: "ack-role-resolver", durationSeconds: 3600, policy: null, policyARNs: [], tags: [] } },
    {
      request: {
        sessionName: "capa", durationSeconds: 7200, policy: "{}", policyARNs: ["arn:aws:iam::aws:policy/a"],
        externalID: null, sourceIdentity: null,
      },
    },
  ]);
});

test("creates a new session for a changed or recreated identity, and does not refresh the old session", async (t) => {
  const setup = new IdentitySetup();
  const before = accountIdentity();
  await setup.ofAccount(before);
  setup.removed.add(before);
  const changes: readonly Partial<ServiceAccountIdentity>[] = [
    { uid: "uid-2" }, { audiences: ["sts.amazonaws.com", "b"] }, { expirationSeconds: 3600 }, { policyARNs: ["a"] },
    { roleARN: "arn:aws:iam::111122223333:role/other" }, { sessionName: "other" }, { durationSeconds: 900 },
    { inlinePolicy: "{}" }, { namespace: "team-b" }, { name: "other" },
  ];
  for (const change of changes) await setup.ofAccount(accountIdentity(change));
  t.equal(setup.tokenCalls.length, 1 + changes.length);
  await setup.ofAccount(accountIdentity({ resourceVersion: "2" }));
  t.equal(setup.tokenCalls.length, 1 + changes.length, "a change of metadata only does not affect the session");
  const current = accountIdentity();
  await setup.ofAccount(current);
  setup.removed.add(current);
  await setup.clock.advance(40 * MINUTE);
  const refreshed = setup.tokenCalls.slice(1 + changes.length).map(({ request }) => request);
  t.equal(refreshed.length, changes.length, "only the sessions of current identities are refreshed");
});

test("while the circuit is open, requests no token", async (t) => {
  const setup = new IdentitySetup();
  setup.tokenError = UNREACHABLE;
  for (let i = 0; i < 5; i++) await t.rejects(setup.ofAccount(accountIdentity({ name: `n${i}` })));
  t.equal(setup.guard.circuit, "open");
  const requests = setup.server.requests.length;
  for (let i = 0; i < 5; i++) {
    await t.rejects(setup.ofAccount(accountIdentity({ name: `m${i}` })), { message: /^STS circuit open since/ });
  }
  t.equal(setup.server.requests.length, requests);
});

test("applies the rate limit to calls with a token", async (t) => {
  const setup = new IdentitySetup();
  const all = Promise.all(Array.from({ length: 500 }, (_, i) => setup.ofAccount(accountIdentity({ name: `n${i}` }))));
  await setup.clock.advance(SECOND);
  t.ok(setup.tokenCalls.length <= 400, `${setup.tokenCalls.length} calls in the first second`);
  await setup.clock.advance(MINUTE);
  await all;
  t.equal(setup.tokenCalls.length, 500);
});

test("an API server that does not respond delays no other call to STS, and does not open the circuit", async (t) => {
  const setup = new IdentitySetup();
  setup.server.before = () => new Promise(() => {});
  const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
  const pending = names.map((name) => setup.ofAccount(accountIdentity({ name })).catch((error: unknown) => error));
  await setup.clock.advance(0);
  t.same([setup.server.requests.length, setup.guard.inFlight, setup.guard.waiting], [8, 0, 0]);
  await setup.clock.advance(6 * SECOND);
  const errors = await Promise.all(pending);
  t.match(errors, errors.map(() => ({ code: "ERR_CLUSTER_UNREADABLE", message: /: no response\. Retry/ })));
  t.same([setup.tokenCalls.length, setup.guard.circuit], [0, "closed"]);
});

test("ends a session after at most 60% of its lifetime if its namespace no longer allows the token", async (t) => {
  const setup = new IdentitySetup();
  const identity = accountIdentity();
  await setup.ofAccount(identity);
  setup.server.status = 500;
  await setup.clock.advance(36 * MINUTE);
  t.equal((await setup.ofAccount(identity)).accessKeyID, "ASIA1", "an error of the API server ends no session");
  Object.assign(setup.server, { status: 403, reason: "Forbidden" });
  await setup.clock.advance(20 * SECOND);
  await t.rejects(setup.ofAccount(identity), { code: "ERR_IDENTITY_TOKEN" });
});

test("adds the fix to an error of STS, evicts a denied session and retries an invalid token after 10 s", async (t) => {
  const setup = new IdentitySetup();
  const identity = accountIdentity();
  await setup.ofAccount(identity);
  const invalid = { stsCode: "InvalidIdentityToken", stsStatus: 400 };
  setup.tokenError = new UpstreamSTSError("STS returned InvalidIdentityToken.", invalid);
  await setup.clock.advance(35 * MINUTE);
  const cached = setup.tokenCalls.length;
  t.ok(cached > 1, "the refresh failed");
  t.equal((await setup.ofAccount(identity)).accessKeyID, "ASIA1", "the session stays usable");
  setup.tokenError = new UpstreamSTSError("STS returned AccessDenied.", { stsCode: "AccessDenied", stsStatus: 403 });
  await setup.clock.advance(MINUTE);
  await t.rejects(setup.ofAccount(identity), {
    code: "ERR_STS_REFUSED", stsCode: "AccessDenied",
    message: new RegExp('^AWSServiceAccountIdentity "capa" cannot be assumed: STS denied sts:AssumeRoleWithWebI.*'
      + 'the issuer "https://oidc.example/cluster", on condition that sub is system:serviceaccount:team-a:capa and aud '
      + 'is "sts.amazonaws.com"\\. Show it: .*\\. STS returned AccessDenied\\.$'),
  });
  const other = accountIdentity({ name: "other" });
  setup.tokenError = new RetryableSTSError("STS returned IDPCommunicationError.", "IDPCommunicationError");
  const unreachable = await setup.ofAccount(other).catch((error: unknown) => error);
  t.match(unreachable, {
    code: "ERR_STS_UNAVAILABLE", message: /^AWSServiceAccountIdentity "other" .* the sidecar retries with a new tok/,
  });
  setup.tokenError = new UpstreamSTSError("STS returned InvalidIdentityToken.", invalid);
  await setup.clock.advance(MINUTE);
  await t.rejects(setup.ofAccount(other), { message: /Create the OIDC provider of the issuer/ });
  setup.tokenError = null;
  await t.rejects(setup.ofAccount(other), { code: "ERR_STS_REFUSED" }, "the rejection is cached");
  await setup.clock.advance(10 * SECOND);
  t.match(await setup.ofAccount(other), { accountID: "111122223333" });
});

test("reports each role that STS rejects or assumes, but no error that a retry may avoid", async (t) => {
  const setup = new IdentitySetup();
  setup.tokenError = new UpstreamSTSError("STS returned AccessDenied.", { stsCode: "AccessDenied", stsStatus: 403 });
  await t.rejects(setup.ofAccount(accountIdentity()));
  setup.tokenError = new RetryableSTSError("STS returned ExpiredToken.", "ExpiredToken");
  await setup.clock.advance(MINUTE);
  await t.rejects(setup.ofAccount(accountIdentity()));
  setup.tokenError = null;
  await setup.clock.advance(MINUTE);
  await setup.ofAccount(accountIdentity());
  t.same(setup.refused.map(({ identity }) => identity.name), ["capa"]);
  t.same(setup.assumed, ["capa"]);
});

test("with --from, rejects service account identities and static identities without a call to STS", async (t) => {
  const setup = new IdentitySetup({ isOffline: true });
  await t.rejects(setup.ofAccount(accountIdentity()), {
    code: "ERR_IDENTITY_TOKEN",
    message: 'AWSServiceAccountIdentity "capa" cannot be used: with --from, the sidecar has no API server that issues '
      + "tokens of ServiceAccounts. Use --cluster.",
  });
  await t.rejects(setup.sessions.get({ verdict: "identity", source: STATIC, roles: [] }), {
    code: "ERR_IDENTITY_SECRET",
    message: 'AWSClusterStaticIdentity "s" cannot be used: the sidecar does not read Secrets. Set '
      + "--identity-secret-namespace to the namespace of CAPA; it requires --cluster.",
  });
  t.same([setup.calls, setup.tokenCalls], [[], []]);
});
