import { test } from "tap";
import { callerOf, identityTarget, problemsOf, reviewOf, selectorTarget } from "./review.ts";
import { allow, APP, type Fields, NEAR } from "./trust-cases.ts";

const JANE = "arn:aws:iam::111122223333:user/jane";
const STRANGER = "444455556666";

function others(statement: Fields, ...intended: readonly string[]): string[] {
  return problemsOf(selectorTarget(), { trust: [allow({ AWS: APP }), statement], intended });
}

function demanding(key: string, value = "x1", operator = "StringEquals"): Fields {
  return allow("*", { Condition: { [operator]: { [key]: value } } });
}

test("reports others by what is wrong with letting them in", async (t) => {
  t.same(others(allow({ AWS: [NEAR, JANE] })), [
    `TR-10 others can assume the role: ${JANE}`, `TR-10 others can assume the role: ${NEAR}`,
  ]);
  t.same(others(allow({ AWS: [NEAR, `${NEAR}2`] })), [`TR-10 others can assume the role: ${NEAR} and ${NEAR}2`]);
  t.same(others(allow({ Service: "ec2.amazonaws.com" })), ["TR-10 others can assume the role: ec2.amazonaws.com"]);
  t.same(others(allow({ Service: "codebuild.amazonaws.com" })), [
    "TR-10 codebuild.amazonaws.com: the service can act for other accounts",
  ]);
  t.same(others(allow({ AWS: [NEAR, JANE] }), NEAR, JANE), []);
  t.same(problemsOf(selectorTarget(), { trust: null }).filter((one) => !one.startsWith("TR-02")), []);
});

test("reports everyone, unless a condition demands who calls", async (t) => {
  t.same(others(allow("*")), ["TR-08 Principal *: every AWS account can assume the role"]);
  const only = (key: string): string[] => [
    `TR-08 Principal *: only the conditions on ${key} limit who assumes the role`,
  ];
  for (const key of ["sts:ExternalId", "sts:RoleSessionName", "aws:RequestTag/team", "aws:PrincipalTag/team"]) {
    t.same(others(demanding(key)), only(key), `callers choose ${key}`);
  }
  for (const key of ["aws:PrincipalOrgID", "aws:principalorgpaths", "aws:SourceVpce", "aws:SourceIp"]) {
    t.match(others(demanding(key)), [/^TR-10 Principal \*: /], `callers do not choose ${key}`);
  }
  const org = "aws:PrincipalOrgID";
  t.same(others(demanding(org, "*", "StringLike")), only(org), "any organization");
  t.same(others(demanding("aws:SourceIp", "0.0.0.0/0", "IpAddress")), only("aws:SourceIp"), "any address");
  t.match(others(demanding(org, "o-1", "StringEqualsIfExists")), [/^TR-08 Principal \*: StringEqualsIfExists /]);
  t.match(others(demanding(org, "o-1", "StringNotEquals")), [/^TR-08 /]);
  const anywhere = demanding("aws:PrincipalArn", "arn:aws:iam::*:role/x", "ArnLike");
  t.match(others(anywhere), [/^TR-08 arn:aws:iam::\*:role\/x: /]);
  const inAccount = demanding("aws:PrincipalArn", `arn:aws:iam::${STRANGER}:role/x*`, "ArnLike");
  t.match(others(inAccount), [/^TR-10 arn:aws:iam::444455556666:role\/x\*: anyone who can create such a role/]);
  t.same(others(demanding("aws:PrincipalArn", APP)), [], "the condition names the caller");
  const second = problemsOf(selectorTarget(), { trust: [demanding(org, "o-1"), demanding("sts:ExternalId")] });
  t.match(second.filter((one) => !one.startsWith("TR-02")), [/^TR-08 /], "the weakest of its statements decides");
});

test("reports a whole account, also that of a caller", async (t) => {
  const fixOf = (account: string): unknown => (
    reviewOf({ trust: [allow({ AWS: account })] }).problemsOf(selectorTarget()).filter(({ code }) => code === "TR-09")
      .map(({ message, fix }) => [message, fix])
  );
  const text = (account: string): string => `account ${account}: everyone whom the account allows can assume the role`;
  t.same(fixOf("arn:aws:iam::111122223333:root"), [[text("111122223333"), null]], "the role of the caller would do");
  t.match(fixOf(STRANGER), [[text(STRANGER), /demand an sts:ExternalId that is unique to you$/]]);
  t.same(others(allow({ AWS: STRANGER }), STRANGER), []);
});

test("the source of an identity is intended for its role only", async (t) => {
  const source = { roleARN: NEAR, tags: [], hasOtherBase: false };
  const capa = { trust: [allow({ AWS: NEAR })], callers: [callerOf({ via: "capa" })] };
  t.same(problemsOf(identityTarget({}, source), capa).filter((one) => one.startsWith("TR-10")), []);
  t.match(problemsOf(identityTarget(), capa), [/^TR-01/, `TR-10 others can assume the role: ${NEAR}`]);
});
