import { test } from "tap";
import { answer } from "../../../shared/trust/trust-question.ts";
import type { Answer } from "../../../shared/trust/three-values.ts";
import { dataOf, document, exportOf, roleDetail } from "./iam-export.ts";
import { allow, APP, type Fields, grant, NEAR, ROLE } from "./trust-cases.ts";

const BOB = "arn:aws:iam::222222222222:user/team/bob";
const FAR_BOB = "arn:aws:iam::111122223333:user/bob";
const HOME = "222222222222";
const NEAR_SESSION = "arn:aws:sts::222222222222:assumed-role/near/s1";
const BOTH = ["sts:AssumeRole", "sts:TagSession", "sts:SetSourceIdentity"];
const OTHER = { Effect: "Allow", Action: "s3:*", Resource: "*" };
const DENY = { Effect: "Deny", Action: "*", Resource: "*" };
const BOUNDARY = "arn:aws:iam::222222222222:policy/boundary";

/** What an account says about the caller, and what the call sends. */
interface Case {
  /** Statements of the trust policy. */
  readonly trust: readonly Fields[];
  /** Statements of the inline policy of the caller; none by default. */
  readonly identity?: readonly Fields[];
  /** Statements of its boundary; "missing" if the export lacks the document. */
  readonly boundary?: readonly Fields[] | "missing";
  readonly call?: Fields;
  readonly role?: string;
  readonly groups?: readonly Fields[];
}

function verdict(caller: string, { trust, identity = [], boundary, call, role = ROLE, groups = [] }: Case): Answer {
  const inline = [{ PolicyName: "inline", PolicyDocument: document(...identity) }];
  const limit = boundary === undefined ? {} : {
    PermissionsBoundary: { PermissionsBoundaryType: "Policy", PermissionsBoundaryArn: BOUNDARY },
  };
  const version = (statements: readonly Fields[]): Fields => ({
    Document: encodeURIComponent(JSON.stringify(document(...statements))), VersionId: "v2", IsDefaultVersion: true,
  });
  const policy = boundary === undefined || boundary === "missing" ? [] : [{
    Arn: BOUNDARY, DefaultVersionId: "v2",
    PolicyVersionList: [{ Document: document(), VersionId: "v1", IsDefaultVersion: false }, version(boundary)],
  }];
  const user = (arn: string): Fields => ({
    Arn: arn, UserId: "AIDAEXAMPLEEXAMPLEID1", UserPolicyList: inline, GroupList: groups.map(() => "devs"), ...limit,
  });
  const holder = { RolePolicyList: inline, ...limit };
  const data = dataOf(exportOf({
    RoleDetailList: [
      roleDetail(ROLE, JSON.stringify(document(...trust)), holder), roleDetail(NEAR, document(), holder),
    ],
    UserDetailList: [user(BOB)], Policies: policy,
    GroupDetailList: groups.map((one) => ({
      Arn: "arn:aws:iam::222222222222:group/x/devs", GroupPolicyList: [{ PolicyName: "g", PolicyDocument: one }],
    })),
  }), exportOf({
    RoleDetailList: [roleDetail(APP, document(), holder)], UserDetailList: [user(FAR_BOB)], Policies: policy,
  }));
  const parameters = {
    externalID: null, sourceIdentity: null, sessionName: null, durationSeconds: null, tags: new Map(),
    transitiveTagKeys: [], ...call,
  };
  return answer({ principalARN: caller, roleARN: role, parameters }, data, 1_795_000_000).verdict;
}

type Row = readonly [expected: Answer, caller: string, found: Case];

function check(title: string, rows: readonly Row[]): void {
  test(title, async (t) => {
    for (const [expected, caller, found] of rows) {
      t.equal(verdict(caller, found), expected, `${caller} ${JSON.stringify(found)}`);
    }
  });
}

const ALL = [grant()];
const byARN = { Condition: { ArnEquals: { "aws:PrincipalArn": NEAR } } };
const tagged = { tags: new Map([["team", "a"]]) };

