import { test } from "tap";
import { parsePolicy } from "../../../shared/trust/policy-document.ts";
import { trustedBy } from "../../../shared/trust/trusted.ts";
import { document } from "./iam-export.ts";
import { allow, APP, decide, type Fields, NEAR, requestOf, ROLE, sessionOf } from "./trust-cases.ts";

const BOB = "arn:aws:iam::222222222222:user/bob";
const SESSION = "arn:aws:sts::222222222222:assumed-role/near/s";
const OIDC = "arn:aws:iam::222222222222:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/X";
const SAML = "arn:aws:iam::222222222222:saml-provider/corp";

/** Returns whom a policy lets in. */
function names(...statements: readonly Fields[]): string[] {
  const { policy } = parsePolicy(JSON.stringify(document(...statements)), "trust");
  return (policy === null ? [] : trustedBy(policy)).map(({ name }) => name);
}

function deny(principal: unknown, fields: Fields = {}): Fields {
  return { ...allow(principal, fields), Effect: "Deny" };
}

function when(operator: string, key: string, ...values: readonly string[]): Fields {
  return { Condition: { [operator]: { [key]: values } } };
}

const ACCOUNT_ROOT = "arn:aws:iam::222222222222:root";

test("lists each principal once, sorted, and accounts as 12 digits", async (t) => {
  t.same(
    names(
      allow({ AWS: [NEAR, ACCOUNT_ROOT, "222222222222", BOB, SESSION], Service: "pods.eks.amazonaws.com" }),
      allow({ AWS: NEAR, Federated: [OIDC, SAML] }, { Action: "sts:*" }), allow("*", { Action: "sts:TagSession" }),
    ),
    ["222222222222", OIDC, NEAR, SAML, BOB, SESSION, "pods.eks.amazonaws.com"].toSorted(),
  );
});

test("a stale unique ID, an ARN with a wildcard and a federated user are nobody", async (t) => {
  const federated = "arn:aws:sts::222222222222:federated-user/x";
  const aws = ["AROAEXAMPLEEXAMPLEID1", "arn:aws:iam::222222222222:role/*", federated];
  t.same(names(allow({ AWS: aws, CanonicalUser: "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8" })), []);
});

test("each kind of principal needs its own action", async (t) => {
  const all = { AWS: [NEAR], Service: "ec2.amazonaws.com", Federated: [OIDC, SAML, "accounts.google.com"] };
  t.same(names(allow(all)), [NEAR, "ec2.amazonaws.com"]);
  t.same(names(allow(all, { Action: "sts:AssumeRoleWithSAML" })), [SAML]);
  t.same(names(allow(all, { Action: "sts:AssumeRoleWithWebIdentity" })), ["accounts.google.com", OIDC]);
  t.same(names(allow("*", { Action: "sts:AssumeRoleWithWebIdentity" })), ["*"]);
  t.same(names(allow(all, { Action: undefined, NotAction: "sts:AssumeRole" })).length, 3);
});

test("Federated * is every identity provider, and nobody who calls AssumeRole", async (t) => {
  const everyone = { Federated: "*" };
  for (const action of ["sts:AssumeRoleWithSAML", "sts:AssumeRoleWithWebIdentity", "sts:*"]) {
    t.same(names(allow(everyone, { Action: action })), ["Federated *"], action);
  }
  t.same(names(allow(everyone)), []);
  t.same(names(allow({ Federated: ["*", OIDC], AWS: "*" }, { Action: "sts:*" })), ["*", "Federated *", OIDC]);
  t.same(names(allow({ Federated: "accounts.*.com" }, { Action: "sts:*" })), []);
  t.same(names(allow(everyone, { Action: "sts:*" }), deny("*")), ["Federated *"]);
  t.same(names(allow(everyone, { Action: "sts:*" }), deny(everyone, { Action: "sts:*" })), []);
  t.equal(decide(requestOf(sessionOf(NEAR)), { trust: [allow(everyone, { Action: "sts:*" })] }).verdict, "no");
});

test("a condition on the ARN or the account of the caller replaces *", async (t) => {
  const of = (...args: Parameters<typeof when>): string[] => names(allow("*", when(...args)));
  t.same(of("ArnEquals", "aws:PrincipalArn", NEAR, BOB, SESSION, ACCOUNT_ROOT), [NEAR, BOB]);
  t.same(of("StringEquals", "AWS:principalarn", NEAR), [NEAR]);
  t.same(of("StringEquals", "aws:PrincipalArn", "arn:aws:iam::222222222222:role/*"), []);
  const pattern = "arn:aws:iam::222222222222:role/ack-*";
  t.same(of("ArnLike", "aws:PrincipalArn", pattern), [pattern]);
  t.same(of("ArnLike", "aws:PrincipalArn", "arn:aws:iam::222222222222:*"), ["222222222222"]);
  t.same(of("ArnLike", "aws:PrincipalArn", "arn:aws:iam::*:*"), ["*"]);
  t.same(of("StringLike", "aws:PrincipalArn", "*"), ["*"]);
  t.same(of("StringLike", "aws:PrincipalArn", "*role/ack"), ["*role/ack"]);
  t.same(of("StringLike", "aws:PrincipalArn", "arn:aws:sts::222222222222:assumed-role/*"), [], "the key is no session");
  t.same(of("StringEquals", "aws:PrincipalAccount", "222222222222"), ["222222222222"]);
  t.same(of("StringLike", "aws:PrincipalAccount", "2222*"), ["*"]);
  for (const text of ["*", "abc"]) t.same(of("StringEquals", "aws:PrincipalAccount", text), [], "no account");
});

