import { test } from "tap";
import { decideAssumeRole } from "../../../shared/trust/assume-role.ts";
import type { Caller } from "../../../shared/trust/assume-role-call.ts";
import { parsePolicy } from "../../../shared/trust/policy-document.ts";
import type { Answer } from "../../../shared/trust/three-values.ts";
import { allow, type Fields, NEAR, policiesOf, requestOf, sessionOf, userOf } from "./trust-cases.ts";

const BOB = "arn:aws:iam::222222222222:user/bob";
const CALL = {
  externalID: "Ext-1", sourceIdentity: null, sessionName: "team-a.1",
  tags: new Map([["Team", "a"], ["cost", "42"]]), transitiveTagKeys: ["Team"],
};
const CALLER = sessionOf(NEAR, { tags: new Map([["team", "a"], ["Stage", "prod"]]), sessionName: "near-1" });

/** Returns the answers for sts:AssumeRole of an Allow and of a Deny with a condition: each must be as the other. */
function answers(condition: unknown, version = "2012-10-17", from: Caller = CALLER): Answer {
  const request = requestOf(from, CALL, { roleTags: new Map([["Team", "a"], ["Env", "prod"]]) });
  const of = (...statements: readonly Fields[]): Answer | undefined => {
    const parsed = parsePolicy({ Version: version, Statement: statements }, "trust");
    const policies = { ...policiesOf({ trust: [] }), trust: { side: "trust", name: "t", parsed } as const };
    return decideAssumeRole(request, policies).actions.find(({ action }) => action === "sts:AssumeRole")?.verdict;
  };
  const named = allow({ AWS: [NEAR, BOB] });
  const allowed = of({ ...named, Condition: condition }) ?? "unknown";
  const denied = of(named, { ...allow("*", { Condition: condition }), Effect: "Deny" });
  const opposite = allowed === "yes" ? "no" : allowed === "no" ? "yes" : "unknown";
  if (denied !== opposite) throw new Error(`Allow says ${allowed} and Deny says ${denied}`);
  return allowed;
}

/** The values of one key that match, that do not match, and an absent key, for an operator. */
interface Sample {
  readonly key: string;
  readonly hit: unknown;
  readonly miss: unknown;
}

const TEXT: Sample = { key: "sts:ExternalId", hit: "Ext-1", miss: "ext-1" };
const ARN: Sample = { key: "aws:PrincipalArn", hit: "arn:aws:iam::*:role/n?ar", miss: "arn:aws:iam::*:role/NEAR" };
const NUMBER: Sample = { key: "aws:RequestTag/cost", hit: 42, miss: 43 };
const DATE: Sample = { key: "aws:CurrentTime", hit: 1_795_000_000, miss: "2026-11-19T00:00:00+01:00" };
const OPERATORS: Readonly<Record<string, Sample>> = {
  StringEquals: TEXT, StringLike: { ...TEXT, hit: "Ext-?*" }, ArnEquals: ARN, ArnLike: ARN,
  StringEqualsIgnoreCase: { ...TEXT, hit: "EXT-1", miss: "EXT-2" }, Bool: {
    key: "aws:ViaAWSService", hit: false, miss: "TRUE",
  },
  NumericEquals: NUMBER, NumericLessThan: { ...NUMBER, hit: 43, miss: 42 }, NumericLessThanEquals: { ...NUMBER,
    miss: 41.9 },
  NumericGreaterThan: { ...NUMBER, hit: "41.5", miss: 42 }, NumericGreaterThanEquals: NUMBER,
  DateEquals: DATE, DateLessThan: { ...DATE, hit: "2026-11-19", miss: "2026-11-18" },
  DateLessThanEquals: { ...DATE, miss: "2020-01-01T00:00:00Z" }, DateGreaterThanEquals: DATE,
  DateGreaterThan: { ...DATE, hit: "2020-01-01T00:00:00.000Z" },
};
const NEGATED: Readonly<Record<string, Sample>> = {
  StringNotEquals: TEXT, StringNotLike: { ...TEXT, hit: "*-1" }, ArnNotEquals: ARN, ArnNotLike: ARN,
  StringNotEqualsIgnoreCase: { ...TEXT, hit: "EXT-1", miss: "x" }, NumericNotEquals: NUMBER, DateNotEquals: DATE,
};
const ABSENT = "aws:RequestTag/absent";

