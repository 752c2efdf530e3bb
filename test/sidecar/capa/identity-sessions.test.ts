import { test } from "tap";
import { RefusedRoleError } from "../../../sidecar/capa/refused-identities.ts";
import { RejectedSignerError, UpstreamSTSError } from "../../../sidecar/sts-upstream/errors.ts";
import { IdentitySetup, roleOf, STATIC, staticKey } from "./setup.ts";
import { HOUR, MINUTE, SECOND, THROTTLED } from "../fake-sts.ts";

test("signs each refresh of a chain with the current session of its source, for hours", async (t) => {
  const setup = new IdentitySetup();
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
  const setup = new IdentitySetup();
  const names = ["source", "middle", "end"];
  const chains = Array.from({ length: 20 }, (_, i) => names.map((name) => roleOf(`${name}-${i}`)));
  const results = Promise.all(chains.map((roles) => setup.sessions.get({ verdict: "identity", source: null, roles })));
  await setup.clock.advance(MINUTE);
  const sessions = await results;
  t.ok(sessions.every(({ accessKeyID }) => accessKeyID.startsWith("end-")));
  t.equal(setup.calls.length, 60);
});

test("refreshes no session of a changed identity, nor a session that is created from it", async (t) => {
  const setup = new IdentitySetup();
  const [source, role] = [roleOf("source"), roleOf("role")];
  await setup.get(source, role);
  await setup.get(roleOf("other"));
  setup.removed.add(source);
  await setup.clock.advance(40 * MINUTE);
  t.same(setup.calls.slice(3).map((call) => call.role), ["other"]);
  t.equal([...setup.cache.expirations()].length, 1);
});

test("refreshes the session of an identity only if at most its metadata has changed", async (t) => {
  const setup = new IdentitySetup();
  const [touched, restricted] = [roleOf("a"), roleOf("b")];
  await setup.get(touched);
  await setup.get(restricted);
  setup.changed.set(touched, roleOf("a", { resourceVersion: "2" }));
  const allowedNamespaces = { type: "some", names: new Set(["a"]), selector: null, selectorFault: null } as const;
  setup.changed.set(restricted, roleOf("b", { resourceVersion: "2", allowedNamespaces }));
  await setup.clock.advance(40 * MINUTE);
  t.same(setup.calls.map((call) => call.role), ["a", "b", "a"]);
  await setup.get(roleOf("a", { resourceVersion: "2" }));
  t.equal(setup.calls.length, 3, "the identity shares the session with its earlier version");
});

test("refreshes no session over a static identity that is removed", async (t) => {
  const setup = new IdentitySetup();
  await setup.getFrom(STATIC, roleOf("a"));
  setup.removed.add(STATIC);
  await setup.clock.advance(40 * MINUTE);
  t.equal(setup.calls.length, 1);
});

test("rejects a session of more than 3600 s if the base identity is a session, without a call to STS", async (t) => {
  const setup = new IdentitySetup();
  const roles = [roleOf("a", { durationSeconds: 7200 })];
  const get = setup.sessions.get({ verdict: "identity", source: null, roles });
  const message = /^durationSeconds of AWSClusterRoleIdentity "a" is 7200/;
  await t.rejects(get, { code: "ERR_IDENTITY_SESSION", message });
  t.same(setup.calls, []);
});

test("returns the access key of a static identity, and verifies it with STS every 8 to 12 minutes", async (t) => {
  const setup = new IdentitySetup();
  t.match(await setup.getFrom(STATIC), { accessKeyID: "AKIA1", expirationMs: null, accountID: "444455556666" });
  for (let minutes = 0; minutes < 60; minutes += 5) {
    await setup.getFrom(STATIC);
    await setup.clock.advance(5 * MINUTE);
  }
  const verified = setup.calls.length;
  t.ok(verified >= 6 && verified <= 8, `${verified} calls in an hour`);
  setup.key = staticKey("2");
  t.match(await setup.getFrom(STATIC), { accessKeyID: "AKIA2" });
  t.equal(setup.calls.length, verified + 1);
  t.equal(setup.learned, "digest-2 444455556666");
});

test("stops returning an access key and its sessions when STS rejects it, and retries after a delay", async (t) => {
  const setup = new IdentitySetup();
  await setup.getFrom(STATIC);
  await setup.getFrom(STATIC, roleOf("a"));
  setup.onCall = () => { throw new RejectedSignerError("InvalidClientTokenId", "STS returned InvalidClientTokenId"); };
  await setup.clock.advance(12 * MINUTE);
  const message = /^STS rejected the access key in the Secret of AWSClusterStaticIdentity "s"/;
  t.match(await setup.outcomeFrom(STATIC), { code: "ERR_IDENTITY_SECRET", message });
  await setup.clock.advance(30 * MINUTE);
  t.match(await setup.outcomeFrom(STATIC, roleOf("a")), { code: "ERR_IDENTITY_SECRET", message });
  const before = setup.calls.length;
  for (let i = 0; i < 200; i++) await setup.outcomeFrom(STATIC);
  t.ok(setup.calls.length - before < 20, `${setup.calls.length - before} calls for 200 requests in 200 s`);
  setup.onCall = () => {};
  await setup.clock.advance(30 * SECOND);
  t.match(await setup.getFrom(STATIC), { accessKeyID: "AKIA1" });
});