test("a condition that is also true for others does not narrow", async (t) => {
  const of = (...args: Parameters<typeof when>): string[] => names(allow("*", when(...args)));
  t.same(of("ArnEqualsIfExists", "aws:PrincipalArn", NEAR), ["*"]);
  t.same(of("ForAllValues:StringEquals", "aws:PrincipalArn", NEAR), ["*"]);
  t.same(of("ArnNotEquals", "aws:PrincipalArn", NEAR), ["*"]);
  t.same(of("StringEquals", "aws:PrincipalOrgID", "o-1"), ["*"]);
  t.same(of("Null", "aws:PrincipalArn", "false"), ["*"]);
  t.same(of("StringMagic", "aws:PrincipalArn", NEAR), ["*"]);
  t.same(of("ArnEquals", "aws:PrincipalArn", "arn:aws:iam::${aws:ResourceAccount}:role/ack"), ["*"]);
});

test("a condition without case does not drop a caller whose ARN it writes in another case", async (t) => {
  const of = (value: string): string[] => names(allow("*", when("StringEqualsIgnoreCase", "aws:PrincipalArn", value)));
  t.same(of(NEAR.toUpperCase()), ["*"]);
  t.same(of(NEAR), [NEAR]);
});

test("values that leave the same principal do not multiply", async (t) => {
  const operators = ["ArnLike", "ArnEquals", "StringLike", "ForAnyValue:ArnLike", "ForAnyValue:StringLike"];
  const values = { "aws:PrincipalArn": Array.from({ length: 40 }, () => "*") };
  t.same(names(allow("*", { Condition: Object.fromEntries(operators.map((one) => [one, values])) })), ["*"]);
});

test("narrows an account, and drops principals that a condition excludes", async (t) => {
  const of = (principal: unknown, fields: Fields): string[] => names(allow(principal, fields));
  const account = { AWS: "222222222222" };
  t.same(of(account, when("ArnEquals", "aws:PrincipalArn", NEAR, APP, BOB)), [NEAR, BOB].filter((one) => (
    one.includes(":222222222222:")
  )));
  t.same(of(account, when("ArnLike", "aws:PrincipalArn", "arn:aws:iam::*:role/a*")), [
    "arn:aws:iam::222222222222:role/a*",
  ]);
  t.same(of(account, when("ArnLike", "aws:PrincipalArn", "arn:aws:iam::*:role/near")), [
    "arn:aws:iam::222222222222:role/near",
  ]);
  t.same(of(account, when("ArnLike", "aws:PrincipalArn", "arn:aws:iam::3*:role/a")), []);
  t.same(of(account, when("StringLike", "aws:PrincipalArn", "*role/ack")), ["222222222222"]);
  t.same(of(account, when("StringEquals", "aws:PrincipalAccount", "333333333333")), []);
  t.same(of(account, when("StringLike", "aws:PrincipalAccount", "2*")), ["222222222222"]);
  const both = { Condition: { ArnLike: { "aws:PrincipalArn": [NEAR, APP, "arn:aws:iam::*:role/x*"] }, StringEquals: {
    "aws:PrincipalAccount": "222222222222",
  } } };
  t.same(of("*", both), ["arn:aws:iam::*:role/x*", ...[NEAR, APP].filter((one) => one.includes("222222222222"))]);
  const twice = { Condition: { ArnLike: { "aws:PrincipalArn": "arn:aws:iam::222222222222:role/n*" }, ArnEquals: {
    "aws:PrincipalArn": [NEAR, BOB],
  } } };
  t.same(of("*", twice), [NEAR]);
  t.same(of({ AWS: [NEAR, BOB, SESSION] }, when("StringEquals", "aws:PrincipalArn", BOB)), [BOB]);
  t.same(of({ AWS: [NEAR, SESSION] }, when("StringEquals", "aws:PrincipalAccount", "1")), []);
  t.same(of({ Service: "ec2.amazonaws.com" }, when("ArnEquals", "aws:PrincipalArn", BOB)), []);
  const web = { Action: "sts:AssumeRoleWithWebIdentity", ...when("ArnEquals", "aws:PrincipalArn", BOB) };
  t.same(of({ Federated: OIDC }, web), [OIDC]);
  t.same(of({ AWS: NEAR }, when("ArnEquals", "aws:PrincipalArn", "${aws:username}")), [NEAR], "the value is not known");
});

