import * as fc from "fast-check";
import { test } from "tap";
import type { IdentityGrant } from "../../../shared/decisions/grants/by-identity.ts";
import type { Identity, RoleIdentity, StaticIdentity } from "../../../shared/decisions/identities/identity.ts";
import type { SessionRequest } from "../../../shared/decisions/selectors/session.ts";
import { CredentialCache } from "../../../sidecar/credentials/cache.ts";
import { IdentitySessions } from "../../../sidecar/credentials/identity-sessions.ts";
import { roleOfSession } from "../../../sidecar/credentials/session-key.ts";
import type { Credentials, SigningCredentials } from "../../../sidecar/credentials/session.ts";
import { STSCallGuard } from "../../../sidecar/sts-upstream/rate-limiter.ts";
import type { StaticKey } from "../../../sidecar/identity-secrets.ts";
import { parameters } from "../../shared/decisions/property.ts";
import { FakeClock } from "../fake-clock.ts";
import { HOUR, MINUTE, SECOND } from "../fake-sts.ts";

const OPTIONS = { sessionName: "ack-role-resolver", region: "eu-west-1" };

function roleOf(name: string, rest: Partial<RoleIdentity> = {}): RoleIdentity {
  return {
    kind: "AWSClusterRoleIdentity", name, namespace: "", resourceVersion: "1", allowedNamespaces: { type: "all" },
    roleARN: `arn:aws:iam::111122223333:role/${name}`, sessionName: null, durationSeconds: null, inlinePolicy: null,
    policyARNs: [], tags: [], transitiveTags: [], mistyped: [], externalID: null, source: null, ...rest,
  };
}

interface Call {
  readonly signer: string;
  readonly role: string;
  readonly atMs: number;
}

function staticKey(name: string): StaticKey {
  return { accessKeyID: `AKIA${name}`, secretAccessKey: "planted", sessionToken: null, digest: `digest-${name}` };
}

const STATIC: StaticIdentity = {
  kind: "AWSClusterStaticIdentity", name: "s", namespace: "", resourceVersion: "1",
  allowedNamespaces: { type: "all" }, secretName: "creds",
};

/** An STS whose keys expire after one hour, with 100 ms of latency. Every role is part of the inventory. */
class Setup {
  readonly clock = new FakeClock();
  readonly calls: Call[] = [];
  readonly removed = new Set<Identity>();
  /** The access key in the Secret of each static identity. */
  key = staticKey("1");
  readonly cache = new CredentialCache({
    clock: this.clock, random: () => 0.5, guard: new STSCallGuard({ clock: this.clock }),
  });
  readonly sessions = new IdentitySessions(OPTIONS, {
    base: {
      get: async () => this.#credentials("base", 12 * HOUR),
      whenVerified: async () => ({ arn: "arn:aws:sts::999999999999:assumed-role/capa/pod", isSession: true }),
      invalidate: () => {},
    },
    sts: {
      assumeRole: (signer, request) => this.#assume(signer, request),
      callerIdentity: async ({ accessKeyID }) => {
        this.calls.push({ signer: accessKeyID, role: "GetCallerIdentity", atMs: this.clock.steady() });
        return { accountID: "444455556666", arn: "arn:aws:iam::444455556666:user/capa", userID: "AIDA" };
      },
    },
    secrets: {
      get: async () => this.key,
      isCurrent: (_, { digest }) => digest === this.key.digest,
    },
    sessions: this.cache,
    isCurrent: (identity) => !this.removed.has(identity),
  });

  /** Requests the session, and lets the fake time pass until the response. */
  async get(...roles: readonly RoleIdentity[]): Promise<Credentials> {
    return this.getFrom(null, ...roles);
  }

  async getFrom(source: StaticIdentity | null, ...roles: readonly RoleIdentity[]): Promise<Credentials> {
    const result = this.sessions.get({ verdict: "identity", source, roles });
    await this.clock.advance(SECOND);
    return await result;
  }

  async #assume(signer: SigningCredentials, { roleARN }: SessionRequest): Promise<Credentials> {
    const role = roleARN.slice(roleARN.lastIndexOf("/") + 1);
    this.calls.push({ signer: signer.accessKeyID, role, atMs: this.clock.steady() });
    await new Promise<void>((resolve) => this.clock.schedule(100, resolve));
    const isExpired = (signer.expirationMs ?? Infinity) <= this.clock.now();
    if (isExpired) throw new Error(`the session ${signer.accessKeyID} has expired`);
    return this.#credentials(`${role}#${this.calls.length}`, HOUR);
  }

  #credentials(accessKeyID: string, lifeMs: number): Credentials {
    return {
      accessKeyID, secretAccessKey: "secret", sessionToken: "token", expirationMs: this.clock.now() + lifeMs,
      accountID: "111122223333", arn: "arn:aws:sts::111122223333:assumed-role/a/session", userID: "AROAA:session",
    };
  }
}

