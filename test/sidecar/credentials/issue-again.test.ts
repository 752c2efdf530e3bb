// Issuer.issueAgain must return only what credentialsFor would return at the same moment, with the same effects.
import { test } from "tap";
import { NO_EXTRAS } from "../../../shared/core/session.ts";
import { IssuedCredentials } from "../../../sidecar/credentials/issued.ts";
import { FakeClock } from "../fake-clock.ts";
import { DENIED, HOUR, MINUTE, SECOND } from "../fake-sts.ts";
import { RecordedLog } from "../recorded-log.ts";
import { grantOf, IssuerUnderTest, OTHER_ROLE } from "./issuer-under-test.ts";

test("issues the credentials of a grant again, but only after they have been issued for this grant", async (t) => {
  const subject = new IssuerUnderTest();
  const grant = grantOf();
  t.equal(subject.again(grant), null);
  await subject.issuer.probe(grant);
  t.equal(subject.again(grant), null, "no client has received what a probe has loaded");
  t.equal((await subject.issue(grant)).accessKeyID, "ASIA1");
  t.equal(subject.again(grant), "ASIA1");
  t.equal(subject.again({ ...grant }), null, "a new decision is checked first, even with the same result");
  t.equal(subject.sts.calls.length, 1);
});

test("does not return credentials that expire within a minute, on either clock", async (t) => {
  const grant = grantOf();
  for (const [pass, isReturned] of [[59 * MINUTE, true], [59 * MINUTE + 1, false]] as const) {
    const [slept, jumped] = [new IssuerUnderTest(), new IssuerUnderTest()];
    for (const { sts } of [slept, jumped]) sts.lifeMs = HOUR;
    await Promise.all([slept, jumped].map((subject) => subject.issue(grant)));
    // Refreshes fail, so that the first session stays in the cache.
    for (const { sts } of [slept, jumped]) sts.behavior = "is short";
    await slept.clock.advance(pass);
    jumped.clock.jump(pass);
    for (const subject of [slept, jumped]) t.equal(subject.again(grant), isReturned ? "ASIA1" : null);
  }
});

test("leaves the earlier expiration after the wall clock was set back to credentialsFor", async (t) => {
  const subject = new IssuerUnderTest();
  const grant = grantOf();
  await subject.issue(grant);
  subject.clock.jump(-HOUR);
  t.equal(subject.again(grant), null);
  t.equal((await subject.issue(grant)).expirationMs, subject.clock.now() + HOUR);
});

test("starts the refresh of a session in the background, and then returns the new session", async (t) => {
  const subject = new IssuerUnderTest();
  const grant = grantOf();
  await subject.issue(grant);
  // The timers do not run while the machine sleeps, so the request starts the refresh.
  subject.clock.jump(31 * MINUTE);
  t.equal(subject.again(grant), "ASIA1");
  await subject.clock.advance(0);
  t.equal(subject.sts.calls.length, 2);
  t.equal(subject.again(grant), null, "the new key is not recorded for /sts yet");
  t.equal((await subject.issue(grant)).accessKeyID, "ASIA2");
  t.equal(subject.again(grant), "ASIA2");
});

test("counts as a use: a session that was used longer ago is evicted first", async (t) => {
  const subject = new IssuerUnderTest();
  const [grant, unused] = [grantOf(), grantOf({ roleARN: OTHER_ROLE })];
  await subject.issue(grant);
  await subject.issue(unused);
  t.equal(subject.again(grant), "ASIA1");
  for (let i = 0; i < 999; i++) await subject.cache.get(subject.sts.lookup(String(i)));
  t.equal(subject.again(unused), null, "is evicted, so the cached key is not issued again");
  t.equal(subject.again(grant), "ASIA1");
});

test("does not return the key of a session that was evicted and is cached again", async (t) => {
  const subject = new IssuerUnderTest();
  const grant = grantOf();
  await subject.issue(grant);
  for (const { key } of subject.cache.expirations()) subject.cache.evict(key);
  t.equal(subject.again(grant), null);
  t.equal((await subject.issue(grant)).accessKeyID, "ASIA2");
  t.equal(subject.again(grant), "ASIA2");
});