test("each operator with a key that is present: any value of a list matches, and no value of a negated one",
  async (t) => {
  const each = (operators: Readonly<Record<string, Sample>>, [onHit, onMiss]: readonly [Answer, Answer]): void => {
    for (const [name, { key, hit, miss }] of Object.entries(operators)) {
      for (const operator of [name, name.toLowerCase(), `${name}IfExists`]) {
        const of = (values: unknown): Answer => answers({ [operator]: { [key.toUpperCase()]: values } });
        t.same([of(hit), of([miss, hit])], [onHit, onHit], `${operator} hit`);
        t.same([of(miss), of([miss, miss])], [onMiss, onMiss], `${operator} miss`);
      }
    }
  };
  each(OPERATORS, ["yes", "no"]);
  each(NEGATED, ["no", "yes"]);
});

test("each operator with a key that is absent", async (t) => {
  const each = (operators: Readonly<Record<string, Sample>>, expected: Answer): void => {
    for (const [name, { hit }] of Object.entries(operators)) {
      t.equal(answers({ [name]: { [ABSENT]: hit } }), expected, name);
      t.equal(answers({ [`${name}IfExists`]: { [ABSENT]: hit } }), "yes", `${name}IfExists`);
      t.equal(answers({ [`ForAllValues:${name}`]: { [ABSENT]: hit } }), "yes", `ForAllValues:${name}`);
      t.equal(answers({ [`ForAnyValue:${name}`]: { [ABSENT]: hit } }), "no", `ForAnyValue:${name}`);
    }
  };
  each(OPERATORS, "no");
  each(NEGATED, "yes");
  t.equal(answers({ IpAddress: { [ABSENT]: "10.0.0.0/8" } }), "no");
  t.equal(answers({ NotIpAddress: { [ABSENT]: "10.0.0.0/8" } }), "yes");
  t.same([answers({ Null: { [ABSENT]: "true" } }), answers({ Null: { [ABSENT]: false } })], ["yes", "no"]);
  t.same([answers({ Null: { "aws:TagKeys": "true" } }), answers({ Null: { "aws:TagKeys": [false] } })], ["no", "yes"]);
});