test("signs each refresh of a chain with the current session of its source, for hours", async (t) => {
  const setup = new Setup();
  const chain = [roleOf("c"), roleOf("b"), roleOf("a")];
  for (let minutes = 0; minutes < 180; minutes += 10) {
    const { expirationMs } = await setup.get(...chain);
    t.ok((expirationMs ?? 0) - setup.clock.now() > 20 * MINUTE, `minute ${minutes}`);
    await setup.clock.advance(10 * MINUTE - SECOND);
  }
  const late = setup.calls.filter(({ atMs }) => atMs >= HOUR);
  const signers = (role: string): string[] => late.filter((call) => call.role === role).map(({ signer }) => signer);
  t.ok(signers("a").length >= 3, "the session is refreshed in hours 2 and 3");
  t.equal(new Set(signers("a")).size, signers("a").length, "each refresh is signed by a newer session of the source");
  t.ok(signers("b").every((signer) => signer.startsWith("c#")));
  t.ok(signers("c").every((signer) => signer === "base"));
  for (const role of ["a", "b", "c"]) t.ok(signers(role).length <= 5, "at most 2.2 calls per hour and session");
});

test("loads more chains at the same time than the rate limiter runs calls", async (t) => {
  const setup = new Setup();
  const names = ["source", "middle", "end"];
  const chains = Array.from({ length: 20 }, (_, i) => names.map((name) => roleOf(`${name}-${i}`)));
  const results = Promise.all(chains.map((roles) => setup.sessions.get({ verdict: "identity", source: null, roles })));
  await setup.clock.advance(MINUTE);
  const sessions = await results;
  t.ok(sessions.every(({ accessKeyID }) => accessKeyID.startsWith("end-")));
  t.equal(setup.calls.length, 60);
});

test("refreshes no session of a changed identity, nor a session that is created from it", async (t) => {
  const setup = new Setup();
  const [source, role] = [roleOf("source"), roleOf("role")];
  await setup.get(source, role);
  await setup.get(roleOf("other"));
  setup.removed.add(source);
  await setup.clock.advance(40 * MINUTE);
  t.same(setup.calls.slice(3).map((call) => call.role), ["other"]);
  t.equal([...setup.cache.expirations()].length, 1);
});

test("shares and refreshes the session of an identity whose metadata has changed", async (t) => {
  const setup = new Setup();
  const [before, after] = [roleOf("a"), roleOf("a", { resourceVersion: "2" })];
  await setup.get(before);
  setup.removed.add(before);
  await setup.get(after);
  t.equal(setup.calls.length, 1);
  await setup.clock.advance(40 * MINUTE);
  t.equal(setup.calls.length, 2);
});

test("rejects a session of more than 3600 s if the base identity is a session, without a call to STS", async (t) => {
  const setup = new Setup();
  const roles = [roleOf("a", { durationSeconds: 7200 })];
  const get = setup.sessions.get({ verdict: "identity", source: null, roles });
  const message = /^durationSeconds of AWSClusterRoleIdentity "a" is 7200/;
  await t.rejects(get, { code: "ERR_IDENTITY_SESSION", message });
  t.same(setup.calls, []);
});

/** Texts that are equal when their parts are joined with a separator. */
const text = fc.stringMatching(/^[ab:./-]{0,4}$/);
const tag = fc.record({ key: text, value: text });
const role = fc.record({
  name: text, roleARN: text, sessionName: fc.option(text), externalID: fc.option(text), inlinePolicy: fc.option(text),
  durationSeconds: fc.constantFrom(null, 900, 3600), policyARNs: fc.array(text, { maxLength: 2 }),
  tags: fc.array(tag, { maxLength: 2 }), transitiveTags: fc.array(text, { maxLength: 2 }),
}).map(({ name, ...rest }) => roleOf(name, rest));
const chain = fc.array(role, { minLength: 1, maxLength: 3 });

