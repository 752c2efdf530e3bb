import { test } from "tap";
import { type Decision, decideAssumeRole } from "../../../shared/trust/assume-role.ts";
import { parsePolicy } from "../../../shared/trust/policy-document.ts";
import type { AssumeRoleCall, Caller } from "../../../shared/trust/assume-role-call.ts";
import {
  allow, APP, decide, type Documents, type Fields, grant, NEAR, policiesOf, requestOf, ROLE, sessionOf, userOf,
} from "./trust-cases.ts";

const BOB = "arn:aws:iam::222222222222:user/bob";
const DENY = { Effect: "Deny", Action: "*", Resource: "*" };
const OTHER = grant({ Action: "s3:*" });

/** Returns `VERDICT REASON`. */
function summary(decision: Decision): string {
  const deciding = decision.actions.find((one) => one.verdict === decision.verdict);
  return `${decision.verdict} ${deciding?.reason.kind}`;
}

function verdict(caller: Caller, documents: Documents, call: Partial<AssumeRoleCall> = {}): string {
  return summary(decide(requestOf(caller, call), documents));
}

test("needs both sides across accounts", async (t) => {
  const app = sessionOf(APP);
  const trust = [allow({ AWS: APP })];
  t.equal(verdict(app, { trust, identity: [grant({ Resource: "arn:aws:iam::222222222222:role/*" })] }), "yes allowed");
  t.equal(verdict(app, { trust }), "no not allowed");
  t.equal(verdict(app, { trust: [allow("*")] }), "no not allowed");
  t.equal(verdict(app, { trust: [allow({ AWS: "333333333333" })], identity: [grant()] }), "no not trusted");
  t.equal(verdict(app, { trust, identity: [{ Effect: "Allow", Action: "*", NotResource: ROLE }] }), "no not allowed");
  t.equal(verdict(app, { trust, identity: null }), "unknown missing");
  t.equal(verdict(app, { trust: [], identity: null }), "no not trusted");
  t.equal(verdict(app, { trust: null, identity: [] }), "no not allowed");
  t.equal(verdict(app, { trust: null, identity: [grant()] }), "unknown missing");
});

test("needs only the trust policy in one account, unless it names the account", async (t) => {
  const near = sessionOf(NEAR);
  t.equal(verdict(near, { trust: [allow({ AWS: NEAR })] }), "yes allowed");
  t.equal(verdict(near, { trust: [allow("*")] }), "yes allowed");
  for (const account of ["222222222222", "arn:aws:iam::222222222222:root"]) {
    t.equal(verdict(near, { trust: [allow({ AWS: account })] }), "no not allowed");
    t.equal(verdict(near, { trust: [allow({ AWS: account })], identity: [grant()] }), "yes allowed");
  }
  const china = [allow({ AWS: "arn:aws-cn:iam::222222222222:root" })];
  t.equal(verdict(near, { trust: china, identity: [grant()] }), "no not trusted");
  t.equal(verdict(near, { trust: null, identity: [] }), "unknown missing");
  t.equal(verdict(userOf(BOB), { trust: [allow({ AWS: BOB })] }), "yes allowed");
  t.equal(verdict(userOf(BOB), { trust: [allow({ AWS: NEAR })] }), "no not trusted");
  t.equal(verdict(near, { trust: [allow({ AWS: BOB })] }), "no not trusted");
});

test("compares resources with variables", async (t) => {
  const bob = userOf(BOB);
  const trust = [allow({ AWS: "222222222222" })];
  const onResource = (resource: Fields, caller: Caller = bob): string => (
    verdict(caller, { trust, identity: [{ Effect: "Allow", Action: "sts:*", ...resource }] })
  );
  t.equal(onResource({ Resource: "arn:aws:iam::222222222222:role/${aws:ResourceTag/n, 'target'}" }), "yes allowed");
  t.equal(onResource({ Resource: "arn:aws:iam::222222222222:role/${aws:username}" }), "no not allowed");
  t.equal(onResource({ Resource: "arn:aws:iam::222222222222:role/${aws:PrincipalOrgID}" }), "unknown missing");
  t.equal(onResource({ Resource: "arn:aws:iam::${aws:PrincipalAccount}:role/target" }), "no not allowed");
  const named = "arn:aws:iam::222222222222:role/${aws:username}";
  t.equal(onResource({ NotResource: named }), "yes allowed");
  t.equal(onResource({ Resource: named }, sessionOf(NEAR)), "no not allowed");
  t.equal(onResource({ NotResource: named }, sessionOf(NEAR)), "unknown missing");
});