test("returns nothing once the key is no longer stored for /sts", async (t) => {
  const subject = new IssuerUnderTest();
  const grant = grantOf();
  const issued = await subject.issue(grant);
  for (let i = 0; i < 10_000; i++) await subject.issued.record({ ...issued, accessKeyID: `OTHER${i}` }, "role");
  t.equal(subject.issued.find("ASIA1"), undefined);
  t.equal(subject.again(grant), null);
  t.equal((await subject.issue(grant)).accessKeyID, "ASIA1");
  t.ok(subject.issued.find("ASIA1"));
  t.equal(subject.again(grant), "ASIA1");
});

test("counts as a use: keeps the session refreshed", async (t) => {
  const subject = new IssuerUnderTest();
  const [grant, unused] = [grantOf(), grantOf({ roleARN: OTHER_ROLE })];
  await subject.issue(grant);
  await subject.issue(unused);
  await subject.clock.advance(20 * MINUTE);
  t.equal(subject.again(grant), "ASIA1");
  await subject.clock.advance(69 * MINUTE);
  t.same(new Set(subject.sts.calls.slice(2).map(({ key }) => key)), new Set([grant.roleARN, OTHER_ROLE]));
  const before = subject.sts.calls.length;
  await subject.clock.advance(HOUR);
  t.same(subject.sts.calls.slice(before).map(({ key }) => key), [], "no client used either for an hour");
  t.match(subject.lookups, ["miss", "miss", "hit"]);
});

test("counts a session whose refresh failed as stale, and does not return one that STS has denied", async (t) => {
  const subject = new IssuerUnderTest();
  const grant = grantOf();
  await subject.issue(grant);
  subject.sts.behavior = "throttles";
  await subject.clock.advance(31 * MINUTE);
  t.equal(subject.again(grant), "ASIA1");
  t.equal(subject.lookups.at(-1), "stale");
  subject.sts.behavior = "denies";
  await subject.clock.advance(MINUTE);
  t.equal(subject.again(grant), null);
  await t.rejects(subject.issue(grant), DENIED);
});

test("pins no other account, and leaves the rejection to credentialsFor", async (t) => {
  const subject = new IssuerUnderTest({ scopeNamespace: "team-a" });
  const [grant, other] = [grantOf(), grantOf({ roleARN: OTHER_ROLE })];
  t.ok(await subject.issue(other, { isLate: true }), "a client that is late pins no account");
  t.equal(subject.again(other), null, "and its key is not recorded");
  await subject.issue(grant);
  t.equal(subject.again(grant), "ASIA2");
  t.equal(subject.again(other), null);
  t.equal(subject.rejectedAccounts, 0);
  await t.rejects(subject.issue(other), { code: "ERR_SELECTOR_ACCOUNT_PINNED" });
  t.equal(subject.rejectedAccounts, 1);
});

test("does not pin the account of a key that another issuer has recorded", async (t) => {
  const subject = new IssuerUnderTest({ scopeNamespace: "team-a" });
  const [first, second] = [grantOf(), grantOf({ roleARN: OTHER_ROLE })];
  await subject.issued.record(await subject.issue(second, { isLate: true }), "role");
  t.equal(subject.again(second), null, "no account is pinned yet");
  await subject.issue(first);
  t.equal(subject.again(second), null);
});

test("never returns a role of an account that is not allowed", async (t) => {
  const subject = new IssuerUnderTest({ allowedAccounts: ["111122223333"] });
  const [grant, other] = [grantOf(), grantOf({ roleARN: OTHER_ROLE })];
  await subject.issue(grant);
  await t.rejects(subject.issue(other), { code: "ERR_SELECTOR_NOT_GRANTED" });
  t.equal(subject.again(grant), "ASIA1");
  t.equal(subject.again(other), null);
  t.equal(subject.sts.calls.length, 1);
});

test("returns nothing until credentialsFor has seen a renewed or changed base identity", async (t) => {
  const subject = new IssuerUnderTest();
  const grant = grantOf();
  await subject.issue(grant);
  for (const [arn, key] of [
    [subject.baseARN, "ASIA1"], ["arn:aws:sts::999999999999:assumed-role/ack/pod-2", "ASIA1"],
    ["arn:aws:sts::999999999999:assumed-role/other/pod-2", "ASIA2"],
    ["arn:aws:sts::888888888888:assumed-role/ack/pod-2", "ASIA3"],
  ] as const) {
    subject.baseARN = arn;
    subject.base.invalidate(await subject.base.get());
    t.ok(subject.again(grant), "the old identity is the last verified one");
    await subject.base.get();
    t.equal(subject.again(grant), null, arn);
    t.equal((await subject.issue(grant)).accessKeyID, key, arn);
    t.equal(subject.again(grant), key);
  }
});

