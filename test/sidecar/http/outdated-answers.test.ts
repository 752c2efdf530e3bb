// The memo must answer only what Issuer.credentialsFor would return at the same moment, with the same effects.
import { test } from "tap";
import { ALL_CLOSED } from "../../../shared/core/closures.ts";
import { NO_EXTRAS } from "../../../shared/core/session.ts";
import { IssuedCredentials } from "../../../sidecar/credentials/issued.ts";
import { FakeClock } from "../fake-clock.ts";
import { inventoryWith, namespaceObject, put } from "../../shared/objects.ts";
import { DENIED, HOUR, MINUTE, SECOND } from "../fake-sts.ts";
import { RecordedLog } from "../recorded-log.ts";
import { grantOf, MemoUnderTest, OTHER_ROLE } from "./memo-under-test.ts";

test("issues the credentials of a grant again, but only after they have been issued for this grant", async (t) => {
  const subject = new MemoUnderTest();
  const grant = grantOf();
  t.equal(subject.again(grant), null);
  await subject.issuer.probe(grant);
  t.equal(subject.again(grant), null, "no client has received what a probe has loaded");
  t.equal((await subject.issue(grant)).accessKeyID, "ASIA1");
  t.equal(subject.again(grant), "ASIA1");
  t.equal(subject.sts.calls.length, 1);
});