test("a deny of any side wins", async (t) => {
  const near = sessionOf(NEAR);
  const trust = [allow({ AWS: NEAR })];
  for (const documents of [
    { trust: [...trust, { ...allow("*"), Effect: "Deny" }] }, { trust, identity: [DENY] },
    { trust, boundary: [grant(), DENY] }, { trust, session: [grant(), DENY] },
  ]) t.equal(verdict(near, documents), "no denied");
  t.equal(verdict(near, { trust, identity: null }), "unknown missing", "a missing document may deny");
  const onDate = { ...DENY, Condition: { StringEquals: { "aws:PrincipalOrgID": "o-1" } } };
  t.same(decide(requestOf(near), { trust, identity: [onDate] }).missing, ["aws:PrincipalOrgID"]);
  t.equal(verdict(near, { trust, identity: [{ ...DENY, Action: "sts:TagSession" }] }), "yes allowed");
});

test("a boundary or session policy without an allow limits by how the trust policy names the caller", async (t) => {
  const session = sessionOf(NEAR, { sessionName: "s" });
  const byARN = { Condition: { ArnEquals: { "aws:PrincipalArn": NEAR } } };
  const cases: readonly (readonly [Fields, string])[] = [
    [allow({ AWS: NEAR }), "no not allowed"],
    [allow({ AWS: "arn:aws:sts::222222222222:assumed-role/near/s" }), "yes allowed"],
    [allow("*", byARN), "yes allowed"],
    [allow("*", { Condition: { ArnLike: { "aws:PrincipalArn": "arn:aws:iam::222222222222:role/*" } } }), "yes allowed"],
    [allow("*"), "unknown missing"],
  ];
  for (const [statement, expected] of cases) {
    t.equal(verdict(session, { trust: [statement], boundary: [OTHER] }), expected, JSON.stringify(statement));
    t.equal(verdict(session, { trust: [statement], session: [OTHER] }), expected);
    t.equal(verdict(session, { trust: [statement], boundary: [grant()], session: [grant()] }), "yes allowed");
  }
  t.equal(verdict(userOf(BOB), { trust: [allow({ AWS: BOB })], boundary: [OTHER] }), "unknown missing");
  t.equal(verdict(userOf(BOB), { trust: [allow({ AWS: BOB })], boundary: [grant()] }), "yes allowed");
  const bobByARN = { Condition: { ArnEquals: { "aws:PrincipalArn": BOB } } };
  t.equal(verdict(userOf(BOB), { trust: [allow("*", bobByARN)], boundary: [OTHER] }), "unknown missing");
  t.equal(
    verdict(sessionOf(APP), { trust: [allow({ AWS: APP })], identity: [grant()], boundary: [OTHER] }), "no not allowed",
  );
});

test("tags need sts:TagSession on each side, also if the caller's session passes them on", async (t) => {
  const app = sessionOf(APP);
  const tags = new Map([["team", "a"]]);
  const trust = [allow({ AWS: APP })];
  const tagging = allow({ AWS: APP }, { Action: ["sts:AssumeRole", "sts:TagSession"] });
  t.equal(verdict(app, { trust, identity: [grant()] }, { tags }), "no not trusted");
  t.equal(verdict(app, { trust: [tagging], identity: [grant()] }, { tags }), "yes allowed");
  t.equal(
    verdict(app, { trust: [tagging], identity: [grant({ Action: "sts:AssumeRole" })] }, { tags }), "no not allowed",
  );
  t.equal(verdict(sessionOf(APP, { transitiveTags: tags }), { trust, identity: [grant()] }), "no not trusted");
  t.equal(
    verdict(app, { trust, identity: [grant(), { ...DENY, Action: "sts:TagSession" }] }), "yes allowed", "no tags",
  );
});

test("a source identity needs its action on both sides in role chaining", async (t) => {
  const call = { sourceIdentity: "alice" };
  const actions = { Action: ["sts:AssumeRole", "sts:SetSourceIdentity"] };
  const trust = [allow({ AWS: [NEAR, BOB] }, actions)];
  t.equal(verdict(sessionOf(NEAR), { trust, identity: [grant()] }, call), "yes allowed");
  t.equal(verdict(sessionOf(NEAR), { trust }, call), "unknown missing");
  t.equal(verdict(userOf(BOB), { trust }, call), "yes allowed");
  t.equal(verdict(sessionOf(NEAR, { sourceIdentity: "alice" }), { trust: [allow({ AWS: NEAR })] }), "no not trusted");
});

