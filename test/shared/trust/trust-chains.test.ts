import * as fc from "fast-check";
import { test } from "tap";
import { canDeny, grantsIn, mayGrant, RolePermissions } from "../../../shared/trust/role-permissions.ts";
import type { IAMData } from "../../../shared/trust/iam-data.ts";
import { Intended } from "../../../shared/trust/intended.ts";
import { MAX_CHAIN, TrustChains } from "../../../shared/trust/trust-chains.ts";
import type { Answer } from "../../../shared/trust/three-values.ts";
import { whoElse, whoElseJSON, whoElseLines, WhoElseText } from "../../../shared/trust/who-else.ts";
import { dataOf, document, exportOf, roleDetail } from "./iam-export.ts";
import { parameters } from "../property.ts";
import { allow, type Fields, grant } from "./trust-cases.ts";

function role(name: string, account = "222222222222"): string {
  return `arn:aws:iam::${account}:role/${name}`;
}

const FAR = role("far", "333333333333");
const BOB = "arn:aws:iam::222222222222:user/bob";

/** Returns a role that trusts others. */
function trusting(arn: string, aws: unknown, fields: Fields = {}): Fields {
  return roleDetail(arn, document(allow(aws)), fields);
}

function inline(statement: Fields): Fields {
  return { RolePolicyList: [{ PolicyName: "in", PolicyDocument: document(statement) }] };
}

/** Returns the chains to a role as texts, and `?` before one that is not certain. */
function chains(data: IAMData, arn: string, intended: readonly string[] = []): string[] {
  const all = new Intended(intended);
  const result = whoElse(arn, data, new TrustChains({ data, nowSeconds: 1_795_000_000 }, all));
  return "fault" in result ? [result.fault] : result.chains.map(({ principal, through, verdict }) => (
    `${verdict === "yes" ? "" : "?"}${[principal, ...through].map((one) => one.split("/").at(-1)).join(">")}`
  ));
}

function exported(...roles: readonly Fields[]): IAMData {
  return dataOf(exportOf({ RoleDetailList: roles }));
}

test("follows roles that can assume a role that can assume the role", async (t) => {
  const roles = [
    trusting(role("a"), { AWS: role("b") }),
    trusting(role("b"), { AWS: [role("c"), BOB, role("a")], Service: "ec2.amazonaws.com" }),
    trusting(role("c"), { AWS: role("b") }),
  ];
  const data = dataOf(exportOf({ RoleDetailList: roles, UserDetailList: [{ Arn: BOB, UserId: "AIDAEXAMPLEBOB" }] }));
  t.same(chains(data, role("a")), ["c>b", "bob>b", "ec2.amazonaws.com>b"]);
  t.same(chains(data, role("a"), [role("b"), role("c")]), ["bob>b", "ec2.amazonaws.com>b"], "through an intended role");
  const others = dataOf(exportOf({ RoleDetailList: roles, UserDetailList: [{ Arn: `${BOB}2` }] }));
  t.same(chains(others, role("a")), ["c>b", "ec2.amazonaws.com>b"], "the user does not exist");
  t.same(chains(exported(...roles), role("a")), ["c>b", "?bob>b", "ec2.amazonaws.com>b"], "an export without users");
  t.same(chains(data, role("b")), [], "everyone is trusted directly");
});

test("ends a chain after four roles", async (t) => {
  const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
  const data = exported(...names.map((name, i) => trusting(role(name), { AWS: role(names[i + 1] ?? "z") })));
  t.same(chains(data, role("a")), ["c>b", "d>c>b", "e>d>c>b", "f>e>d>c>b"]);
  t.equal(MAX_CHAIN, 4);
});

test("a role of another account needs a permission, and a deny ends a chain", async (t) => {
  const target = trusting(role("a"), { AWS: [FAR, role("b")] });
  const far = (fields: Fields): IAMData => dataOf(
    exportOf({ RoleDetailList: [target] }),
    exportOf({ RoleDetailList: [trusting(FAR, { AWS: "444455556666" }, fields)] }),
  );
  t.same(chains(far(inline(grant())), role("a")), ["?444455556666>far"], "the account decides");
  t.same(chains(far(inline(grant({ Resource: role("a") }))), role("a")), ["?444455556666>far"]);
  t.same(chains(far(inline(grant({ Resource: role("c") }))), role("a")), []);
  t.same(chains(far({ AttachedManagedPolicies: [{ PolicyArn: "arn:aws:iam::aws:policy/X" }] }), role("a")), [
    "?444455556666>far",
  ]);
  const near = (fields: Fields): IAMData => (
    exported(target, trusting(role("b"), { Service: "ec2.amazonaws.com" }, fields))
  );
  t.same(chains(near({}), role("a")), ["ec2.amazonaws.com>b"]);
  t.same(chains(near(inline({ ...grant(), Effect: "Deny" })), role("a")), []);
  const boundary = { PermissionsBoundary: { PermissionsBoundaryArn: "arn:aws:iam::222222222222:policy/b" } };
  t.same(chains(near(boundary), role("a")), ["?ec2.amazonaws.com>b"]);
});