test("returns the last verified access key while STS is unavailable", async (t) => {
  const setup = new IdentitySetup();
  await setup.getFrom(STATIC);
  setup.onCall = () => { throw THROTTLED; };
  await setup.clock.advance(HOUR / 2);
  t.ok(setup.calls.length > 2, "the refreshes failed");
  t.match(await setup.getFrom(STATIC), { accessKeyID: "AKIA1" });
});

test("requests the account of an access key again after an incomplete response", async (t) => {
  const setup = new IdentitySetup();
  setup.accountID = "";
  t.match(await setup.outcomeFrom(STATIC), { code: "ERR_STS_UNAVAILABLE", message: /incomplete/ });
  setup.accountID = "444455556666";
  t.match(await setup.getFrom(STATIC), { accountID: "444455556666" });
  t.equal(setup.guard.circuit, "closed");
});

test("a changed Secret replaces all sessions of its chain, and no other session", async (t) => {
  const setup = new IdentitySetup();
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
  const setup = new IdentitySetup();
  const roles = [roleOf("a", { durationSeconds: 7200 })];
  await setup.getFrom(STATIC, ...roles);
  const keys = [...setup.cache.expirations()].map(({ key }) => key);
  t.equal(keys.length, 1);
  t.notMatch(keys.join(""), /planted|AKIA/);
  setup.key = { ...staticKey("3"), sessionToken: "planted-token" };
  const long = setup.sessions.get({ verdict: "identity", source: STATIC, roles });
  await t.rejects(long, { code: "ERR_IDENTITY_SESSION" });
});

test("the circuit stays closed if STS rejects an access key or the session of a source", async (t) => {
  const setup = new IdentitySetup();
  setup.onCall = ({ signer, role }) => {
    if (signer === "AKIA1" || role.startsWith("end")) throw new RejectedSignerError("ExpiredToken", "no");
  };
  const numbers = Array.from({ length: 6 }, (_, i) => i);
  const rejected = (code: string, source: typeof STATIC | null, ...names: readonly string[]): Promise<unknown> => {
    const roles = names.map((name) => roleOf(name));
    return t.rejects(setup.sessions.get({ verdict: "identity", source, roles }), { code });
  };
  const all = [
    rejected("ERR_IDENTITY_SECRET", STATIC),
    ...numbers.map((i) => rejected("ERR_IDENTITY_SECRET", STATIC, `over-static-${i}`)),
    ...numbers.map((i) => rejected("ERR_STS_UNAVAILABLE", null, "source", `end-${i}`)),
  ];
  await setup.clock.advance(MINUTE);
  await Promise.all(all);
  t.equal(setup.calls.filter(({ role }) => role.startsWith("end-")).length, 6);
  t.equal(setup.calls.filter(({ signer }) => signer === "AKIA1").length, 7);
  t.equal(setup.guard.circuit, "closed");
  t.match(await setup.get(roleOf("other")), { accountID: "111122223333" });
});

test("reports the role that STS rejects, and the ARN that its trust policy must name", async (t) => {
  const setup = new IdentitySetup();
  const denied = new UpstreamSTSError("no", { stsCode: "AccessDenied", stsStatus: 403 });
  const refuse = (name: string): void => {
    setup.onCall = ({ role }) => { if (role === name) throw denied; };
  };
  const fixes = async (): Promise<unknown[]> => Promise.all(setup.refused.splice(0).map(async ({ identity, error }) => (
    [identity.name, /Allow sts:AssumeRole to (\S+)/.exec((await error()).message)?.[1]]
  )));
  const chain = [roleOf("source"), roleOf("end")];
  const errorFrom = (source: typeof STATIC | null): Promise<unknown> => setup.outcomeFrom(source, ...chain);
  refuse("source");
  t.match(await errorFrom(STATIC), { identity: { name: "source" }, stsCode: "AccessDenied" });
  t.same(await fixes(), [["source", "arn:aws:iam::444455556666:user/capa"]], "not the identity at the end");
  t.type(await errorFrom(null), RefusedRoleError);
  t.same(await fixes(), [["source", "arn:aws:iam::999999999999:role/capa"]]);
  refuse("end");
  await setup.clock.advance(MINUTE);
  t.match(await errorFrom(null), { identity: { name: "end" } });
  t.same(await fixes(), [["end", "arn:aws:iam::111122223333:role/source"]]);
  t.same(setup.assumed, ["source"]);
});