test("an external ID is certain only for sts:AssumeRole", async (t) => {
  const externalID = { Condition: { StringEquals: { "sts:ExternalId": "x1" } } };
  const both = allow({ AWS: NEAR }, { Action: ["sts:AssumeRole", "sts:TagSession"], ...externalID });
  const near = sessionOf(NEAR);
  const tags = new Map([["team", "a"]]);
  t.equal(verdict(near, { trust: [both] }, { externalID: "x1" }), "yes allowed");
  t.equal(verdict(near, { trust: [both] }, { externalID: "x2" }), "no condition");
  t.equal(verdict(near, { trust: [both] }), "no condition");
  t.equal(verdict(near, { trust: [both] }, { externalID: "x1", tags }), "unknown missing");
  const apart = [allow({ AWS: NEAR }, externalID), allow({ AWS: NEAR }, { Action: "sts:TagSession" })];
  t.equal(verdict(near, { trust: apart }, { externalID: "x1", tags }), "yes allowed");
});

test("a role that assumes itself, or whose path is unknown, must be named", async (t) => {
  const self = sessionOf(ROLE);
  t.equal(verdict(self, { trust: [allow({ AWS: NEAR })], identity: [grant()] }), "no not trusted");
  t.equal(verdict(self, { trust: [allow({ AWS: ROLE })] }), "yes allowed");
  const trust = [allow({ AWS: APP })];
  const session = sessionOf(APP, { roleARN: null, sessionName: "s" });
  t.same(decide(requestOf(session), { trust, identity: [grant()] }).missing, ["path of the role app"]);
  t.equal(verdict(session, { trust: [allow({ AWS: `${APP}2` })], identity: [grant()] }), "no not trusted");
  for (const [value, expected] of [
    [`${APP}2`, "no condition"], ["arn:aws:iam::111122223333:user/*", "no condition"],
    ["arn:aws:iam::999999999999:role/*", "no condition"], ["arn:aws:iam::111122223333:role/*", "yes allowed"],
    ["arn:aws:iam::111122223333:role/x/*", "unknown missing"], [APP, "unknown missing"],
  ] as const) {
    const byARN = allow("*", { Condition: { ArnLike: { "aws:PrincipalArn": value } } });
    t.equal(verdict(session, { trust: [byARN], identity: [grant()] }), expected, value);
  }
  t.equal(verdict(sessionOf("arn:aws:iam::111122223333:role/app"), { trust, identity: [grant()] }), "no not trusted");
});

test("a session principal matches one session", async (t) => {
  const trust = [allow({ AWS: "arn:aws:sts::222222222222:assumed-role/near/s" })];
  t.equal(verdict(sessionOf(NEAR, { sessionName: "s" }), { trust }), "yes allowed");
  t.equal(verdict(sessionOf(NEAR, { sessionName: "t" }), { trust }), "no not trusted");
  t.same(decide(requestOf(sessionOf(NEAR)), { trust }).missing, ["session name of the caller"]);
  t.equal(verdict(userOf(BOB), { trust }), "no not trusted");
  t.equal(verdict(sessionOf(ROLE), { trust }), "no not trusted");
});

test("a unique ID and a provider are nobody, and an invalid principal may be anyone in a Deny", async (t) => {
  const near = sessionOf(NEAR);
  const named = allow({ AWS: NEAR });
  const cases: readonly (readonly [unknown, string])[] = [
    [{ AWS: "AROAEXAMPLEEXAMPLEID9" }, "no not trusted"], [{ AWS: "arn:aws:iam::222222222222:role/*" },
    "no not trusted"],
    [{ Federated: "accounts.google.com" }, "no not trusted"], [{ AWS: "AROAEXAMPLEEXAMPLEID1" }, "no not trusted"],
    [{ Service: "ec2.amazonaws.com" }, "no not trusted"],
  ];
  for (const [principal, expected] of cases) t.equal(verdict(near, { trust: [allow(principal)] }), expected);
  const denied = (principal: unknown): string => (
    verdict(near, { trust: [named, { ...allow(principal), Effect: "Deny" }] })
  );
  t.same(cases.map(([principal]) => denied(principal)), [
    "yes allowed", "yes allowed", "yes allowed", "yes allowed", "yes allowed",
  ]);
  t.equal(denied({ AWS: "role/near" }), "unknown missing", "IAM does not store it");
});