check("which sides must allow, and whom a trust policy names", [
  ["yes", NEAR, { trust: [allow({ AWS: NEAR })] }], ["yes", NEAR, { trust: [allow("*")] }],
  ["yes", NEAR, { trust: [allow({ AWS: ["*"] })] }], ["yes", NEAR_SESSION, { trust: [allow({ AWS: NEAR })] }],
  ["yes", NEAR_SESSION, { trust: [allow({ AWS: NEAR_SESSION })] }],
  ["unknown", NEAR, { trust: [allow({ AWS: NEAR_SESSION })] }],
  ["no", `${NEAR_SESSION}2`, { trust: [allow({ AWS: NEAR_SESSION })] }],
  ["no", NEAR_SESSION, { trust: [allow({ AWS: "arn:aws:sts::222222222222:assumed-role/near/*" })] }],
  ["no", NEAR, { trust: [allow({ AWS: HOME })] }], ["yes", NEAR, { trust: [allow({ AWS: HOME })], identity: ALL }],
  ["no", BOB, { trust: [allow({ AWS: `arn:aws:iam::${HOME}:root` })] }],
  ["yes", BOB, { trust: [allow({ AWS: `arn:aws:iam::${HOME}:root` })], identity: ALL }],
  ["yes", BOB, { trust: [allow({ AWS: HOME })], groups: [document(grant())] }],
  ["no", BOB, { trust: [allow({ AWS: BOB })], groups: [document(DENY)] }],
  ["yes", BOB, { trust: [allow({ AWS: BOB })] }], ["no", BOB, { trust: [allow({ AWS: NEAR })], identity: ALL }],
  ["no", BOB, { trust: [allow({ AWS: "arn:aws:iam::222222222222:user/bob" })], identity: ALL }],
  ["no", APP, { trust: [allow({ AWS: APP })] }], ["yes", APP, { trust: [allow({ AWS: APP })], identity: ALL }],
  ["no", APP, { trust: [allow("*")] }], ["yes", APP, { trust: [allow("*")], identity: ALL }],
  ["no", APP, { trust: [], identity: ALL }], ["no", FAR_BOB, { trust: [allow({ AWS: FAR_BOB })] }],
  ["yes", FAR_BOB, { trust: [allow({ AWS: "111122223333" })], identity: ALL }],
  ["no", APP, { trust: [allow({ AWS: "arn:aws:iam::111122223333:role/app" })], identity: ALL }],
  ["no", APP, { trust: [allow({ AWS: "arn:aws:iam::111122223333:role/team/App" })], identity: ALL }],
  ["no", APP, { trust: [allow({ AWS: "arn:aws:iam::111122223333:role/*" })], identity: ALL }],
  ["no", APP, { trust: [allow({ AWS: "AROAEXAMPLEAPP" })], identity: ALL }],
  ["no", NEAR, { trust: [allow({ Service: "eks.amazonaws.com", Federated: "cognito-identity.amazonaws.com" })] }],
  ["yes", NEAR, { trust: [allow({ Service: "eks.amazonaws.com", AWS: [BOB, NEAR] })] }],
  ["no", NEAR, { trust: [allow({ AWS: NEAR }), { ...allow({ AWS: HOME }), Effect: "Deny" }] }],
  ["yes", NEAR, { trust: [allow({ AWS: NEAR }), { ...allow({ AWS: "arn:aws:iam::222222222222:role/*" }),
    Effect: "Deny" }] }],
  ["unknown", NEAR, { trust: [allow({ AWS: NEAR }), { ...allow({ AWS: NEAR_SESSION }), Effect: "Deny" }] }],
  ["no", NEAR_SESSION, { trust: [allow({ AWS: NEAR }), { ...allow({ AWS: NEAR_SESSION }), Effect: "Deny" }] }],
  ["no", NEAR, { trust: [allow({ AWS: NEAR })], identity: [DENY] }],
  ["no", `arn:aws:iam::${HOME}:root`, { trust: [allow({ AWS: HOME })], identity: ALL }],
  ["no", "arn:aws:sts::222222222222:federated-user/bob", { trust: [allow({ AWS: HOME })], identity: ALL }],
  ["no", NEAR, { trust: [allow({ AWS: NEAR })], role: "arn:aws-cn:iam::222222222222:role/target" }],
  ["no", NEAR, { trust: [allow({ AWS: NEAR })], role: "arn:aws:iam::222222222222:role/Target" }],
  ["no", NEAR, { trust: [allow({ AWS: NEAR })], role: "arn:aws:iam::222222222222:role/x/target" }],
  ["no", "arn:aws:iam::222222222222:role/gone", { trust: [allow("*")] }],
  ["no", ROLE, { trust: [allow({ AWS: NEAR })], identity: ALL }], ["yes", ROLE, { trust: [allow({ AWS: ROLE })] }],
  ["yes", ROLE, { trust: [allow({ AWS: HOME })], identity: ALL }], ["no", ROLE, { trust: [allow({ AWS: HOME })] }],
  ["unknown", "arn:aws:iam::999999999999:role/x", { trust: [allow({ AWS: "999999999999" })] }],
  ["no", "arn:aws:iam::999999999999:role/x", { trust: [allow({ AWS: APP })] }],
  ["no", APP, { trust: [], role: "arn:aws:iam::999999999999:role/x" }],
  ["unknown", APP, { trust: [], identity: ALL, role: "arn:aws:iam::999999999999:role/x" }],
  ["no", APP, { trust: [], identity: [grant(), DENY], role: "arn:aws:iam::999999999999:role/x" }],
]);

