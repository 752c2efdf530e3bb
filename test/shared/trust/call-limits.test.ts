import { test } from "tap";
import { acceptanceOf } from "../../../shared/trust/call-limits.ts";
import type { AssumeRoleCall, Caller } from "../../../shared/trust/assume-role-call.ts";
import { allow, APP, decide, NEAR, requestOf, ROLE, sessionOf, userOf } from "./trust-cases.ts";

const BOB = userOf("arn:aws:iam::222222222222:user/bob");

function acceptance(
  call: Partial<AssumeRoleCall>, caller: Caller = sessionOf(NEAR), max: number | null = null,
): string {
  const { match, reason } = acceptanceOf(requestOf(caller, call), max);
  return `${match.answer} ${reason}`.trim();
}

function tagged(...keys: readonly string[]): Partial<AssumeRoleCall> {
  return { tags: new Map(keys.map((key) => [key, "a"])) };
}

test("accepts parameters within the limits of STS", async (t) => {
  t.equal(acceptance({
    externalID: "arn:x/y", sourceIdentity: "alice@example.com", sessionName: "s.1", durationSeconds: 3600,
    tags: new Map([["team", ""], ["Über", "a b"]]), transitiveTagKeys: ["TEAM"],
  }), "yes");
  t.equal(acceptance({ durationSeconds: 900 }, { kind: "service", name: "pods.eks.amazonaws.com" }), "yes");
});

test("rejects parameters outside the limits of STS, and another partition", async (t) => {
  const session = "is not 2 to 64 characters of letters, digits and _+=,.@-";
  const cases: readonly (readonly [Partial<AssumeRoleCall>, string])[] = [
    [{ sessionName: "s" }, `no the session name ${session}`], [{ sourceIdentity: "a b" },
    `no the source identity ${session}`],
    [{ externalID: "x y" }, "no the external ID is not 2 to 1224 characters of letters, digits and _+=,.@:/-"],
    [tagged("a", "A"), "no two session tags have the same key, apart from case"],
    [tagged("AWS:a"), "no the key of a session tag starts with aws:, which is reserved"],
    [tagged("a*"), "no the key of a session tag is not 1 to 128 characters of letters, digits, spaces and _.:/=+-@"],
    [{ tags: new Map([["a", "*"]]) }, "no the value of a session tag is not 0 to 256 characters of letters, digits, "
      + "spaces and _.:/=+-@"],
    [tagged(...Array.from({ length: 51 }, (_, i) => `k${i}`)), "no the call has 51 session tags, more than 50"],
    [{ transitiveTagKeys: Array(51).fill("k") }, "no the call has 51 session tags, more than 50"],
    [{ transitiveTagKeys: [""] },
      "no the key of a transitive tag is not 1 to 128 characters of letters, digits, spaces and _.:/=+-@"],
    [{ durationSeconds: 899 }, "no the duration of 899 seconds is not 900 to 43200"],
    [{ durationSeconds: 900.5 }, "no the duration of 900.5 seconds is not 900 to 43200"],
    [{ role: { arn: ROLE, partition: "aws-cn", accountID: "222222222222" } },
      "no the caller is in the partition aws, and the role in "
      + "aws-cn; a role can be assumed only inside its partition"],
  ];
  for (const [call, expected] of cases) t.equal(acceptance(call), expected);
  t.equal(
    acceptance({ sourceIdentity: "bob" }, sessionOf(NEAR, { sourceIdentity: "alice" })),
    "no the caller has another source identity, which cannot be changed",
  );
});

test("limits the duration of role chaining to an hour, and others to that of the role", async (t) => {
  const long = { durationSeconds: 7200 };
  t.match(acceptance(long), /^no the duration of 7200 seconds exceeds the 3600 seconds of role chaining/);
  t.equal(acceptance(long, BOB), "unknown the maximum session duration of the role is not known");
  t.equal(acceptance(long, BOB, 7200), "yes");
  t.equal(
    acceptance(long, BOB, 3600), "no the duration of 7200 seconds exceeds the MaxSessionDuration of 3600 seconds",
  );
});

test("does not know whether STS accepts a transitive key without a tag", async (t) => {
  t.equal(acceptance({ transitiveTagKeys: ["team"] }), "unknown a transitive tag key has no session tag");
});

test("rejects a tag that the caller's session passes on", async (t) => {
  const passesOn = sessionOf(NEAR, { transitiveTags: new Map([["Team", "a"]]) });
  const reason = "the call has a session tag that the caller's session passes on, which cannot be changed";
  t.equal(acceptance(tagged("team"), passesOn), `no ${reason}`);
  t.equal(acceptance(tagged("other"), passesOn), "yes");
});

test("decides an unknown duration only if the policies allow", async (t) => {
  const long = requestOf(BOB, { durationSeconds: 7200 });
  t.equal(decide(long, { trust: [allow({ AWS: APP })] }).verdict, "no");
  const trust = [allow({ AWS: BOB.arn })];
  t.match(decide(long, { trust }), {
    verdict: "unknown", missing: ["MaxSessionDuration of arn:aws:iam::222222222222:role/target"],
    actions: [{ action: "sts:AssumeRole", reason: { kind: "rejected" } }],
  });
  t.equal(decide(long, { trust }, 7200).verdict, "yes");
  const onlyIn = [allow({ AWS: BOB.arn }, { Condition: { StringEquals: { "aws:PrincipalOrgID": "o-1" } } })];
  t.same(decide(long, { trust: onlyIn }).missing, ["aws:PrincipalOrgID", `MaxSessionDuration of ${ROLE}`]);
  t.match(decide(requestOf(BOB, { durationSeconds: 1 }), { trust }), { verdict: "no", actions: [{ verdict: "no" }] });
});
