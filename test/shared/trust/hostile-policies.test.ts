import { test } from "tap";
import type { AssumeRoleCall, Caller } from "../../../shared/trust/assume-role-call.ts";
import { decideAssumeRole } from "../../../shared/trust/assume-role.ts";
import { parsePolicy } from "../../../shared/trust/policy-document.ts";
import type { Answer } from "../../../shared/trust/three-values.ts";
import { document } from "./iam-export.ts";
import { allow, APP, type Fields, grant, NEAR, policiesOf, requestOf, ROLE, sessionOf, userOf } from "./trust-cases.ts";

const HOME = "arn:aws:iam::222222222222:root";
const BOB = userOf("arn:aws:iam::222222222222:user/bob");
const CALLER = sessionOf(NEAR, { sessionName: "s" });
const FAR = sessionOf(APP);

/** Returns the answer for a trust policy that is a text. */
function trusted(text: string, caller: Caller = CALLER, call: Partial<AssumeRoleCall> = {}): Answer {
  const trust = { side: "trust", name: "t", parsed: parsePolicy(text, "trust") } as const;
  return decideAssumeRole(requestOf(caller, call), { ...policiesOf({ trust: [] }), trust }).verdict;
}

/** The answers for a trust policy with an Allow for the caller, and for one with such a Deny besides. */
function both(fields: Fields, caller = CALLER, call: Partial<AssumeRoleCall> = {}): string {
  const named = allow({ AWS: NEAR });
  const policies = [document({ ...named, ...fields }), document(named, { ...named, ...fields, Effect: "Deny" })];
  return policies.map((one) => trusted(JSON.stringify(one), caller, call)).join(" ");
}

/** The same for a policy of a caller in another account. */
function bothFar(fields: Fields): string {
  const trust = [allow({ AWS: APP })];
  const policies: readonly Fields[][] = [[grant(fields)], [grant(), grant({ ...fields, Effect: "Deny" })]]
    .map((statements) => JSON.parse(JSON.stringify(statements)));
  return policies.map((identity) => (
    decideAssumeRole(requestOf(FAR), policiesOf({ trust, identity })).verdict
  )).join(" ");
}

function when(operator: string, key: string, values: unknown): Fields {
  return { Condition: { [operator]: { [key]: values } } };
}

const EXTERNAL = { externalID: "x1" };

test("a malformed trust policy allows nothing for certain", async (t) => {
  const statement = JSON.stringify(allow({ AWS: NEAR }));
  const open = statement.slice(0, -1);
  const fields: readonly Fields[] = [
    { Principal: ["*"] }, { Principal: { AWS: { "*": "*" } } }, { Action: "sts" }, { Action: "*:AssumeRole" },
    { NotAction: "s3:*" }, { Condition: null }, { Condition: [] }, { Sid: null }, { Resource: "*" },
    { Effect: "allow" },
  ];
  const texts = [
    `{"Statement": [${statement}], "Version": null}`, `{"Statement": [${statement}], "Version": 2012}`,
    `{"Statement": [${statement}, null]}`, `{"Statement": [[${statement}]]}`, `{"statement": [${statement}]}`,
    `{"Statement": [${statement}], "Comment": "x"}`, `[${statement}]`, `{"Statement": {"0": ${statement}}}`,
    `{"Statement": [${open}, "Effect": "Allow"}]}`, `{"Statement": [${statement}]} // end`,
    `{"Statement": [${statement},]}`, "null", '"*"', "%zz", "",
    ...fields.map((one) => JSON.stringify(document({ ...allow({ AWS: NEAR }), ...one }))),
  ];
  for (const text of texts) t.equal(trusted(text), "unknown", text);
});