test("a deny without a condition removes those for whom it certainly applies", async (t) => {
  const everyone = allow({ AWS: [NEAR, BOB, SESSION, "333333333333"], Service: "ec2.amazonaws.com" });
  const left = (...denies: readonly Fields[]): string[] => names(everyone, ...denies);
  t.same(left(deny({ AWS: "222222222222" })), ["333333333333", "ec2.amazonaws.com"]);
  t.same(left(deny({ AWS: NEAR })), ["333333333333", BOB, "ec2.amazonaws.com"]);
  t.same(left(deny({ AWS: SESSION, Service: "ec2.amazonaws.com" })), ["333333333333", NEAR, BOB]);
  t.same(left(deny("*")), ["ec2.amazonaws.com"], "* may not contain services");
  t.same(left(deny({ AWS: "*", Service: "ec2.amazonaws.com" })), []);
  t.same(left(deny({ AWS: "arn:aws:iam::333333333333:role/x" })).length, 5, "the account is wider");
  t.same(left(deny("*", when("StringNotEquals", "aws:PrincipalAccount", "1"))).length, 5);
  t.same(left(deny("*", { Action: "sts:AssumeRoleWithSAML" })).length, 5);
  const except = (aws: string): Fields => ({ Effect: "Deny", NotPrincipal: { AWS: aws }, Action: "sts:*" });
  t.same(left(except(NEAR)), [NEAR, SESSION, "ec2.amazonaws.com"]);
  t.same(left(except("AROAEXAMPLEEXAMPLEID1")), ["ec2.amazonaws.com"]);
  t.equal(left(except("role/near")).length, 5, "IAM does not store it");
  t.same(left(except("arn:aws:iam::222222222222:role/*")), ["ec2.amazonaws.com"], "a pattern is nobody");
});

test("a deny for everyone keeps an identity provider, unless it names the provider", async (t) => {
  const fields = { Action: "sts:AssumeRoleWithWebIdentity" };
  const left = (one: Fields): string[] => names(allow({ Federated: OIDC }, fields), { ...one, ...fields });
  t.same(left(deny("*")), [OIDC]);
  t.same(left({ ...deny("*"), Principal: undefined, NotPrincipal: { AWS: NEAR } }), [OIDC]);
  t.same(left(deny({ Federated: OIDC })), []);
});

test("trust check allows nobody whom trust who removes", async (t) => {
  const service = "ec2.amazonaws.com";
  const callers = { [NEAR]: sessionOf(NEAR), [service]: { kind: "service", name: service } } as const;
  const lists = [
    "*", { AWS: "*" }, { AWS: NEAR }, { AWS: "222222222222" }, { AWS: APP }, { AWS: "role/near" }, { AWS: [NEAR, "*"] },
    { Service: "ec2.amazonaws.com" }, { AWS: "arn:aws:iam::222222222222:role/*" }, { Federated: OIDC },
    { AWS: [NEAR, "222222222222"] }, { AWS: "AROAEXAMPLEEXAMPLEID2" },
  ];
  const trust = allow({ AWS: NEAR, Service: "ec2.amazonaws.com" });
  for (const list of lists) {
    for (const name of ["Principal", "NotPrincipal"]) {
      const statements = [trust, { Effect: "Deny", Action: "sts:*", [name]: list }];
      const left = new Set(names(...statements));
      for (const [caller, session] of Object.entries(callers)) {
        const { verdict } = decide(requestOf(session), { trust: statements });
        t.equal(left.has(caller), verdict !== "no", `${caller}: ${verdict} for ${name} ${JSON.stringify(list)}`);
      }
    }
  }
});

test("NotPrincipal of a deny keeps a wider principal that contains a listed one", async (t) => {
  const pattern = { Condition: { ArnLike: { "aws:PrincipalArn": "arn:aws:iam::222222222222:role/n*" } } };
  const listed = { Effect: "Deny", NotPrincipal: { AWS: "arn:aws:iam::222222222222:role/near" }, Action: "sts:*" };
  t.same(names(allow("*", pattern), listed), ["arn:aws:iam::222222222222:role/n*"]);
  t.same(names(allow({ AWS: "222222222222" }), listed), ["222222222222"]);
  t.same(names(allow("*"), listed), ["*"]);
  t.same(names({ Effect: "Allow", NotPrincipal: { AWS: ROLE }, Action: "sts:AssumeRole" }), ["*"]);
});

test("knows which principals need a permission of their account", async (t) => {
  const account = { AWS: "222222222222" };
  const isDelegated = (...statements: readonly Fields[]): boolean[] => (
    trustedBy(parsePolicy(document(...statements), "trust").policy ?? { statements: [] }).map((one) => one.isDelegated)
  );
  const limited = when("ArnEquals", "aws:PrincipalArn", "arn:aws:iam::222222222222:role/near");
  t.same(isDelegated(allow(account, limited)), [true]);
  t.same(isDelegated(allow(account, limited), allow({ AWS: "arn:aws:iam::222222222222:role/near" })), [false]);
  t.same(isDelegated(allow({ AWS: "arn:aws:iam::222222222222:role/near" }), allow(account, limited)), [false]);
});
