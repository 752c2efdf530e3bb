import * as fc from "fast-check";
import type { AssumeRoleCall, Caller } from "../../../shared/trust/assume-role-call.ts";
import { APP, type Documents, type Fields, NEAR, ROLE, sessionOf, userOf } from "./trust-cases.ts";

const BOB = "arn:aws:iam::222222222222:user/bob";

export const caller: fc.Arbitrary<Caller> = fc.oneof(
  fc.tuple(fc.constantFrom(APP, NEAR, ROLE), fc.constantFrom("s", null)).map(([arn, sessionName]) => (
    sessionOf(arn, { sessionName })
  )),
  fc.constantFrom<Caller>(
    userOf(BOB), sessionOf(APP, { roleARN: null }), sessionOf(NEAR, { tags: null, sourceIdentity: "alice" }),
    sessionOf(NEAR, { transitiveTags: new Map([["team", "a"]]) }), { kind: "service", name: "pods.eks.amazonaws.com" },
  ),
);
export const call: fc.Arbitrary<Partial<AssumeRoleCall>> = fc.record({
  externalID: fc.constantFrom("x1", "x2"), sourceIdentity: fc.constant("alice"),
  sessionName: fc.constantFrom("x1", "alice"),
  tags: fc.constantFrom(new Map([["team", "a"]]), new Map([["Team", "b"], ["cost", "42"]])),
}, { requiredKeys: [] });

const operator = fc.tuple(
  fc.constantFrom("", "ForAllValues:", "ForAnyValue:"),
  fc.constantFrom(
    "StringEquals", "StringNotEquals", "StringLike", "StringNotLike", "ArnLike", "ArnNotEquals", "Null", "Bool",
    "StringEqualsIgnoreCase", "NumericLessThan", "NumericNotEquals", "DateGreaterThan", "IpAddress", "NotIpAddress",
  ),
  fc.constantFrom("", "IfExists"),
).map((parts) => parts.join(""));
const key = fc.constantFrom(
  "sts:ExternalId", "sts:RoleSessionName", "sts:SourceIdentity", "aws:RequestTag/team", "aws:TagKeys",
  "aws:PrincipalTag/team", "aws:PrincipalArn", "aws:userid", "aws:username", "aws:PrincipalOrgID", "saml:aud",
  "aws:SourceIp", "aws:ResourceTag/team", "aws:RequestTag/cost", "aws:CurrentTime", "sts:TransitiveTagKeys",
    "s3:prefix",
);
const value = fc.constantFrom(
  "x1", "a", "*", "team", "${aws:username}", "${aws:PrincipalTag/team}", NEAR, "true", "alice", "40", "2020-01-01",
    "10.0.0.0/8",
  "${aws:PrincipalTag/none, 'a'}", "A*",
);
const keys = fc.dictionary(key, fc.array(value, { maxLength: 2 }), { maxKeys: 2 });
const condition = fc.dictionary(operator, keys, { maxKeys: 2 });
const action = fc.constantFrom("sts:AssumeRole", "sts:*", "*", "sts:TagSession", "sts:SetSourceIdentity");
const aws = fc.constantFrom(
  "*", "222222222222", "arn:aws:iam::111122223333:root", APP, NEAR, ROLE, BOB, "AROAEXAMPLEEXAMPLEID1", "role/*",
  "arn:aws:sts::222222222222:assumed-role/near/s",
);
const principal = fc.oneof(
  fc.constantFrom("*", { Service: "pods.eks.amazonaws.com" }),
  fc.record({ AWS: fc.array(aws, { minLength: 1, maxLength: 3 }) }),
);
const effect = fc.constantFrom("Allow", "Allow", "Deny");
export const trustStatement: fc.Arbitrary<Fields> = fc.oneof(
  fc.record({ Effect: effect, Principal: principal, Action: action, Condition: condition }, {
    requiredKeys: ["Effect", "Principal", "Action"],
  }),
  fc.record({ Effect: effect, NotPrincipal: principal, Action: action }),
);
export const identityStatement: fc.Arbitrary<Fields> = fc.record({
  Effect: effect, Action: action, Condition: condition,
  Resource: fc.constantFrom(
    "*", ROLE, "arn:aws:iam::*:role/*", "arn:aws:s3:::*", "arn:aws:iam::222222222222:role/${aws:username}",
  ),
}, { requiredKeys: ["Effect", "Action", "Resource"] });
const identities = fc.array(identityStatement, { maxLength: 3 });
export const documents: fc.Arbitrary<Documents> = fc.record({
  trust: fc.array(trustStatement, { maxLength: 3 }), identity: identities, boundary: identities, session: identities,
}, { requiredKeys: ["trust"] });
