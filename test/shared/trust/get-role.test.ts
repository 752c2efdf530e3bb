import { test } from "tap";
import { IAMData } from "../../../shared/trust/iam-data.ts";
import { IAMFile } from "../../../shared/trust/iam-inputs.ts";
import { parseSubject } from "../../../shared/trust/iam-reader.ts";
import { answer } from "../../../shared/trust/trust-question.ts";
import { ask, question } from "./ask.ts";
import { dataOf, document, exportOf, type InputFile, roleDetail } from "./iam-export.ts";
import { allow, APP, type Fields, grant, NEAR, ROLE } from "./trust-cases.ts";

const BOB = "arn:aws:iam::222222222222:user/bob";
const TRUST = document(allow({ AWS: [APP, NEAR, BOB] }));
const POLICY = "arn:aws:iam::111122223333:policy/sts";

function role(arn: string, fields: Fields = {}): Fields {
  const { RoleId: id } = roleDetail(arn, TRUST);
  return { Arn: arn, RoleId: id, AssumeRolePolicyDocument: TRUST, MaxSessionDuration: 7200, ...fields };
}

const TARGET = { Role: role(ROLE) };

test("get-role has the trust policy, and not the policies of a caller", async (t) => {
  t.equal(ask(NEAR, dataOf(TARGET, { Role: role(NEAR) })), `unknown: identity policy in the inline policies of ${NEAR}`
    + `: identity policy in the attached policies of ${NEAR}`);
  const encoded = { AssumeRolePolicyDocument: encodeURIComponent(JSON.stringify(TRUST)) };
  const near = exportOf({ RoleDetailList: [roleDetail(NEAR, TRUST)] });
  t.equal(ask(NEAR, dataOf({ Role: role(ROLE, encoded) }, near)), "yes");
  const boundary = { PermissionsBoundary: { PermissionsBoundaryArn: POLICY } };
  t.match(ask(NEAR, dataOf(TARGET, { Role: role(NEAR, boundary) })), new RegExp(`permissions boundary ${POLICY}`));
  t.throws(() => dataOf({ Role: {} }), { message: "Role does not have an Arn" });
});

test("MaxSessionDuration decides about more than an hour for a user", async (t) => {
  const bob = exportOf({ RoleDetailList: [roleDetail(ROLE, TRUST)], UserDetailList: [{ Arn: BOB }] });
  const ofBob = (seconds: number, ...files: readonly Fields[]): string => {
    const asked = question(BOB);
    const parameters = { ...asked.parameters, durationSeconds: seconds };
    return answer({ ...asked, parameters }, dataOf(bob, ...files), 0).verdict;
  };
  t.same([ofBob(7200), ofBob(7200, TARGET), ofBob(7201, TARGET)], ["unknown", "yes", "no"]);
});

test("list-roles has neither the boundary nor the tags", async (t) => {
  const list = { Roles: [role(ROLE), role(NEAR)] };
  t.match(ask(NEAR, dataOf(list)), /^unknown: permissions boundary of /);
  t.equal(dataOf(list).accountOf(ROLE)?.roles.get(ROLE)?.tags, null);
  t.equal(dataOf(list).hasAll("role", ROLE), false);
  t.throws(() => dataOf({ Roles: [role(ROLE), "x"] }), { message: "Roles[1] does not have an Arn" });
});

test("policies of a caller come from other outputs", async (t) => {
  const files = (...outputs: readonly InputFile[]): string => (
    ask(APP, dataOf(TARGET, { Role: role(APP) }, ...outputs))
  );
  const inline = { RoleName: "app", PolicyName: "in", PolicyDocument: document(grant()) };
  const names = [APP, { PolicyNames: ["in"], IsTruncated: false }] as const;
  const attached = [APP, { AttachedPolicies: [{ PolicyName: "sts", PolicyArn: POLICY }] }] as const;
  const version = [POLICY, { PolicyVersion: { IsDefaultVersion: true, Document: document(grant()) } }] as const;
  const none = [APP, { AttachedPolicies: [], IsTruncated: false }] as const;
  t.equal(files(names, none), "unknown: identity policy in");
  t.equal(files(inline, names, none), "yes");
  const whole = exportOf({ RoleDetailList: [roleDetail(APP, TRUST)] });
  t.match(ask(APP, dataOf(TARGET, whole)), /^no/);
  t.match(ask(APP, dataOf(TARGET, whole, inline)), /^unknown: .* without its account\)/, "a role of another account");
  t.equal(files([APP, inline], names, none), "yes");
  t.match(files(inline, [APP, { ...names[1], IsTruncated: true }], none), /^unknown: .*in the inline policies/);
  t.match(files(inline, none), /^unknown: identity policy in the inline policies of/, "the list of names is missing");
  t.equal(files([APP, { PolicyNames: [] }], attached), `unknown: identity policy ${POLICY}`);
  t.equal(files([APP, { PolicyNames: [] }], attached, version), "yes");
  t.match(files([APP, { PolicyNames: [] }], none), /^no: no identity policy of the caller allows the call/);
  t.match(files([APP, { PolicyNames: [] }], [APP, { AttachedPolicies: [{}] }]), /policy without an ARN/);
});