check("boundaries, and NotPrincipal", [
  ["no", NEAR, { trust: [allow({ AWS: NEAR })], boundary: [OTHER] }],
  ["yes", NEAR, { trust: [allow({ AWS: NEAR })], boundary: ALL }],
  ["no", NEAR, { trust: [allow({ AWS: HOME })], identity: ALL, boundary: [OTHER] }],
  ["yes", NEAR_SESSION, { trust: [allow({ AWS: NEAR_SESSION })], boundary: [OTHER] }],
  ["yes", NEAR, { trust: [allow("*", byARN)], boundary: [OTHER] }],
  ["no", NEAR, { trust: [allow("*", byARN)], boundary: [OTHER, DENY] }],
  ["no", NEAR_SESSION, { trust: [allow({ AWS: NEAR_SESSION })], boundary: [DENY] }],
  ["unknown", BOB, { trust: [allow({ AWS: BOB })], boundary: [OTHER] }],
  ["no", APP, { trust: [allow({ AWS: APP })], identity: ALL, boundary: [OTHER] }],
  ["unknown", APP, { trust: [allow({ AWS: APP })], identity: ALL, boundary: "missing" }],
  ["unknown", NEAR, { trust: [allow({ AWS: NEAR })], boundary: "missing" }],
  ["no", APP, { trust: [allow({ AWS: NEAR })], identity: ALL, boundary: "missing" }],
  ["yes", NEAR, { trust: [allow({ AWS: NEAR }), { Effect: "Deny", NotPrincipal: { AWS: [NEAR, HOME] },
    Action: "*" }] }],
  ["unknown", NEAR, { trust: [allow({ AWS: NEAR }), { Effect: "Deny", NotPrincipal: { AWS: NEAR }, Action: "*" }] }],
  ["no", BOB, { trust: [allow({ AWS: BOB }), { Effect: "Deny", NotPrincipal: { AWS: NEAR }, Action: "*" }] }],
  ["no", NEAR, {
    trust: [allow({ AWS: NEAR }), { Effect: "Deny", NotPrincipal: { AWS: [NEAR, HOME] }, Action: "*" }], boundary: ALL,
  }],
]);

const apart = [allow({ AWS: APP }), allow({ AWS: APP }, { Action: ["sts:TagSession", "sts:SetSourceIdentity"] })];
const external = { Condition: { StringEquals: { "sts:ExternalId": "x1" } } };
check("each action is authorized on its own", [
  ["no", APP, { trust: [allow({ AWS: APP })], identity: ALL, call: tagged }],
  ["yes", APP, { trust: apart, identity: ALL, call: tagged }],
  ["no", APP, { trust: apart, identity: [grant({ Action: "sts:AssumeRole" })], call: tagged }],
  ["no", APP, { trust: [allow({ AWS: APP }, { Action: "sts:TagSession" })], identity: ALL, call: tagged }],
  ["yes", NEAR, { trust: [allow({ AWS: NEAR }, { Action: BOTH })], call: tagged }],
  ["no", NEAR, { trust: [allow({ AWS: HOME }, { Action: BOTH })], identity: [grant({ Action: "sts:AssumeRole" })],
    call: tagged }],
  ["yes", NEAR, { trust: [allow({ AWS: NEAR })], identity: [{ ...DENY, Action: "sts:TagSession" }] }],
  ["no", NEAR, { trust: [allow({ AWS: NEAR }, { Action: BOTH })], identity: [{ ...DENY, Action: "sts:Tag*" }],
    call: tagged }],
  ["yes", APP, { trust: apart, identity: ALL, call: { ...tagged, sourceIdentity: "alice" } }],
  ["no", APP, { trust: apart, identity: [grant({ Action: BOTH.slice(0, 2) })], call: { sourceIdentity: "alice" } }],
  ["unknown", NEAR, { trust: [allow({ AWS: NEAR }, { Action: BOTH })], call: { sourceIdentity: "alice" } }],
  ["yes", NEAR, { trust: [allow({ AWS: NEAR }, { Action: BOTH })], identity: ALL, call: { sourceIdentity: "alice" } }],
  ["no", APP, { trust: [allow({ AWS: APP }, { Action: "sts:*", ...external })], identity: ALL, call: tagged }],
  ["yes", APP, { trust: [allow({ AWS: APP }, external), allow({ AWS: APP }, { Action: "sts:TagSession" })],
    identity: ALL, call: { ...tagged, externalID: "x1" } }],
  ["no", APP, { trust: apart, identity: ALL, call: { tags: new Map([["a", "1"], ["A", "2"]]) } }],
  ["no", APP, { trust: apart, identity: ALL, call: { tags: new Map([["aws:a", "1"]]) } }],
  ["no", APP, { trust: apart, identity: ALL, call: { tags: new Map([["k".repeat(129), "1"]]) } }],
  ["no", APP, { trust: apart, identity: ALL, call: { tags: new Map([["k", "v".repeat(257)]]) } }],
  ["no", APP, { trust: apart, identity: ALL, call: { ...tagged, transitiveTagKeys: [""] } }],
  ["no", APP, { trust: apart, identity: ALL, call: { sourceIdentity: "aws:x" } }],
  ["no", APP, { trust: apart, identity: ALL, call: { externalID: "x" } }],
  ["no", APP, { trust: apart, identity: ALL, call: { sessionName: "a b" } }],
]);