test("reads each form that IAM documents", async (t) => {
  const trust = (fields: Fields): string => JSON.stringify(document({ ...allow({ AWS: NEAR }), ...fields }));
  const texts = [
    JSON.stringify({ Statement: allow({ AWS: NEAR }) }), trust({ Principal: { AWS: [NEAR] }, Action: ["STS:assume*"] }),
    trust({ Principal: "*" }), JSON.stringify(document(allow({ AWS: 222_222_222_222 }), allow({ AWS: NEAR }))),
    encodeURIComponent(trust({})), ` ${trust({})}\n`, trust({ Condition: {} }), trust({ Condition: { Bool: {} } }),
    trust({ Action: undefined, NotAction: ["s3:*", "sts:TagSession"] }),
    String.raw`{"Statement": {"Effect": "Allow", "Action": "\u0073ts:AssumeRole", "Principal": {"AWS": "${NEAR}"}}}`,
  ];
  for (const text of texts) t.equal(trusted(text), "yes", text);
});

test("principals", async (t) => {
  const allowed = (aws: unknown, caller: Caller = CALLER): Answer => (
    trusted(JSON.stringify(document(allow(aws))), caller)
  );
  const nobody = [
    { AWS: [] }, {}, { AWS: "arn:aws:iam::222222222222:role/*" }, { AWS: "arn:aws:iam::*:role/near" }, { AWS: "*near" },
    { AWS: `${NEAR} ` }, { AWS: NEAR.toUpperCase() }, { AWS: "arn:aws:iam::222222222222:role/Near" }, { Service: NEAR },
    { AWS: "arn:aws:iam::222222222222:role/path/near" }, { AWS: "arn:aws:iam::222222222222:near" }, { Federated: "*" },
    { AWS: "arn:aws:iam::222222222222:user/near" }, { AWS: "arn:aws:iam::222222222222:rolex" }, { Service: "*" },
    { AWS: "arn:aws:sts::222222222222:assumed-role/near/*" }, { AWS: "arn:aws:sts::222222222222:assumed-role/near/t" },
    { AWS: "arn:aws:sts::222222222222:assumed-role/near" }, { AWS: "arn:aws-cn:iam::222222222222:root" },
    { AWS: "arn:aws:iam:us-east-1:222222222222:role/near" }, { CanonicalUser: "222222222222" }, { AWS: "" },
    { AWS: "arn:aws:iam::222222222222:ROOT" }, { AWS: "22222222222" }, { AWS: 2.2 },
  ];
  for (const one of nobody) t.equal(allowed(one), "no", JSON.stringify(one));
  t.equal(allowed({ AWS: HOME }), "no", "the account needs an identity policy");
  t.equal(allowed({ AWS: "arn:aws:sts::222222222222:assumed-role/near/s" }), "yes");
  t.equal(allowed({ AWS: "arn:aws:sts::222222222222:assumed-role/near/s" }, sessionOf(NEAR)), "unknown");
  t.equal(allowed({ AWS: "AROAEXAMPLEEXAMPLEID1" }), "no", "IAM shows it only of a deleted one");
  t.equal(allowed({ AWS: BOB.arn }, BOB), "yes");
});

test("a deny for a principal that IAM does not store is not certain to miss the caller", async (t) => {
  const denied = (aws: string): Answer => (
    trusted(JSON.stringify(document(allow({ AWS: NEAR }), { ...allow({ AWS: aws }), Effect: "Deny" })))
  );
  const invalid = [
    "near", "arn:aws:iam::222222222222:rolex", "arn:aws:sts::222222222222:assumed-role/near", "",
    "arn:aws:iam:us-east-1:222222222222:role/near",
  ];
  for (const aws of invalid) t.equal(denied(aws), "unknown", aws);
  for (const aws of [NEAR, "*", "222222222222", HOME]) t.equal(denied(aws), "no", aws);
  t.equal(denied("arn:aws:iam::222222222222:role/other"), "yes");
});

