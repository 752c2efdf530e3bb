import { test } from "tap";
import { Intended } from "../../../shared/trust/intended.ts";
import { parsePolicy } from "../../../shared/trust/policy-document.ts";
import { adviceFor } from "../../../shared/trust/trust-advice.ts";
import { trustedBy } from "../../../shared/trust/trusted.ts";
import { document } from "./iam-export.ts";
import { allow, APP, type Fields, NEAR } from "./trust-cases.ts";

const OIDC = "arn:aws:iam::222222222222:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/X";
const SAML = "arn:aws:iam::222222222222:saml-provider/corp";
const SUB = "oidc.eks.eu-west-1.amazonaws.com/id/X:sub";
const AUD = "oidc.eks.eu-west-1.amazonaws.com/id/X:aud";

function advice(principal: unknown, condition: Fields = {}, action = "sts:AssumeRole"): string {
  const { policy } = parsePolicy(document(allow(principal, { Action: action, Condition: condition })), "trust");
  const [trusted] = policy === null ? [] : trustedBy(policy);
  const [statement] = trusted?.statements ?? [];
  if (trusted === undefined || statement === undefined) throw new Error("nobody is trusted");
  return adviceFor(trusted, statement);
}

const ADVICE: readonly (readonly [title: string, text: string, expected: RegExp])[] = [
  ["everyone", advice("*"), /^every AWS account can assume the role/],
  ["everyone under conditions", advice("*", { StringEquals: { "aws:PrincipalOrgID": "o-1" } }), /^only the conditions/],
  ["an account", advice({ AWS: "111122223333" }), /^everyone whom the account allows .* demand an sts:ExternalId/],
  ["an account with an ID", advice({ AWS: "111122223333" }, {
    StringEquals: { "sts:ExternalId": "x1" },
  }), /name a role of the account$/],
  ["a pattern", advice("*", {
    ArnLike: { "aws:PrincipalArn": "arn:aws:iam::111122223333:role/a*" },
  }), /^anyone who can create such a role/],
  ["a role", advice({ AWS: APP }), /^remove it from the policy, or pass it with --intended$/],
  ["a user", advice({ AWS: "arn:aws:iam::111122223333:user/u" }), /long-term keys/],
  ["a session", advice({ AWS: "arn:aws:sts::111122223333:assumed-role/a/s" }), /^remove it/],
  ["Pod Identity", advice({ Service: "pods.eks.amazonaws.com" }), /^any Pod that someone associates/],
  ["Pod Identity of a namespace", advice({ Service: "pods.eks.amazonaws.com" }, {
    StringEquals: { "aws:RequestTag/kubernetes-namespace": "ack-system" },
  }), /^remove it/],
  ["a service", advice({ Service: "codebuild.amazonaws.com" }), /^the service can act for other accounts; demand/],
  ["a service that sends no source", advice({ Service: "ec2.amazonaws.com" }), /^remove it from the policy, or pass/],
  ["a service for an account", advice({ Service: "codebuild.amazonaws.com" }, {
    StringEquals: { "aws:SourceAccount": "111122223333" },
  }), /^remove it/],
  ["an optional external ID", advice({ AWS: APP }, {
    StringEqualsIfExists: { "sts:ExternalId": "x1" },
  }), /^StringEqualsIfExists sts:ExternalId also allows calls without this key/],
  ["a negated external ID", advice({ AWS: APP }, { StringNotEquals: { "sts:ExternalId": "x1" } }), /also allows/],
  ["no external ID", advice({ AWS: APP }, { Null: { "sts:ExternalId": "true" } }), /also allows/],
  ["another optional key", advice({ AWS: APP }, { StringEqualsIfExists: { "aws:RequestTag/a": "x" } }), /^remove/],
  ["an unknown operator", advice({ AWS: APP }, { StringMagic: { "sts:ExternalId": "x1" } }), /^remove/],
];
for (const [title, text, expected] of ADVICE) test(`advises about ${title}`, async (t) => t.match(text, expected));