test("NotPrincipal denies everyone but a listed role with its account", async (t) => {
  const near = sessionOf(NEAR);
  const except = (listed: unknown, fields: Partial<Documents> = {}): string => {
    const deny = { Effect: "Deny", NotPrincipal: listed, Action: "*" };
    return verdict(near, { trust: [allow({ AWS: NEAR }), deny], ...fields });
  };
  t.equal(except({ AWS: [NEAR, "222222222222"] }), "yes allowed");
  t.equal(except({ AWS: NEAR }), "unknown missing");
  t.equal(except({ AWS: "222222222222" }), "unknown missing");
  t.equal(except({ AWS: APP }), "no denied");
  const session = "arn:aws:sts::222222222222:assumed-role/near/s";
  t.equal(except({ AWS: [session, "222222222222"] }), "unknown missing", "perhaps the role is denied");
  t.equal(except("*"), "yes allowed");
  t.equal(except({ AWS: "role/near" }), "unknown missing", "IAM does not store it");
  t.equal(except({ AWS: "arn:aws:iam::222222222222:role/*" }), "no denied", "a pattern is nobody");
  t.equal(except({ AWS: [NEAR, "222222222222"] }, { boundary: [grant()] }), "no denied", "a boundary");
  t.equal(except({ AWS: [NEAR, "222222222222"] }, { boundary: null }), "unknown missing", "perhaps a boundary");
  const allowed = (listed: unknown): string => (
    verdict(near, { trust: [{ Effect: "Allow", NotPrincipal: listed, Action: "*" }] })
  );
  t.same([allowed({ AWS: APP }), allowed({ AWS: [NEAR, "222222222222"] })], ["unknown missing", "no not trusted"]);
});

test("a service needs only the trust policy", async (t) => {
  const pods: Caller = { kind: "service", name: "pods.eks.amazonaws.com" };
  const condition = (key: string): Fields => ({ Condition: { StringEquals: { [key]: "x" } } });
  const trust = (fields: Fields = {}): Documents => ({ trust: [allow({ Service: "pods.eks.amazonaws.com" }, fields)] });
  t.equal(verdict(pods, trust()), "yes allowed");
  t.equal(verdict(pods, trust(condition("aws:SourceAccount"))), "unknown missing");
  t.equal(verdict(pods, trust(condition("aws:PrincipalArn"))), "no condition");
  t.equal(verdict(pods, trust(condition("aws:PrincipalTag/x"))), "no condition");
  t.equal(verdict(pods, { trust: [allow({ Service: "ec2.amazonaws.com" })] }), "no not trusted");
  t.equal(verdict(pods, { trust: [allow("*")] }), "unknown missing");
  const deny = (listed: unknown): Fields => ({ Effect: "Deny", NotPrincipal: listed, Action: "*" });
  t.equal(
    verdict(pods, { trust: [...trust().trust ?? [], deny({ Service: "pods.eks.amazonaws.com" })] }), "yes allowed",
  );
  t.equal(verdict(pods, { trust: [...trust().trust ?? [], deny({ AWS: APP })] }), "unknown missing");
  t.equal(
    verdict(pods, { trust: [...trust().trust ?? [], { ...allow({ AWS: APP }), Effect: "Deny" }] }), "yes allowed",
  );
});

test("names the deciding statements", async (t) => {
  const trust = [{ ...allow({ AWS: APP }), Sid: "Apps" }, allow({ AWS: NEAR })];
  const { actions: [first] } = decide(requestOf(sessionOf(APP)), { trust, identity: [OTHER, grant()] });
  const named = (first?.statements ?? []).map(({ source, statement }) => (
    `${source.side} ${statement.sid ?? statement.index}`
  ));
  t.same(named, ["trust Apps", "identity 2"]);
  const invalid = decide(requestOf(sessionOf(APP)), { trust, identity: [{ Effect: "Allow" }] });
  const cut = { side: "identity", name: "inline", parsed: parsePolicy("{", "identity") } as const;
  const broken = decideAssumeRole(requestOf(sessionOf(APP)), { ...policiesOf({ trust }), identity: [cut] });
  t.match(broken.missing, [/^valid identity policy inline \(the policy is not JSON or URL-encoded JSON/]);
  t.match(invalid.missing, [/^valid identity policy identity \(Statement\[0\]: the statement does not have one of/]);
});