const named = { trust: [allow({ AWS: [NEAR, BOB] })] };
check("durations", [
  ["yes", NEAR, { ...named, call: { durationSeconds: 900 } }],
  ["yes", BOB, { ...named, call: { durationSeconds: 3600 } }],
  ["no", NEAR, { ...named, call: { durationSeconds: 3601 } }],
  ["no", NEAR, { ...named, call: { durationSeconds: 899 } }],
  ["unknown", BOB, { ...named, call: { durationSeconds: 3601 } }],
  ["no", BOB, { ...named, call: { durationSeconds: 43_201 } }],
  ["no", BOB, { trust: [allow({ AWS: NEAR })], call: { durationSeconds: 43_200 } }],
]);

const account = [allow({ AWS: "111122223333" })];
const on = (fields: Fields): Case => ({ trust: account, identity: [{ Effect: "Allow", Action: "sts:AssumeRole",
  ...fields }] });
check("the language of policies", [
  ["yes", APP, on({ Resource: ROLE })],
  ["yes", APP, on({ Resource: ["arn:aws:s3:::x", "arn:aws:iam::*:role/t?rget"] })],
  ["no", APP, on({ Resource: "arn:aws:iam::222222222222:role/Target" })],
  ["no", APP, on({ Resource: "arn:aws:iam::333333333333:role/*" })],
  ["yes", APP, on({ Resource: "arn:aws:iam::222222222222:*" })], ["yes", APP, on({ Resource: "arn:aws:iam::*" })],
  ["yes", APP, on({ Resource: "arn:aws:*" })], ["unknown", APP, on({ Resource: "arn:aws:iam::2*e/target" })],
  ["yes", APP, on({ NotResource: "arn:aws:iam::222222222222:role/other" })], ["no", APP, on({ NotResource: ROLE })],
  ["no", APP, on({ Resource: "arn:aws:iam::${aws:PrincipalAccount}:role/target" })],
  ["yes", APP, on({ Resource: ROLE, Action: "STS:assumerole" })],
  ["yes", APP, on({ Resource: ROLE, Action: "sts:Assume*" })],
  ["yes", APP, on({ Resource: ROLE, Action: "sts:?ssumeRole" })], ["yes", APP, on({ Resource: ROLE, Action: "*" })],
  ["no", APP, on({ Resource: ROLE, Action: "sts:AssumeRoleWith*" })],
  ["no", APP, on({ Resource: ROLE, Action: "iam:*" })],
  ["yes", APP, { trust: account, identity: [{ Effect: "Allow", NotAction: "iam:*", Resource: "*", Sid: "" }] }],
  ["no", APP, { trust: account, identity: [{ Effect: "Allow", NotAction: ["sts:*"], Resource: "*" }] }],
  ["yes", APP, { trust: [{ Effect: "Allow", Principal: { AWS: APP }, NotAction: "sts:TagSession", Condition: {} }],
    identity: ALL }],
  ["unknown", APP, { trust: [{ Effect: "Allow", Principal: { AWS: APP } }], identity: ALL }],
]);