/** The conditions of an Allow and of a Deny, and the answers for both. */
const CONDITIONS: readonly (readonly [fields: Fields, expected: string])[] = [
  [when("StringEqual", "sts:ExternalId", "x1"), "unknown unknown"],
  [when("BinaryEquals", "sts:ExternalId", "x1"), "unknown unknown"],
  [when("NullIfExists", "sts:ExternalId", "true"), "unknown unknown"],
  [when("ForAllValues:Null", "sts:ExternalId", "true"), "unknown unknown"],
  [when("ForAnyValues:StringEquals", "sts:ExternalId", "x1"), "unknown unknown"],
  [when("ForAnyValue:ForAllValues:StringEquals", "sts:ExternalId", "x1"), "unknown unknown"],
  [when("StringEqualsIfExistsIfExists", "sts:ExternalId", "x1"), "unknown unknown"],
  [when("StringEquals", "sts:ExternalId", []), "unknown unknown"],
  [when("StringEquals", "sts:ExternalId", null), "unknown unknown"],
  [when("StringEquals", "sts:ExternalId", {}), "unknown unknown"],
  [when("StringEquals", "sts:ExternalId", ["x2", "x1"]), "yes no"],
  [when("StringEquals", "sts:ExternalId", "X1"), "no yes"],
  [when("StringEquals", "sts:ExternalId", "x*"), "no yes"],
  [when("StringEquals", "sts:ExternalId", "x1 "), "no yes"],
  [when("StringLike", "sts:ExternalId", "x?"), "yes no"],
  [when("StringLike", "sts:ExternalId", "x1?"), "no yes"],
  [when("StringLike", "sts:ExternalId", "${*}*"), "no yes"],
  [when("StringLike", "STS:EXTERNALID", "**1**"), "yes no"],
  [when("StringEquals", "externalId", "x1"), "unknown unknown"],
  [when("StringEquals", " sts:ExternalId", "x1"), "unknown unknown"],
  [when("StringEquals", "sts:Externa\u017FId", "x1"), "unknown unknown"],
  [when("StringEqualsIgnoreCase", "sts:ExternalId", "X1"), "yes no"],
  [when("StringEqualsIgnoreCase", "sts:ExternalId", "\u212A"), "unknown unknown"],
  [when("NumericEquals", "sts:ExternalId", 1), "unknown unknown"],
  [when("Bool", "sts:ExternalId", "true"), "unknown unknown"],
  [when("IpAddress", "sts:ExternalId", "0.0.0.0/0"), "unknown unknown"],
  [when("Null", "sts:ExternalId", "yes"), "unknown unknown"],
  [when("Null", "sts:ExternalId", false), "yes no"],
  [when("Null", "sts:SourceIdentity", [true, false]), "yes no"],
  [when("DateLessThan", "aws:CurrentTime", "9999999999999"), "unknown unknown"],
  [when("DateLessThan", "aws:CurrentTime", "2026-02-30T00:00:00Z"), "unknown unknown"],
  [when("NumericLessThan", "aws:EpochTime", 1e300), "unknown unknown"],
  [when("StringEquals", "sts:ExternalId", 12_345_678_901_234_567_000), "unknown unknown"],
  [when("StringEquals", "sts:ExternalId", "${aws:PrincipalTag/none}"), "no yes"],
  [when("StringNotEquals", "sts:ExternalId", "${aws:PrincipalTag/none}"), "unknown unknown"],
  [when("StringEquals", "sts:ExternalId", "${aws:PrincipalTag/none, 'x1'}"), "yes no"],
  [when("StringEquals", "sts:ExternalId", "${aws:SourceIp}"), "unknown unknown"],
  [when("StringEquals", "sts:ExternalId", "${"), "unknown unknown"],
  [when("StringNotEquals", "sts:SourceIdentity", "x"), "yes no"],
  [when("StringNotEqualsIfExists", "sts:ExternalId", "x1"), "no yes"],
  [when("ForAllValues:StringEquals", "aws:TagKeys", "none"), "yes no"],
  [when("ForAnyValue:StringNotEquals", "aws:TagKeys", "none"), "no yes"],
  [when("ArnLike", "aws:PrincipalArn", "arn:aws:iam::*:role/near"), "yes no"],
  [when("ArnLike", "aws:PrincipalArn", "*"), "unknown unknown"],
  [when("ArnEquals", "aws:PrincipalArn", "arn:aws:sts::222222222222:assumed-role/near/s"), "no yes"],
  [when("StringLike", "aws:PrincipalArn", "arn:*:role/n*"), "yes no"],
  [when("StringEquals", "aws:PrincipalOrgID", "o-1"), "unknown unknown"],
  [when("NumericLessThan", "ec2:RoleDelivery", "2.0"), "unknown unknown"],
  [when("StringLike", "aws:userid", "AROAEXAMPLEEXAMPLEID1:*"), "yes no"],
];