test("a role whose policies are not in the inputs may be denied", async (t) => {
  const b = { Arn: role("b"), AssumeRolePolicyDocument: document(allow({ Service: "ec2.amazonaws.com" })) };
  const a = { Arn: role("a"), AssumeRolePolicyDocument: document(allow({ AWS: role("b") })) };
  const none = { AttachedPolicies: [], IsTruncated: false };
  const get = [{ Role: a }, { Role: b }] as const;
  t.same(chains(dataOf(...get), role("a")), ["?ec2.amazonaws.com>b"]);
  t.same(chains(dataOf(...get, [role("b"), { PolicyNames: [] }], [role("b"), none]), role("a")), [
    "ec2.amazonaws.com>b",
  ]);
});

test("a role that the policy names by its account needs a permission too", async (t) => {
  const limited = document(allow({ AWS: "222222222222" }, {
    Condition: { ArnEquals: { "aws:PrincipalArn": role("b") } },
  }));
  const data = (fields: Fields): IAMData => exported(
    roleDetail(role("a"), limited), trusting(role("b"), { Service: "ec2.amazonaws.com" }, fields),
  );
  t.same(chains(data({}), role("a")), []);
  t.same(chains(data(inline(grant())), role("a")), ["ec2.amazonaws.com>b"]);
});

test("a role that no file contains may exist, unless an export of its account is complete", async (t) => {
  const other = "arn:aws-cn:iam::333333333333:role/x";
  const a = trusting(role("a"), { AWS: role("b") });
  const file = exportOf({ RoleDetailList: [a, trusting(role("b"), { AWS: [FAR, other] })] });
  t.same(chains(dataOf(file), role("a")), ["?far>b"], "a role of another partition can assume nothing");
  const far = exportOf({ RoleDetailList: [trusting(role("y", "333333333333"), {})] });
  t.same(chains(dataOf(file, far), role("a")), [], "the role does not exist");
  const listed = [["a", "b"], ["b", "c"]].map(([arn = "", trusted = ""]) => (
    { Arn: role(arn), AssumeRolePolicyDocument: document(allow({ AWS: role(trusted) })) }
  ));
  t.same(chains(dataOf({ Roles: listed }), role("a")), ["?c>b"]);
});

test("finds a bounded number of chains", async (t) => {
  const many = Array.from({ length: 300 }, (_, i) => String(100_000_000_000 + i));
  const data = exported(trusting(role("a"), { AWS: role("b") }), trusting(role("b"), { AWS: many }));
  t.equal(chains(data, role("a")).length, 100);
});

test("a chain ends at a role whose trust policy is not valid or not in the exports", async (t) => {
  const data = exported(trusting(role("a"), { AWS: [role("b"), FAR] }), roleDetail(role("b"), "{"));
  t.same(chains(data, role("a")), []);
  t.match(chains(data, role("b")), [/^the trust policy is not valid: the policy is not JSON/]);
  t.match(chains(data, role("x")), [/^the role does not exist in the export/]);
  t.match(chains(data, FAR), [/^no export contains the role; pass the export/]);
  const inlineOnly = dataOf([FAR, { PolicyNames: [], IsTruncated: false }]);
  t.match(chains(inlineOnly, FAR), [/^no file contains its trust policy; pass the export/]);
  t.same(chains(exported(roleDetail(role("a"), document())), role("a")), [], "the policy lets nobody in");
  const possible = { principal: "*", through: [role("b")], verdict: "unknown" } as const;
  const lines = whoElseLines({ role: role("a"), unintended: [], chains: [possible] }, data);
  t.equal(lines[1], `  possible chain: * -> ${role("b")}`);
  t.same(whoElseLines({ role: role("x"), unintended: [], chains: [] }, data), [`${role("x")}: nobody else`]);
  t.same(whoElseLines({ role: role("x"), unintended: [{ name: BOB }], chains: [] }, data), [`${role("x")}: 1`]);
  t.match(chains(exported(roleDetail(role("a"), { Statement: [{}] })), role("a")), [
    /^the trust policy is not valid: Statement\[0\]/,
  ]);
});

test("an account that trusts one of its roles by a condition needs the policies of that role", async (t) => {
  const ofC = { Condition: { ArnEquals: { "aws:PrincipalArn": role("c") } } };
  const delegating = roleDetail(role("b"), document(allow({ AWS: "222222222222" }, ofC)));
  const limited = grant({ Resource: role("b"), Condition: { Bool: { "aws:SecureTransport": "true" } } });
  const withC = (statement: Fields): string[] => {
    const c = trusting(role("c"), {}, inline(statement));
    return chains(exported(trusting(role("a"), { AWS: role("b") }), delegating, c), role("a"));
  };
  t.same(withC(limited), ["?c>b"]);
  t.same(withC(grant()), ["c>b"]);
  t.same(withC(grant({ Resource: "arn:aws:s3:::x" })), []);
});