test("several outputs of get-role-policy follow each other", async (t) => {
  const data = dataOf({ Role: role(APP) }, { Role: role(APP.replace("app", "other")) }, ["111122223333", {
    RoleName: "app", PolicyName: "a", PolicyDocument: document(grant()),
  }]);
  t.same(data.accountOf(APP)?.roles.get(APP)?.inline.map(({ name }) => name), ["a"]);
});

test("a file describes an account, or an object of an account or of AWS", async (t) => {
  t.same(parseSubject("arn:aws-cn:iam::111122223333:root"),
    { partition: "aws-cn", accountID: "111122223333", arn: null });
  const policy = "arn:aws:iam::aws:policy/AdministratorAccess";
  t.same(parseSubject(policy), { partition: "aws", accountID: "aws", arn: policy });
  for (const text of [
    "1111", "arn:aws:iam::1111:root", "arn:aws:iam::aws:role/a", "arn:aws:iam:eu-west-1:111122223333:root",
    "arn:aws:s3:::bucket",
  ]) t.equal(parseSubject(text), null, text);
});

test("outputs that do not state what they describe need its ARN", async (t) => {
  const fault = (expected: RegExp, ...file: readonly InputFile[]): void => {
    t.throws(() => dataOf(...file), expected);
  };
  fault(/^AttachedPolicies does not state whose policies these are; pass the ARN: /, { AttachedPolicies: [] });
  fault(/PolicyNames does not state whose/, [POLICY, { PolicyNames: ["x"] }]);
  fault(/RoleName is not app, which arn:aws:iam::111122223333:role\/team\/app states/, [APP, {
    RoleName: "x", PolicyName: "a", PolicyDocument: {},
  }]);
  fault(/PolicyName, PolicyDocument or the name of the role is missing/, { RoleName: "x", PolicyName: "a" });
  fault(/^RoleName is not a text$/, { RoleName: 1, PolicyName: "a", PolicyDocument: {} });
  fault(/a policy does not state its ARN; pass it/, { PolicyVersion: { Document: document(grant()) } });
  fault(/not the default version/, [POLICY, { PolicyVersion: { IsDefaultVersion: false } }]);
});

test("a policy document is a trust policy if it has principals", async (t) => {
  const near = exportOf({ RoleDetailList: [roleDetail(NEAR, document())] });
  t.equal(ask(NEAR, dataOf([ROLE, TRUST], near)), "yes");
  t.equal(ask(NEAR, dataOf([ROLE, { Statement: allow({ AWS: NEAR }) }], near)), "yes");
  const attached = { AttachedManagedPolicies: [{ PolicyArn: POLICY }] };
  const app = exportOf({ RoleDetailList: [roleDetail(APP, document(), attached)] });
  t.equal(ask(APP, dataOf(TARGET, app, [POLICY, document(grant())])), "yes");
  const trustFault = /a trust policy does not state its role; pass the ARN/;
  for (const subject of ["222222222222", POLICY, BOB]) t.throws(() => dataOf([subject, TRUST]), trustFault);
  t.throws(() => dataOf([APP, document(grant())]), /a policy does not state its ARN/);
  const file = new IAMFile({ data: new IAMData(), file: "x", subject: parseSubject(POLICY) });
  const add = (): void => file.add({ key: "Statement", index: null, value: grant() });
  add();
  t.throws(add, { message: "the file contains several documents; pass one file for each" });
});

test("policies of users and groups are read like those of roles", async (t) => {
  const group = "arn:aws:iam::222222222222:group/g";
  const deny = document(grant({ Effect: "Deny" }));
  const data = dataOf(
    exportOf({ RoleDetailList: [roleDetail(ROLE, TRUST)], UserDetailList: [{ Arn: BOB, GroupList: ["g"] }] }),
    [group, { GroupName: "g", PolicyName: "in", PolicyDocument: deny }], [group, { AttachedPolicies: [] }],
  );
  t.match(ask(BOB, data), /^no: denied/);
  const user = { UserName: "bob", PolicyName: "in", PolicyDocument: deny };
  t.match(ask(BOB, dataOf({ Role: role(ROLE) }, [BOB, user])), /^no: denied/);
  t.match(ask(BOB, dataOf({ Role: role(ROLE) }, [BOB, { PolicyNames: [] }])), /in the groups of arn.*boundary of/);
});