test("conditions with odd operators and values", async (t) => {
  for (const [fields, expected] of CONDITIONS) {
    t.equal(both(fields, CALLER, EXTERNAL), expected, JSON.stringify(fields));
  }
});

test("policy variables exist only in the version 2012-10-17", async (t) => {
  const statement = allow({ AWS: NEAR }, when("StringEquals", "sts:ExternalId", "${aws:PrincipalType}"));
  const of = (version: unknown, externalID: string): Answer => (
    trusted(JSON.stringify({ Version: version, Statement: statement }), CALLER, { externalID })
  );
  t.equal(of("2012-10-17", "AssumedRole"), "yes");
  t.equal(of("2008-10-17", "AssumedRole"), "no");
  t.equal(of(undefined, "AssumedRole"), "no");
  t.equal(of("2012-10-17 ", "AssumedRole"), "unknown");
});

test("actions and resources of an identity policy", async (t) => {
  const cases: readonly (readonly [fields: Fields, expected: string])[] = [
    [{ Action: "*" }, "yes no"], [{ Action: "*:*" }, "yes no"], [{ Action: "sts:Assume?ole" }, "yes no"],
    [{ Action: "STS:ASSUMEROLE" }, "yes no"], [{ Action: "sts:AssumeRoleWith*" }, "no yes"], [{ Action: [] }, "no yes"],
    [{ Action: undefined, NotAction: "iam:*" }, "yes no"], [{ Action: undefined, NotAction: "sts:*" }, "no yes"],
    [{ Action: undefined, NotAction: [] }, "unknown unknown"], [{ Action: undefined }, "unknown unknown"],
    [{ Resource: ROLE }, "yes no"], [{ Resource: `${ROLE}*` }, "yes no"], [{ Resource: `${ROLE}?` }, "no yes"],
    [{ Resource: [] }, "no yes"], [{ Resource: ROLE.replace("target", "Target") }, "no yes"],
    [{ Resource: "arn:aws:iam::*:role/*" }, "yes no"], [{ Resource: "arn:*" }, "yes no"],
    [{ Resource: "arn:aws-cn:iam::*" }, "no yes"],
    [{ Resource: "arn:aws:iam" }, "unknown unknown"], [{ Resource: "arn" }, "unknown unknown"],
    [{ Resource: "arn:aws:iam::222222222222" }, "unknown unknown"], [{ Resource: "arn:aws:s3" }, "no yes"],
    [{ Resource: "arnx" }, "no yes"], [{ Resource: "arn:aws:iam:?222222222222:role/target" }, "unknown unknown"],
    [{ Resource: "arn:aws:iam::${aws:ResourceAccount}:role/target" }, "no yes"],
    [{ Resource: "arn:aws:iam::222222222222:role/${aws:PrincipalTag/none, 'target'}" }, "yes no"],
    [{ Resource: "arn:aws:iam::222222222222:role/${aws:SourceVpc}" }, "unknown unknown"],
    [{ Resource: undefined, NotResource: ROLE }, "no yes"],
    [{ Resource: undefined, NotResource: "arn:aws:s3:::*" }, "yes no"],
    [{ Resource: undefined, NotResource: [] }, "unknown unknown"], [{ NotResource: "x" }, "unknown unknown"],
    [{ Resource: undefined, NotResource: "arn:aws:iam::${aws:ResourceAccount}:role/target" }, "unknown unknown"],
    [{ Resource: null }, "unknown unknown"], [{ Resource: { "*": "*" } }, "unknown unknown"],
    [{ Principal: "*" }, "unknown unknown"],
  ];
  for (const [fields, expected] of cases) t.equal(bothFar(fields), expected, JSON.stringify(fields));
});