test("the policies of a role decide the simple cases without a complete evaluation", async (t) => {
  const answer = (statement: Fields, fields: Fields = {}): Answer | null => {
    const found = exported(trusting(role("a"), {}, { ...inline(statement), ...fields })).role(role("a"));
    if (found === null) throw new Error("the export contains the role");
    return new RolePermissions(found, exported()).answer(FAR);
  };
  t.equal(answer(grant({ Resource: FAR })), "yes");
  t.equal(answer({ Effect: "Allow", Action: "s3:*", Resource: FAR }), "no");
  const Condition = { Bool: { "aws:SecureTransport": "true" } };
  t.equal(answer(grant({ Resource: FAR, Condition })), null, "a condition");
  const boundary = { PermissionsBoundary: { PermissionsBoundaryType: "Policy", PermissionsBoundaryArn: `${FAR}/x` } };
  t.equal(answer(grant({ Resource: FAR }), boundary), null, "a boundary");
  t.equal(answer(grant({ Resource: FAR.replace("far", "${aws:username}") })), null, "a variable");
  t.equal(answer(grant({ Resource: "arn:aws:iam" })), null, "IAM may complete an ARN");
  t.equal(answer({ ...grant({ Resource: FAR }), Effect: "Maybe" }), null, "not a policy");
});

test("the text of a policy shows that it can neither allow a role nor deny", async (t) => {
  const target = role("team/a");
  const text = (fields: Fields): string => JSON.stringify(document({ ...grant(), ...fields }));
  const canAllow = (policy: string, arn: string): boolean => (
    [grantsIn(policy) ?? []].flat().some((one) => mayGrant(one, arn))
  );
  for (const Resource of [target, "*", "arn:aws:iam::222222222222:role/team/?", "arn:*", "arn:aws:iam::${x}:role/a"]) {
    t.ok(canAllow(text({ Resource }), target), Resource);
  }
  t.notOk(canAllow(text({ Resource: ["arn:aws:s3:::*", role("team/b"), "arn:aws:iam::333333333333:role/*"] }), target));
  t.notOk(canAllow(text({ Action: "s3:GetObject", Resource: target }), target));
  t.ok(canAllow(text({ Action: "*", Resource: target }), target));
  t.ok(canAllow(JSON.stringify(document({ Effect: "Allow", NotAction: "s3:*", NotResource: "x" })), target));
  t.ok(canAllow(encodeURIComponent(text({ Resource: target })), target), "encoded");
  t.ok(canAllow(String.raw`{"Action":"sts:\u002a","Resource":"x"}`, target), "escaped");
  t.notOk(canDeny(text({})));
  t.ok(canDeny(text({ Effect: "Deny" })));
});

/** A role that trusts those at some positions, and what its policy lets it assume. */
const NODE = fc.record({
  trusted: fc.constantFrom([], [0], [1], [0, 1], [1, 2], [0, 3], [2, 3, 4], [4]),
  allowed: fc.constantFrom(null, "*", "arn:aws:iam::222222222222:role/*", role("r1"), role("r2", "333333333333")),
});

test("equal trust policies share results, which are those of each role alone", async (t) => {
  const arnAt = (i: number): string => role(`r${i}`, i % 2 === 0 ? "222222222222" : "333333333333");
  fc.assert(fc.property(fc.array(NODE, { minLength: 2, maxLength: 9 }), fc.boolean(), (nodes, readsFirst) => {
    const data = exported(...nodes.map(({ trusted, allowed }, i) => {
      const aws = [...trusted.map(arnAt), "444455556666"];
      return trusting(arnAt(i), { AWS: aws }, allowed === null ? {} : inline(grant({ Resource: allowed })));
    }));
    const fresh = (): TrustChains => (
      new TrustChains({ data, nowSeconds: 1_795_000_000 }, new Intended([arnAt(0), "444455556666"]))
    );
    const [shared, text] = [fresh(), new WhoElseText()];
    for (const i of readsFirst ? nodes.keys() : []) shared.read(arnAt(i));
    return nodes.every((_, i) => {
      const [found, alone] = [whoElse(arnAt(i), data, shared), whoElse(arnAt(i), data, fresh())];
      if ("fault" in found || "fault" in alone) throw new Error("each policy is valid");
      return text.of(found) === JSON.stringify(whoElseJSON(alone));
    });
  }), parameters(t, 500));
});

test("keeps a bounded number of shared results", async (t) => {
  const many = Array.from({ length: 2_004 }, (_, i) => role(`many-${i}`));
  const data = exported(...many.map((arn, i) => trusting(arn, { AWS: String(100_000_000_000 + (i >> 1)) })));
  const shared = new TrustChains({ data, nowSeconds: 1_795_000_000 }, new Intended([]));
  for (const arn of many) shared.read(arn);
  const [first = "", second = ""] = many;
  const { chains: found } = shared.of(first);
  t.equal(shared.of(second).chains, found);
  for (const arn of many) shared.of(arn);
  t.not(shared.of(first).chains, found);
  t.same(shared.of(first).chains, found);
});
