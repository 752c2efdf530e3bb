import { test } from "tap";
import { isSamePolicy } from "../../../shared/trust/policy-comparison.ts";
import { ask } from "./ask.ts";
import { dataOf, document, exportOf, type InputFile, roleDetail } from "./iam-export.ts";
import { allow, APP, type Fields, grant, NEAR, ROLE } from "./trust-cases.ts";

const TRUST = document(allow({ AWS: NEAR }));
const POLICY = "arn:aws:iam::222222222222:policy/sts";
const BOB = "arn:aws:iam::222222222222:user/bob";

function role(fields: Fields): Fields {
  return exportOf({ RoleDetailList: [roleDetail(ROLE, TRUST, fields)] });
}

test("files that differ in what both know contradict each other", async (t) => {
  const base = { Arn: ROLE, RoleId: "AROAEXAMPLETARGET", AssumeRolePolicyDocument: TRUST };
  const boundary = (arn: string): Fields => ({ PermissionsBoundary: { PermissionsBoundaryArn: arn } });
  const inline = (statement: Fields): Fields => (
    { RolePolicyList: [{ PolicyName: "in", PolicyDocument: document(statement) }] }
  );
  const cases: Readonly<Record<string, readonly [Fields, Fields]>> = {
    "the trust policy": [role({}), { Role: { ...base, AssumeRolePolicyDocument: document(allow({ AWS: APP })) } }],
    "the unique ID": [role({}), { Role: { ...base, RoleId: "AROAOTHER" } }],
    "the permissions boundary": [role({}), { Role: { ...base, ...boundary(POLICY) } }],
    "the tags": [role({ Tags: [{ Key: "a", Value: "1" }] }), { Role: { ...base, Tags: [{ Key: "a", Value: "2" }] } }],
    "MaxSessionDuration": [{ Role: { ...base, MaxSessionDuration: 1 } }, { Role: { ...base, MaxSessionDuration: 2 } }],
    'the inline policy "in"': [role(inline(grant())), role(inline(grant({ Action: "sts:TagSession" })))],
  };
  for (const [what, files] of Object.entries(cases)) {
    const message = `${what} of ${ROLE} is different in file 1 and in file 2; pass only files that agree`;
    t.throws(() => dataOf(...files), { message });
  }
  const policy = (effect: string): Fields => ({ PolicyVersion: { Document: document(grant({ Effect: effect })) } });
  t.throws(() => dataOf([POLICY, policy("Allow")], [POLICY, policy("Deny")]), {
    message: `${POLICY} is different in file 1 and in file 2; pass only files that agree`,
  });
});

test("a name is unique in an account, regardless of case", async (t) => {
  const at = (arn: string): Fields => ({ Role: { Arn: arn } });
  const message = (kind: string, name: string): string => (
    `the ARN of the ${kind} ${name} is different in file 1 and in file 2; pass only files that agree`
  );
  const moved = ROLE.replace("role/", "role/path/");
  t.throws(() => dataOf(at(ROLE), at(moved)), { message: message("role", "target") });
  t.throws(() => dataOf(at(ROLE), at(ROLE.replace("target", "Target"))), { message: message("role", "Target") });
  t.throws(() => dataOf({ Roles: [{ Arn: ROLE }, { Arn: moved }] }), {
    message: "the ARN of the role target is stated twice in file 1, and differs; remove one",
  });
  for (const kind of ["User", "Group"]) {
    const list = (name: string): Fields => (
      exportOf({ [`${kind}DetailList`]: [{ Arn: `arn:aws:iam::222222222222:${kind.toLowerCase()}/${name}` }] })
    );
    t.throws(() => dataOf(list("x"), list("a/X")), { message: message(kind.toLowerCase(), "X") }, kind);
  }
  const others = [ROLE.replace("222222222222", "333333333333"), ROLE.replace(":aws:", ":aws-cn:")];
  const data = dataOf(at(ROLE), ...others.map(at));
  t.equal([...data.roles()].length, 3, "other accounts");
});