test("records a key as the key of a controller before it is issued as one", async (t) => {
  const subject = new IssuerUnderTest({ scopeNamespace: "team-a" });
  const grant = grantOf();
  await subject.issue(grant);
  t.equal(subject.again(grant, { kind: "base" }), null);
  await subject.issue(grant, { kind: "base" });
  t.equal(subject.again(grant, { kind: "base" }), "ASIA1");
  t.equal(subject.again(grant), "ASIA1", "the key of a controller may also be issued as that of a role");
  t.equal(subject.issued.find("ASIA1")?.kind, "base");
});

test("returns nothing while the journal still writes the key for another request", async (t) => {
  const [clock, written] = [new FakeClock(), Promise.withResolvers<void>()];
  let writes = 0;
  const append = (): Promise<void> => (writes++ === 0 ? Promise.resolve() : written.promise);
  const issued = await IssuedCredentials.open(t.testdir({}), { log: new RecordedLog().log, clock, append });
  t.teardown(() => issued.close());
  const [subject, grant] = [new IssuerUnderTest({}, { clock, issued }), grantOf()];
  const first = subject.issue(grant);
  await clock.advance(0);
  t.ok(issued.find("ASIA1"));
  t.equal(subject.again(grant), null);
  written.resolve();
  await first;
  t.equal(subject.again(grant), "ASIA1");
});

test("does not refresh the session of a grant that is withdrawn, however often it is issued", async (t) => {
  const subject = new IssuerUnderTest();
  const grant = grantOf();
  await subject.issue(grant);
  await subject.clock.advance(20 * MINUTE);
  t.equal(subject.again(grant), "ASIA1");
  subject.granted = false;
  await subject.clock.advance(11 * MINUTE);
  t.equal(subject.again(grant), null, "the refresh evicts the session");
  t.equal(subject.sts.calls.length, 1);
});

test("keeps the sessions of a selector before and after its settings change apart", async (t) => {
  const subject = new IssuerUnderTest();
  const before = grantOf();
  const after = grantOf({ extras: { ...NO_EXTRAS, externalID: "changed" } });
  await subject.issue(before);
  t.equal(subject.again(after), null);
  t.equal((await subject.issue(after)).accessKeyID, "ASIA2");
  t.equal(subject.again(after), "ASIA2");
});

test("does not return the session that a client has restricted with a policy", async (t) => {
  const subject = new IssuerUnderTest();
  const grant = grantOf();
  const client = { key: "sts", fields: () => ({}) };
  const restricted = { durationSeconds: 3_600, policy: "{}", policyARNs: [] };
  await subject.issuer.credentialsFor(grant, { kind: "role", client, requested: restricted });
  t.equal(subject.again(grant), null);
  t.equal((await subject.issue(grant)).accessKeyID, "ASIA2");
  await subject.issuer.credentialsFor(grant, { kind: "role", client, requested: restricted });
  t.equal(subject.again(grant), "ASIA2");
  for (const [change, key] of [
    [{}, undefined], [{ policy: null }, "ASIA2"], [{ policy: null, durationSeconds: 900 }, "ASIA2"],
    [{ policy: null, durationSeconds: 7_200 }, undefined], [{ policy: null, policyARNs: ["arn"] }, undefined],
  ] as const) {
    const requested = { ...restricted, ...change };
    t.equal(subject.issuer.issueAgain(grant, { kind: "role", client, requested })?.accessKeyID, key);
  }
});

test("logs each client once, also if its first request is answered without waiting", async (t) => {
  const subject = new IssuerUnderTest();
  const grant = grantOf();
  const { arn } = await subject.issue(grant, { client: "first" });
  for (const client of ["first", "second", "second", "third", "first"]) {
    t.equal(subject.again(grant, { client }), "ASIA1");
  }
  t.same(subject.audited, [["first", arn], ["second", arn], ["third", arn]]);
  await subject.clock.advance(30 * MINUTE + SECOND);
  await subject.issue(grant, { client: "second" });
  t.equal(subject.again(grant, { client: "first" }), "ASIA2");
  t.same(subject.audited.slice(3), [["second", arn, 1], ["first", arn, 2]]);
});