async function keyOf(roles: readonly RoleIdentity[]): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const arn = "arn:aws:iam::999999999999:user/capa";
  const sessions = new IdentitySessions(OPTIONS, {
    base: { get: fail, whenVerified: async () => ({ arn, isSession: false }), invalidate: () => {} },
    sts: { assumeRole: fail, callerIdentity: fail },
    secrets: null,
    sessions: {
      get({ key }) {
        resolve(key);
        return fail();
      },
      evict: () => {},
    },
    isCurrent: () => true,
  });
  const grant: IdentityGrant = { verdict: "identity", source: null, roles };
  await sessions.get(grant).catch(() => {});
  return await promise;
}

function fail(): Promise<never> {
  return Promise.reject(new Error("not called"));
}

/** Returns the same text for two chains exactly if STS receives the same requests for both. */
function distinct(roles: readonly RoleIdentity[]): string {
  return JSON.stringify(roles.map((one) => [
    one.roleARN, one.sessionName ?? OPTIONS.sessionName, one.externalID, one.inlinePolicy, one.durationSeconds ?? 3600,
    one.policyARNs.toSorted(), one.transitiveTags.toSorted(),
    one.tags.map(({ key, value }) => JSON.stringify([key, value])).toSorted(),
  ]));
}

test("two chains share a session key only if STS receives the same requests for both", async (t) => {
  // The second chain of a pair often differs from the first chain only in how its texts are divided.
  const moved = fc.tuple(text, text).map(([a, b]) => [
    [roleOf("r", { roleARN: a, sessionName: b })],
    [roleOf("r", { roleARN: `${a}${b.slice(0, 1)}`, sessionName: b.slice(1) })],
  ]);
  const parts = fc.tuple(chain, fc.nat(2)).map(([all, i]) => [all, all.slice(i)]);
  const pair = fc.oneof(fc.tuple(chain, chain), moved, parts);
  await fc.assert(fc.asyncProperty(pair, async ([one = [], other = []]) => {
    if (one.length === 0 || other.length === 0) return;
    const areEqual = await keyOf(one) === await keyOf(other);
    if (areEqual !== (distinct(one) === distinct(other))) throw new Error("the keys do not match the requests");
  }), parameters(t, 3_000));
  t.pass();
});

test("a session key contains the ARN of its role, but no other parameter", async (t) => {
  const planted = { externalID: "planted", inlinePolicy: "planted", tags: [{ key: "planted", value: "planted" }] };
  const key = await keyOf([roleOf("planted-source"), roleOf("a", planted)]);
  t.notMatch(key, "planted");
  t.equal(roleOfSession(key), "arn:aws:iam::111122223333:role/a");
});

test("returns the access key of a static identity with its account, and calls STS once for each key", async (t) => {
  const setup = new Setup();
  t.match(await setup.getFrom(STATIC), { accessKeyID: "AKIA1", expirationMs: null, accountID: "444455556666" });
  for (let minutes = 0; minutes < 60; minutes += 5) {
    await setup.getFrom(STATIC);
    await setup.clock.advance(5 * MINUTE);
  }
  t.equal(setup.calls.length, 1);
  setup.key = staticKey("2");
  t.match(await setup.getFrom(STATIC), { accessKeyID: "AKIA2" });
  t.equal(setup.calls.length, 2);
});

test("a changed Secret replaces all sessions of its chain, and no other session", async (t) => {
  const setup = new Setup();
  const roles = [roleOf("source"), roleOf("role")];
  await setup.get(roleOf("other"));
  await setup.getFrom(STATIC, ...roles);
  t.same(setup.calls.map(({ signer }) => signer), ["base", "AKIA1", "source#2"]);
  setup.key = staticKey("2");
  await setup.get(roleOf("other"));
  await setup.getFrom(STATIC, ...roles);
  t.same(setup.calls.slice(3).map(({ signer }) => signer), ["AKIA2", "source#4"]);
  await setup.clock.advance(40 * MINUTE);
  t.notOk(setup.calls.slice(3).some(({ signer }) => signer === "AKIA1"), "no session of the old key is refreshed");
});

test("allows a long session that an access key assumes, and no key contains a secret", async (t) => {
  const setup = new Setup();
  const roles = [roleOf("a", { durationSeconds: 7200 })];
  await setup.getFrom(STATIC, ...roles);
  const keys = [...setup.cache.expirations()].map(({ key }) => key);
  t.equal(keys.length, 1);
  t.notMatch(keys.join(""), /planted|AKIA/);
  setup.key = { ...staticKey("3"), sessionToken: "planted-token" };
  const long = setup.sessions.get({ verdict: "identity", source: STATIC, roles });
  await t.rejects(long, { code: "ERR_IDENTITY_SESSION" });
});