test("an object that two files describe has the policies of both", async (t) => {
  const data = dataOf(
    role({ AttachedManagedPolicies: [{ PolicyArn: POLICY }], RolePolicyList: [{ PolicyName: "a" }] }),
    role({ AttachedManagedPolicies: [{ PolicyArn: "p2" }, { PolicyArn: POLICY }], RolePolicyList: [
      { PolicyName: "a" }, { PolicyName: "b", PolicyDocument: "{}" },
    ] }),
  );
  t.match(data.accountOf(ROLE)?.roles.get(ROLE), {
    attached: [POLICY, "p2"], inline: [{ name: "a" }, { name: "b" }], files: ["file 1", "file 2"],
  });
  const group = { Arn: "arn:aws:iam::222222222222:group/g" };
  const users = dataOf(
    exportOf({ UserDetailList: [{ Arn: BOB, GroupList: ["g"] }], GroupDetailList: [group] }),
    exportOf({ UserDetailList: [{ Arn: BOB, GroupList: ["h"] }], GroupDetailList: [group] }),
  );
  t.same(users.accountOf(BOB)?.users.get(BOB)?.groups, ["g", "h"]);
});

test("the boundary is that of the file that knows it", async (t) => {
  const list = { Roles: [{ Arn: ROLE }] };
  const got = { Role: { Arn: ROLE, PermissionsBoundary: { PermissionsBoundaryArn: POLICY } } };
  for (const files of [[list, got], [got, list]]) {
    const merged = dataOf(...files).role(ROLE);
    t.equal(merged?.boundary, POLICY);
    t.equal(merged?.gaps.some(({ part }) => part === "permissions boundary"), false);
  }
});

test("a policy that AWS changes between two exports is not known", async (t) => {
  const arn = "arn:aws:iam::aws:policy/AdministratorAccess";
  const policy = (fields: Fields): Fields => ({ PolicyVersion: { Document: document(grant(fields)) } });
  const same = dataOf([arn, policy({})], [arn, policy({})]);
  t.match(same.policy(arn), /Allow/);
  t.same(same.filesThatDiffer(arn), []);
  const other = [arn, policy({ Resource: "arn:aws:iam::111122223333:role/a" })] as const;
  for (const files of [[[arn, policy({})], other, other], [other, [arn, policy({})], other]] as const) {
    const data = dataOf(...files.map(([name, object]) => [name, object] as [string, Fields]));
    t.equal(data.policy(arn), null);
    t.equal(data.filesThatDiffer(arn).length, 3);
  }
});

test("one file describes an object once", async (t) => {
  const message = `${ROLE} is described twice; remove one description`;
  t.throws(() => dataOf({ Roles: [{ Arn: ROLE }, { Arn: ROLE }] }), { message });
});

test("a part without an account belongs to its own file, or to the only object of this name", async (t) => {
  const other = ROLE.replace("222222222222", "333333333333");
  const part = { RoleName: "target", PolicyName: "in", PolicyDocument: document(grant()) };
  const inlineOf = (arn: string, ...files: readonly InputFile[]): unknown => (
    dataOf(...files).accountOf(arn)?.roles.get(arn)?.inline.map(({ name }) => name)
  );
  const [one, two] = [{ Role: { Arn: ROLE } }, { Role: { Arn: other } }];
  t.same(inlineOf(ROLE, part, one), ["in"]);
  t.same(inlineOf(ROLE, ["222222222222", part], one, two), ["in"]);
  t.same(inlineOf(other, ["222222222222", part], one, two), []);
  const app = { Role: { Arn: APP, AssumeRolePolicyDocument: document(allow({ AWS: ROLE })) } };
  const expected = /^unknown: .*\(file 1 adds policies to the role target without its account\)/;
  t.match(ask(ROLE, dataOf(part, one, two, app), APP), expected);
  t.same(dataOf(part).accountOf(ROLE), null, "a part of nothing changes nothing");
});

test("compares policies apart from their form", async (t) => {
  const text = (value: unknown): string => JSON.stringify(value);
  const same: readonly (readonly [unknown, unknown])[] = [
    [document(allow({ AWS: ["a", "b"] })), { Statement: allow({ AWS: ["b", "a"] }), Version: "2012-10-17" }],
    [document(allow({ AWS: "111122223333" })), document(allow({ AWS: ["arn:aws:iam::111122223333:root"] }))],
    [allow({ Bool: { k: true } }), allow({ Bool: { k: "true" } })],
  ];
  for (const [a, b] of same) t.equal(isSamePolicy(text(a), text(b)), true, text(a));
  t.equal(isSamePolicy(text(TRUST), encodeURIComponent(text(TRUST))), true);
  const root = { k: "arn:aws:iam::111122223333:root" };
  t.equal(isSamePolicy(text({ Condition: root }), text({ Condition: { k: "111122223333" } })), false);
  t.equal(isSamePolicy("x", "y"), false);
  t.equal(isSamePolicy("x", "{}"), false);
  t.equal(isSamePolicy("{}", "y"), false);
});