test("does not return credentials that expire within a minute, on either clock", async (t) => {
  const grant = grantOf();
  for (const [pass, isReturned] of [[59 * MINUTE, true], [59 * MINUTE + 1, false]] as const) {
    const [slept, jumped] = [new MemoUnderTest(), new MemoUnderTest()];
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
  const subject = new MemoUnderTest();
  const grant = grantOf();
  await subject.issue(grant);
  subject.clock.jump(-HOUR);
  t.equal(subject.again(grant), null);
  t.equal((await subject.issue(grant)).expirationMs, subject.clock.now() + HOUR);
});

test("starts the refresh of a session in the background, and then returns the new session", async (t) => {
  const subject = new MemoUnderTest();
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
  const subject = new MemoUnderTest();
  const [grant, unused] = [grantOf(), grantOf({ roleARN: OTHER_ROLE })];
  await subject.issue(grant);
  await subject.issue(unused);
  t.equal(subject.again(grant), "ASIA1");
  for (let i = 0; i < 999; i++) await subject.cache.get(subject.sts.lookup(String(i)));
  t.equal(subject.again(unused), null, "is evicted, so the cached key is not issued again");
  t.equal(subject.again(grant), "ASIA1");
});

test("does not return the key of a session that was evicted and is cached again, or after a stop", async (t) => {
  const subject = new MemoUnderTest();
  const grant = grantOf();
  await subject.issue(grant);
  for (const { key } of subject.cache.expirations()) subject.cache.evict(key);
  t.equal(subject.again(grant), null);
  t.equal((await subject.issue(grant)).accessKeyID, "ASIA2");
  t.equal(subject.again(grant), "ASIA2");
  subject.cache.close();
  t.equal(subject.again(grant), null, "the sidecar stops");
});

test("returns nothing once the key is no longer stored for /sts", async (t) => {
  const subject = new MemoUnderTest();
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
  const subject = new MemoUnderTest();
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
  const subject = new MemoUnderTest();
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
  const subject = new MemoUnderTest({ scopeNamespace: "team-a" });
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

test("never returns a role of an account that is not allowed", async (t) => {
  const subject = new MemoUnderTest({ allowedAccounts: ["111122223333"] });
  const [grant, other] = [grantOf(), grantOf({ roleARN: OTHER_ROLE })];
  await subject.issue(grant);
  await t.rejects(subject.issue(other), { code: "ERR_SELECTOR_NOT_GRANTED" });
  t.equal(subject.again(grant), "ASIA1");
  t.equal(subject.again(other), null);
  t.equal(subject.sts.calls.length, 1);
});

test("returns nothing until credentialsFor has seen a renewed or changed base identity", async (t) => {
  const subject = new MemoUnderTest();
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
  const subject = new MemoUnderTest({ scopeNamespace: "team-a" });
  const grant = grantOf();
  await subject.issue(grant);
  t.equal(subject.again(grant, { kind: "base" }), null);
  await subject.issue(grant, { kind: "base" });
  t.equal(subject.again(grant, { kind: "base" }), "ASIA1");
  t.equal(subject.again(grant), null, "the record of the key has changed");
  await subject.issue(grant);
  t.equal(subject.again(grant), "ASIA1", "the key of a controller may also be issued as that of a role");
  t.equal(subject.issued.find("ASIA1")?.kind, "base");
});

test("returns nothing while the journal still writes the key for another request", async (t) => {
  const [clock, written] = [new FakeClock(), Promise.withResolvers<void>()];
  let writes = 0;
  const append = (): Promise<void> => (writes++ === 0 ? Promise.resolve() : written.promise);
  const issued = await IssuedCredentials.open(t.testdir({}), { log: new RecordedLog().log, clock, append });
  t.teardown(() => issued.close());
  const [subject, grant] = [new MemoUnderTest({}, { clock, issued }), grantOf()];
  const first = subject.issue(grant);
  await clock.advance(0);
  t.ok(issued.find("ASIA1"));
  t.equal(subject.again(grant), null);
  written.resolve();
  await first;
  t.equal(subject.again(grant), "ASIA1");
});

test("does not refresh the session of a grant that is withdrawn, however often it is issued", async (t) => {
  const subject = new MemoUnderTest();
  const grant = grantOf();
  await subject.issue(grant);
  await subject.clock.advance(20 * MINUTE);
  t.equal(subject.again(grant), "ASIA1");
  subject.granted = false;
  await subject.clock.advance(11 * MINUTE);
  t.equal(subject.again(grant), null, "the refresh evicts the session");
  t.equal(subject.sts.calls.length, 1);
});

test("forgets every answer when the inventory or what the profile closes changes", async (t) => {
  const [before, other] = [grantOf(), grantOf({ roleARN: OTHER_ROLE })];
  const after = grantOf({ extras: { ...NO_EXTRAS, externalID: "changed" } });
  for (const change of [
    ({ source }: MemoUnderTest) => source.inventory.apply([put(namespaceObject("team-a"))]),
    // A file source replaces the inventory.
    ({ source }: MemoUnderTest) => void (source.inventory = inventoryWith([])),
    ({ profile }: MemoUnderTest) => void (profile.closures = ALL_CLOSED),
  ]) {
    const subject = new MemoUnderTest();
    await subject.issue(before);
    await subject.issue(other);
    t.same([subject.again(before), subject.again(other)], ["ASIA1", "ASIA2"]);
    change(subject);
    t.same([subject.again(before), subject.again(other)], [null, null]);
    t.equal((await subject.issue(after)).accessKeyID, "ASIA3");
    t.equal(subject.again(after), "ASIA3");
  }
});

test("does not remember an answer that was decided before a change, if it comes after it", async (t) => {
  const subject = new MemoUnderTest();
  const grant = grantOf();
  subject.sts.latencyMs = SECOND;
  const issued = subject.issue(grant);
  await subject.clock.advance(SECOND / 2);
  subject.source.inventory.apply([put(namespaceObject("team-a"))]);
  t.equal(subject.again(grant), null);
  await subject.clock.advance(SECOND);
  t.equal((await issued).accessKeyID, "ASIA1");
  t.equal(subject.again(grant), null);
});

test("remembers no session that a policy restricts, and none without an expiration", async (t) => {
  const subject = new MemoUnderTest();
  const grant = grantOf();
  const restricted = { durationSeconds: 3_600, policy: "{}", policyARNs: [] };
  t.equal((await subject.issue(grant, { requested: restricted })).accessKeyID, "ASIA1");
  t.equal(subject.again(grant), null);
  t.equal((await subject.issue(grant)).accessKeyID, "ASIA2");
  t.equal(subject.again(grant), "ASIA2");
  const endless = new MemoUnderTest();
  endless.statesEnd = false;
  t.equal((await endless.issue(grant)).expirationMs, null);
  t.equal(endless.again(grant), null);
});

test("remembers at most 2,000 answers, and none of a path that is longer than 512 characters", async (t) => {
  const subject = new MemoUnderTest();
  const grant = grantOf();
  for (let i = 0; i <= 2_000; i++) await subject.issue(grant, { path: `/${i}` });
  t.same([0, 1, 2_000].map((i) => subject.again(grant, { path: `/${i}` })), [null, "ASIA1", "ASIA1"]);
  for (const [length, key] of [[512, "ASIA1"], [513, null]] as const) {
    const path = "/".padEnd(length, "x");
    await subject.issue(grant, { path });
    t.equal(subject.again(grant, { path }), key);
  }
});

test("leaves each line of the audit log to credentialsFor, and counts the repeats until then", async (t) => {
  const subject = new MemoUnderTest();
  const grant = grantOf();
  const get = async (client: string): Promise<string> => (
    subject.again(grant, { client }) ?? `${(await subject.issue(grant, { client })).accessKeyID} decided`
  );
  const { arn } = await subject.issue(grant, { client: "first" });
  const decided: string[] = [];
  for (const client of ["first", "second", "second", "third", "first"]) decided.push(await get(client));
  t.same(decided, ["ASIA1", "ASIA1 decided", "ASIA1", "ASIA1 decided", "ASIA1"]);
  t.same(subject.audited, [["first", arn], ["second", arn], ["third", arn]]);
  await subject.clock.advance(30 * MINUTE + SECOND);
  t.same([await get("second"), await get("first")], ["ASIA2 decided", "ASIA2 decided"]);
  t.same(subject.audited.slice(3), [["second", arn, 1], ["first", arn, 2]]);
});

test("leaves the line that the audit log writes about a client each hour to credentialsFor", async (t) => {
  const subject = new MemoUnderTest();
  subject.sts.lifeMs = 12 * HOUR;
  const grant = grantOf();
  const { arn } = await subject.issue(grant);
  await subject.clock.advance(HOUR - 1);
  t.equal(subject.again(grant), "ASIA1");
  await subject.clock.advance(1);
  t.equal(subject.again(grant), null);
  t.match(subject.lookups, ["miss", "hit"], "what is not answered is not counted");
  await subject.issue(grant);
  t.same(subject.audited, [["client", arn], ["client", arn, 1]]);
  t.equal(subject.again(grant), "ASIA1");
});
