import { test } from "tap";
import { IAMData } from "../../../shared/trust/iam-data.ts";
import { IAMFile } from "../../../shared/trust/iam-inputs.ts";
import { ask } from "./ask.ts";
import { dataOf, document, exportOf, roleDetail } from "./iam-export.ts";
import { allow, APP, type Fields, grant, ROLE } from "./trust-cases.ts";

const TRUST = JSON.stringify(document(allow({ AWS: APP })));
const GRANT = JSON.stringify(document(grant()));
const TARGET = exportOf({ RoleDetailList: [roleDetail(ROLE, TRUST)] });
const ACCOUNT = "111122223333";

function manifest(kind: string, spec: Fields, fields: Fields = {}): Fields {
  const metadata = { name: "m", namespace: "team" };
  return { apiVersion: "iam.services.k8s.aws/v1alpha1", kind, metadata, spec, ...fields };
}

function appRole(spec: Fields = {}): Fields {
  return manifest("Role", { name: "app", path: "/team/", assumeRolePolicyDocument: TRUST, ...spec });
}

function list(...items: readonly Fields[]): Fields {
  return { apiVersion: "v1", kind: "List", items };
}

function verdict(...items: readonly Fields[]): string {
  return ask(APP, dataOf(TARGET, [ACCOUNT, list(...items)]));
}

test("a Role has its trust policy, its policies and its limits", async (t) => {
  const status = { ackResourceMetadata: { arn: APP, ownerAccountID: ACCOUNT }, roleID: "AROAEXAMPLEAPP" };
  const role = manifest("Role", {
    name: "app", assumeRolePolicyDocument: TRUST, maxSessionDuration: 7200, tags: [{ key: "team", value: "a" }],
  }, { status });
  t.match(dataOf(role).accountOf(APP)?.roles.get(APP), {
    uniqueID: "AROAEXAMPLEAPP", trust: TRUST, maxSessionSeconds: 7200, tags: new Map([["team", "a"]]), boundary: null,
  });
  t.match(verdict(appRole()), /^no/);
  t.equal(verdict(appRole({ inlinePolicies: { in: GRANT } })), "yes");
  t.equal(dataOf([ACCOUNT, appRole()]).accountOf(APP)?.roles.get(APP)?.maxSessionSeconds, 3600);
});

test("references name Policies of the files", async (t) => {
  const policy = manifest("Policy", { name: "sts", policyDocument: GRANT });
  const reference = (fields: Fields = {}): Fields => ({ from: { name: "m", ...fields } });
  t.equal(verdict(policy, appRole({ policyRefs: [reference()] })), "yes");
  t.equal(verdict(policy, appRole({ policyRefs: [reference({ namespace: "team" })] })), "yes");
  const other = appRole({ policyRefs: [reference({ namespace: "other" })] });
  t.match(verdict(policy, other), /^unknown: .*\(Policy \["other","m"\]\)/);
  t.equal(verdict(policy, appRole({ policies: [`arn:aws:iam::${ACCOUNT}:policy/sts`] })), "yes");
  const inline = { inlinePolicies: { in: GRANT } };
  t.equal(verdict(policy, appRole({ ...inline, permissionsBoundaryRef: reference() })), "yes");
  t.equal(verdict(appRole({ ...inline, permissionsBoundaryRef: reference() })),
    'unknown: permissions boundary of the Policy ["team","m"]');
  t.equal(verdict(appRole({ ...inline, permissionsBoundary: "arn:x" })), "unknown: permissions boundary arn:x");
  const empty = manifest("Policy", { name: "sts" });
  t.match(verdict(empty, appRole({ policyRefs: [reference()] })), /^unknown: .*policy\/sts/);
});

test("Users and Groups are read, but not who is in a group", async (t) => {
  const bob = "arn:aws:iam::222222222222:user/bob";
  const trust = exportOf({ RoleDetailList: [roleDetail(ROLE, document(allow({ AWS: "222222222222" })))] });
  const user = manifest("User", { name: "bob", inlinePolicies: { in: GRANT } });
  const group = manifest("Group", { name: "g", policies: ["arn:x"] });
  const data = dataOf(trust, ["222222222222", list(user, group)]);
  t.equal(ask(bob, data), `unknown: identity policy in the groups of ${bob}`);
  t.same(data.accountOf(bob)?.groups.get("g")?.attached, ["arn:x"]);
});

test("skips other objects, and rejects files without any of IAM", async (t) => {
  const other = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name: "r" } };
  t.equal(dataOf([ACCOUNT, list(other, appRole(), { kind: 1 }, { kind: "Role" })]).accountOf(APP)?.roles.size, 1);
  const message = "no Role, Policy, User or Group of iam.services.k8s.aws exists";
  for (const file of [other, list(), list(other)]) t.throws(() => dataOf(file), { message });
  const file = new IAMFile({ data: new IAMData(), file: "x", subject: null });
  const add = (): void => file.add({ key: "kind", index: null, value: "Role" });
  add();
  t.throws(add, { message: "several objects follow each other; pass them as a List" });
  t.throws(() => dataOf(appRole()), /^the account of the role app is not known/);
  t.throws(() => dataOf([ACCOUNT, manifest("Role", {})]), { message: "role m: spec.name is missing" });
  t.throws(() => dataOf([ACCOUNT, manifest("Role", {}, { metadata: {} })]), { message: "role : spec.name is missing" });
});