/** Conditions whose answer for sts:AssumeRole the documentation of AWS states. */
const ROWS: readonly (readonly [expected: Answer, condition: Readonly<Record<string, Fields>>])[] = [
  // Several keys and operators are joined by AND.
  ["yes", { StringEquals: { "sts:ExternalId": "Ext-1", "sts:RoleSessionName": "team-a.1" },
    Null: { [ABSENT]: "true" } }],
  ["no", { StringEquals: { "sts:ExternalId": "Ext-1", "sts:RoleSessionName": "other" } }],
  ["no", { StringEquals: { "sts:ExternalId": "Ext-1" }, StringLike: { "sts:RoleSessionName": "other*" } }],
  ["yes", {}], ["yes", { StringEquals: {} }],
  // A wildcard is a text for StringEquals.
  ["no", { StringEquals: { "sts:ExternalId": "*" } }], ["yes", { StringLike: { "sts:ExternalId": "*" } }],
  ["no", { StringEquals: { "sts:ExternalId": "Ext-?" } }], ["no", { StringLike: { "sts:ExternalId": "ext-*" } }],
  // Set operators.
  ["yes", { "ForAllValues:StringEquals": { "aws:TagKeys": ["Team", "cost", "other"] } }],
  ["no", { "ForAllValues:StringEquals": { "aws:TagKeys": ["Team"] } }],
  ["yes", { "ForAllValues:StringLike": { "aws:TagKeys": ["T*", "c*"] } }],
  ["yes", { "ForAnyValue:StringEquals": { "aws:TagKeys": ["x", "cost"] } }],
  ["no", { "ForAnyValue:StringEquals": { "aws:TagKeys": ["x", "Cost"] } }],
  ["yes", { "ForAllValues:StringNotEquals": { "aws:TagKeys": ["x"] } }],
  ["no", { "ForAllValues:StringNotEquals": { "aws:TagKeys": ["cost"] } }],
  ["yes", { "ForAnyValue:StringNotEquals": { "aws:TagKeys": ["cost"] } }],
  ["no", { "ForAnyValue:StringNotEquals": { "aws:TagKeys": ["cost", "Team"] } }],
  ["yes", { "ForAllValues:StringEquals": { "sts:TransitiveTagKeys": "Team" } }],
  ["no", { "ForAllValues:StringEquals": { "sts:TransitiveTagKeys": "cost" } }],
  ["yes", { "ForAllValues:StringEqualsIfExists": { [ABSENT]: "x" } }],
  // Not documented, and denied by AWS in a public question.
  ["unknown", { "ForAnyValue:StringEqualsIfExists": { [ABSENT]: "x" } }],
  // Tags, whose keys have no case.
  ["yes", { StringEquals: { "aws:RequestTag/TEAM": "a" } }], ["no", { StringEquals: { "aws:RequestTag/team": "A" } }],
  ["yes", { StringEquals: { "aws:PrincipalTag/Team": "a" } }],
  ["yes", { StringEquals: { "AWS:PRINCIPALTAG/stage": "prod" } }],
  ["yes", { StringEquals: { "aws:ResourceTag/env": "prod", "iam:ResourceTag/ENV": "prod" } }],
  ["no", { StringEquals: { "aws:ResourceTag/other": "prod" } }],
  ["yes", { StringEquals: { "aws:ResourceTag/team": "${aws:PrincipalTag/TEAM}" } }],
  ["no", { StringEquals: { "aws:ResourceTag/team": "${aws:PrincipalTag/Stage}" } }],
  // Variables.
  ["yes", { StringLike: { "sts:RoleSessionName": "team-${aws:PrincipalTag/team}*" } }],
  ["yes", { StringEquals: { "aws:RequestTag/team": "${aws:PrincipalTag/none, 'a'}" } }],
  ["yes", { StringEquals: { "aws:RequestTag/team": "${aws:PrincipalTag/team, 'b'}" } }],
  ["no", { StringEquals: { "aws:RequestTag/team": "${aws:PrincipalTag/none}" } }],
  ["no", { StringLike: { "sts:RoleSessionName": "${aws:username}*" } }],
  ["no", { StringLike: { "sts:ExternalId": "Ext-${?}" } }], ["no", { StringLike: { "sts:ExternalId": "${*}" } }],
  ["no", { StringEquals: { "sts:ExternalId": "${aws:PrincipalOrgID}", "sts:RoleSessionName": "other" } }],
  ["yes",
    { ArnLike: { "aws:PrincipalArn": "arn:${aws:PrincipalTag/none,'aws'}:iam::${aws:PrincipalAccount}:role/*" } }],
  // Keys of the caller.
  ["yes", { StringEquals: { "aws:PrincipalAccount": ["222222222222"], "aws:PrincipalType": "AssumedRole" } }],
  ["yes", { StringEquals: { "aws:PrincipalAccount": 222222222222 } }],
  ["yes", { StringLike: { "aws:userid": "AROAEXAMPLEEXAMPLEID1:*" } }],
  ["yes", { StringEquals: { "aws:userid": "AROAEXAMPLEEXAMPLEID1:near-1" } }],
  ["no", { StringLike: { "aws:userid": "AROAEXAMPLEEXAMPLEID2:*" } }],
  ["no", { ArnLike: { "aws:PrincipalArn": "arn:aws:sts::222222222222:assumed-role/near/*" } }],
  ["yes", { ArnEquals: { "aws:PrincipalArn": NEAR } }], ["no", { StringEquals: { "aws:username": "near" } }],
  // Calls of services, federation, and keys of other operations and services.
  ["no", { StringEquals: { "aws:SourceAccount": "222222222222" } }],
  ["no", { ArnLike: { "aws:SourceArn": "arn:aws:eks:*:*:cluster/*" } }],
  ["yes", { StringEqualsIfExists: { "aws:SourceArn": "x", "aws:SourceOrgID": "o-1",
    "aws:PrincipalServiceName": "x" } }],
  ["yes", { Bool: { "aws:PrincipalIsAWSService": "false", "aws:ViaAWSService": "false" } }],
  ["no", { StringEquals: { "aws:SourceIdentity": "alice" } }],
  ["no", { StringEquals: { "saml:aud": "x" } }],
  ["no", { StringEquals: { "oidc.eks.eu-west-1.amazonaws.com/id/x:sub": "system:serviceaccount:a:b" } }],
  ["no", { StringLike: { "token.actions.githubusercontent.com:job_workflow_ref": "*" } }],
  ["no", { NumericLessThan: { "sts:DurationSeconds": 3600 } }],
  ["yes", { NumericLessThanIfExists: { "sts:DurationSeconds": 3600 } }],
  ["no", { StringEquals: { "ec2:ResourceTag/team": "a" } }], ["no", { StringLike: { "iam:PassedToService": "*" } }],
  // What only AWS knows.
  ...["aws:PrincipalOrgID", "aws:ResourceOrgID", "aws:RequestedRegion", "aws:UserAgent",
    "aws:SourceVpce"].flatMap((key) => (
    [["unknown", { StringEquals: { [key]: "x" } }], ["unknown", { StringNotEquals: { [key]: "x" } }]] as const
  )),
  ["unknown", { IpAddress: { "aws:SourceIp": "10.0.0.0/8" } }],
  ["unknown", { NotIpAddress: { "aws:SourceIp": ["10.0.0.0/8"] } }],
  ["unknown", { Bool: { "aws:MultiFactorAuthPresent": "true" } }],
  ["unknown", { BoolIfExists: { "aws:MultiFactorAuthPresent": true } }],
  ["unknown", { "ForAnyValue:StringLike": { "aws:PrincipalOrgPaths": "o-1/*" } }],
  ["unknown", { Null: { "aws:PrincipalOrgID": "false" } }],
  ["no", { StringEquals: { "aws:PrincipalOrgID": "o-1", "sts:ExternalId": "other" } }],
];

test("conditions decide as AWS documents them", async (t) => {
  for (const [expected, condition] of ROWS) t.equal(answers(condition), expected, JSON.stringify(condition));
});

test("only a policy of version 2012-10-17 has variables", async (t) => {
  const named = { StringEquals: { "aws:RequestTag/team": "${aws:PrincipalTag/team}" } };
  t.same([answers(named), answers(named, "2008-10-17")], ["yes", "no"]);
  const text = { StringNotEquals: { "sts:ExternalId": "${aws:PrincipalTag/team}" } };
  t.equal(answers(text, "2008-10-17"), "yes");
});

test("the keys of a user", async (t) => {
  const bob = userOf(BOB, { uniqueID: "AIDAEXAMPLEEXAMPLEID1" });
  const of = (condition: unknown): Answer => answers(condition, "2012-10-17", bob);
  t.equal(of({ StringEquals: { "aws:username": "bob", "aws:PrincipalType": "User", "aws:userid": bob.uniqueID } }),
    "yes");
  t.equal(of({ StringLike: { "sts:RoleSessionName": "${aws:username}*" } }), "no");
  t.equal(of({ ArnLike: { "aws:PrincipalArn": "arn:aws:iam::*:user/${aws:username}" } }), "yes");
});