test("advises about identity providers by their conditions", async (t) => {
  const both = { StringEquals: { [SUB]: "x", [AUD]: "y" } };
  const every = advice({ Federated: "*" }, both, "sts:AssumeRoleWithWebIdentity");
  t.match(every, /^the users of every identity provider can assume the role; name the provider$/);
  const saml = (condition: Fields = {}): string => advice({ Federated: SAML }, condition, "sts:AssumeRoleWithSAML");
  t.match(saml(), /demand SAML:aud$/);
  t.match(saml({ StringEquals: { "SAML:aud": "https://signin.aws.amazon.com/saml" } }), /^remove/);
  const web = (condition: Fields = {}): string => (
    advice({ Federated: OIDC }, condition, "sts:AssumeRoleWithWebIdentity")
  );
  t.match(web(), /^every identity of the provider can assume the role/);
  t.match(web({ StringLike: { [SUB]: "system:serviceaccount:*:*" } }), /whose sub matches "system:service.*:\*"/);
  t.match(web({ ArnLike: { [SUB]: "system:*" } }), /whose sub matches/);
  t.match(web({ StringEquals: { [SUB]: "system:serviceaccount:*:*" } }), /^StringEquals reads .* as text/);
  t.match(web({ StringEquals: { [SUB]: "system:serviceaccount:a:b" } }), /^demand the key aud too/);
  t.match(web({ StringEquals: { [SUB]: "system:serviceaccount:a:b", [AUD]: "sts.amazonaws.com" } }), /^remove/);
  t.match(web({ StringEqualsIfExists: { [SUB]: "a" } }), /^StringEqualsIfExists .*:sub also allows/);
});

test("NotPrincipal with Allow is not supported", async (t) => {
  const statement = { Effect: "Allow", NotPrincipal: { AWS: APP }, Action: "sts:AssumeRole" };
  const { policy } = parsePolicy(document(statement), "trust");
  const [trusted] = policy === null ? [] : trustedBy(policy);
  const [first] = trusted?.statements ?? [];
  const text = trusted !== undefined && first !== undefined && adviceFor(trusted, first);
  t.match(text, /^IAM does not support NotPrincipal/);
});

test("a session of an intended role, and everything in an intended account, is intended", async (t) => {
  const has = (intended: readonly string[], principal: unknown, action = "sts:AssumeRole"): boolean[] => {
    const { policy } = parsePolicy(document(allow(principal, { Action: action })), "trust");
    return (policy === null ? [] : trustedBy(policy)).map((one) => new Intended(intended).has(one));
  };
  const session = "arn:aws:sts::222222222222:assumed-role/near/s";
  t.same(has([NEAR], { AWS: [NEAR, session, "222222222222"] }), [false, true, true], "the account is wider");
  t.same(has([session], { AWS: [NEAR, session] }), [false, true]);
  t.same(has(["222222222222"], { AWS: [NEAR, session, "222222222222", APP] }), [true, false, true, true]);
  t.same(has(["arn:aws:iam::222222222222:root"], { AWS: NEAR }), [true]);
  t.same(has(["222222222222"], { Federated: OIDC }, "sts:AssumeRoleWithWebIdentity"), [false]);
  t.same(has([OIDC], { Federated: OIDC }, "sts:AssumeRoleWithWebIdentity"), [true]);
  t.same(has(["accounts.google.com"], { Federated: "accounts.google.com" }, "sts:AssumeRoleWithWebIdentity"), [true]);
  t.same(has(["pods.eks.amazonaws.com"], { Service: ["pods.eks.amazonaws.com", "ec2.amazonaws.com"] }), [false, true]);
  const pattern = "arn:aws:iam::1:role/a*";
  t.ok(new Intended([pattern]).has({ kind: "pattern", name: pattern, accountID: null }));
  t.same(has(["Federated *"], { Federated: ["*", OIDC] }, "sts:AssumeRoleWithWebIdentity"), [true, false]);
  for (const text of ["near", "12345", "arn:aws:s3:::b", "*"]) {
    t.throws(() => new Intended([text]), { message: /is not an ARN, an account of 12 digits, or the name/ });
  }
});
