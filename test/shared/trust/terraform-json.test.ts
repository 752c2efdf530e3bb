import { test } from "tap";
import { ask } from "./ask.ts";
import { dataOf, document, exportOf, type InputFile, roleDetail } from "./iam-export.ts";
import { ADDRESS, GRANT, plan, resource, type ResourceFields, roleValues, state, TRUST } from "./terraform-files.ts";
import { allow, APP, type Fields, ROLE } from "./trust-cases.ts";

const TARGET = exportOf({ RoleDetailList: [roleDetail(ROLE, document(allow({ AWS: APP })))] });
const POLICY = "arn:aws:iam::111122223333:policy/sts";

const ROLE_VALUES = roleValues({ arn: APP, unique_id: "AROAEXAMPLEAPP", tags_all: { team: "a" } });
const inline = (fields: Fields = {}): Fields => resource("module.m.aws_iam_role_policy.in", {
  name: "in", role: "app", policy: GRANT, ...fields,
});

function verdict(...files: readonly InputFile[]): string {
  return ask(APP, dataOf(TARGET, ...files));
}

test("a state has roles with their policies", async (t) => {
  const empty = { inline_policy: [{ name: "", policy: "" }], permissions_boundary: "" };
  const role = resource(ADDRESS, { ...ROLE_VALUES, ...empty });
  t.equal(verdict(state(role, inline())), "yes");
  t.match(verdict(state(role)), /^no: no identity policy of the caller allows the call/);
  const withBlock = (block: Fields): string => (
    verdict(state(resource(ADDRESS, { ...ROLE_VALUES, inline_policy: [block] })))
  );
  t.equal(withBlock({ name: "in", policy: GRANT }), "yes");
  t.equal(withBlock({ policy: GRANT }), "yes", "a policy without a name");
  t.match(withBlock({ name: "in" }), /^no/, "a block without a policy");
  const profile = resource("aws_iam_instance_profile.p", { name: "p", role: "app" });
  t.equal(verdict(state(role, inline(), profile)), "yes", "a resource that changes no policy");
  const untrusting = resource(ADDRESS, { ...ROLE_VALUES, assume_role_policy: null });
  t.equal(dataOf(state(untrusting)).role(APP)?.trust, null);
  const attachment = resource("aws_iam_role_policy_attachment.a", { role: "app", policy_arn: POLICY });
  const policy = resource("aws_iam_policy.p", { arn: POLICY, policy: GRANT });
  t.equal(verdict(state(role, attachment)), `unknown: identity policy ${POLICY}`);
  t.equal(verdict(state(role, attachment, policy)), "yes");
  const holders = { roles: ["app"], users: [], groups: null };
  const everyone = resource("aws_iam_policy_attachment.a", { ...holders, policy_arn: POLICY });
  t.equal(verdict(state(role, everyone, policy)), "yes");
  t.match(dataOf(state(role)).accountOf(APP)?.roles.get(APP), {
    uniqueID: "AROAEXAMPLEAPP", maxSessionSeconds: 3600, boundary: null, tags: new Map([["team", "a"]]), gaps: [],
  });
  t.match(verdict(state(resource(ADDRESS, { ...ROLE_VALUES, permissions_boundary: POLICY }), inline())),
    new RegExp(`^unknown: permissions boundary ${POLICY}`));
});

test("what Terraform may have failed to write for a tainted resource of a state is unknown", async (t) => {
  const role = resource(ADDRESS, ROLE_VALUES);
  const tainted = (fields: Fields): Fields => ({ ...fields, tainted: true });
  t.match(verdict(state(role, tainted(inline()))), /^unknown: .*aws_iam_role_policy\.in\.policy, which is known after/);
  t.match(verdict(state(tainted(role), inline())), /^unknown: /);
  const target = dataOf(state(tainted(resource(ADDRESS, { ...ROLE_VALUES, arn: ROLE }))));
  t.match(ask(APP, target), /^unknown: /);
  const attachment = resource("aws_iam_role_policy_attachment.a", { role: "app", policy_arn: POLICY });
  const policy = resource("aws_iam_policy.p", { arn: POLICY, policy: GRANT });
  t.match(verdict(state(role, tainted(attachment), policy)), /^unknown: /);
  t.match(verdict(state(role, attachment, tainted(policy))), /^unknown: /);
});

test("reads only resources of IAM, and data sources only for policies", async (t) => {
  const password = resource("aws_db_instance.d", { password: "secret", arn: APP });
  const looked = resource("data.aws_iam_role.app", { arn: APP, assume_role_policy: TRUST }, "data");
  t.equal(dataOf(state(password, looked)).accountOf(APP), null);
  const policy = resource("data.aws_iam_policy.p", { arn: POLICY, policy: GRANT }, "data");
  t.equal(dataOf(state(policy, {}, { type: "aws_iam_role" })).policy(POLICY), GRANT);
});

test("a state has users and groups", async (t) => {
  const bob = "arn:aws:iam::222222222222:user/bob";
  const group = resource("aws_iam_group.g", { arn: "arn:aws:iam::222222222222:group/g", name: "g" });
  const user = resource("aws_iam_user.bob", { arn: bob, name: "bob" });
  const file = (...resources: readonly Fields[]): string => ask(bob, dataOf(
    exportOf({ RoleDetailList: [roleDetail(ROLE, document(allow({ AWS: "222222222222" })))] }),
    state(user, group, ...resources),
  ));
  const member = resource("aws_iam_group_membership.m", { users: ["bob"], group: "g" });
  const members = resource("aws_iam_user_group_membership.m", { user: "bob", groups: ["g"] });
  const groupPolicy = resource("aws_iam_group_policy.p", { group: "g", policy: GRANT });
  t.match(file(), /^no/);
  t.match(file(groupPolicy), /^no/);
  t.equal(file(groupPolicy, member), "yes");
  t.equal(file(groupPolicy, members), "yes");
  t.equal(file(resource("aws_iam_user_policy.p", { user: "bob", name: "in", policy: GRANT })), "yes");
  for (const address of ["aws_iam_user_policy_attachment.a", "aws_iam_group_policy_attachment.a"]) {
    const attachment = resource(address, { user: "bob", group: "g", policy_arn: POLICY });
    t.equal(file(attachment, member), `unknown: identity policy ${POLICY}`);
  }
});

test("what a plan knows after apply is unknown, and named", async (t) => {
  const unknown = { arn: true, unique_id: true, inline_policy: true, managed_policy_arns: true, tags_all: true };
  const configuration = (...expressions: readonly (readonly [string, Fields])[]): Fields => ({
    resources: expressions.map(([address, fields]) => ({ address, expressions: fields })),
  });
  const created = { values: roleValues(), unknown };
  const known = configuration([ADDRESS, { name: {}, assume_role_policy: {} }]);
  const grantIn = { values: { name: "in", role: "app", policy: GRANT } };
  const file = (fields: Parameters<typeof plan>[0], config: Fields = known): string => (
    verdict(["111122223333", plan({ [ADDRESS]: created, ...fields }, config)])
  );
  t.equal(file({ "aws_iam_role_policy.in": grantIn }), "yes", "attributes that are not set are not unknown");
  t.match(file({ "aws_iam_role_policy.in": null }), /^no/, "a resource that is deleted");
  t.match(file({ "aws_iam_role_policy.in": grantIn }, configuration([ADDRESS, { inline_policy: {} }])),
    /^unknown: .*\(aws_iam_role.app.inline_policy, which is known after apply\)/);
  t.match(file({ "aws_iam_role_policy.in": grantIn }, configuration([ADDRESS, { managed_policy_arns: {} }])),
    /^unknown: .*in the attached policies of .*\(aws_iam_role.app.managed_policy_arns, which is known after apply\)/);
  const block = (policy: unknown): string => file({ [ADDRESS]: {
    values: roleValues({ inline_policy: [{ name: "in", policy: GRANT }] }),
    unknown: { arn: true, inline_policy: [{ policy }] },
  } }, configuration([ADDRESS, { inline_policy: {} }]));
  const dynamic = { values: roleValues({ inline_policy: [{ name: "deny" }] }),
    unknown: { arn: true, inline_policy: [{ policy: true }] } };
  t.match(file({ [ADDRESS]: dynamic, "aws_iam_role_policy.in": grantIn }), /^unknown: .*inline_policy, which is known/,
    "a dynamic block has no expression");
  t.equal(block(null), "yes", "every value of a block is known");
  t.match(block(true), /^unknown: .*\(aws_iam_role.app.inline_policy, which is known after apply\)/);
  t.equal(file({ "aws_iam_role_policy.in": { values: { name: "in", role: "app" }, unknown: { policy: true } } }),
    "unknown: valid identity policy in (not known: aws_iam_role_policy.in.policy, which is known after apply)");
  t.match(file({ "aws_iam_role_policy.in": { values: { policy: GRANT }, unknown: { role: true } } }),
    /^unknown: .*\(aws_iam_role_policy.in.role, which is known after apply\)/);
  t.match(file({ "aws_iam_role_policy_attachment.a": { values: { role: "app" }, unknown: { policy_arn: true } } }),
    /^unknown: .*in the attached policies of .*\(aws_iam_role_policy_attachment.a.policy_arn, which is known/);
  const boundary = { ...created, unknown: { ...unknown, permissions_boundary: true } };
  const bounded = configuration([ADDRESS, { permissions_boundary: {} }]);
  const withBoundary = file({ [ADDRESS]: boundary, "aws_iam_role_policy.in": grantIn }, bounded);
  t.match(withBoundary, /^unknown: permissions boundary of/);
  const data = dataOf(["111122223333", plan({ [ADDRESS]: created }, configuration([ADDRESS, { tags_all: {} }]))]);
  t.equal(data.accountOf(APP)?.roles.get(APP)?.tags, null);
});

test("the groups of a user may be known after apply", async (t) => {
  const bob = "arn:aws:iam::222222222222:user/bob";
  const file = plan({
    "aws_iam_user.bob": { values: { arn: bob, name: "bob" } },
    "aws_iam_user_group_membership.m": { values: { user: "bob" }, unknown: { groups: true } },
  });
  const target = exportOf({ RoleDetailList: [roleDetail(ROLE, document(allow({ AWS: "222222222222" })))] });
  t.equal(ask(bob, dataOf(target, file)), `unknown: identity policy in the groups of ${bob} `
    + "(aws_iam_user_group_membership.m.groups, which is known after apply)");
});

test("references of the configuration name what a plan does not know", async (t) => {
  const config = {
    module_calls: { m: { module: { resources: [
      { address: "aws_iam_role.app", expressions: { name: {} } },
      { address: "aws_iam_role_policy.in", expressions: {
        role: { references: ["aws_iam_role.app.id", "aws_iam_role.app"] },
      } },
      { address: "aws_iam_role_policy_attachment.a", expressions: {
        role: { references: ["aws_iam_role.app.name", "aws_iam_role.app", 1] },
        policy_arn: { references: ["aws_iam_policy.p.arn", "aws_iam_policy.p"] },
      } },
    ] } } },
  };
  const role = (name: string): ResourceFields => ({ values: roleValues({ name }), unknown: { arn: true } });
  const grants = (index: string, ...roles: readonly string[]): Fields => plan({
    ...Object.fromEntries(roles.map((name) => [`module.m.aws_iam_role.app["${name}"]`, role(name)])),
    [`module.m.aws_iam_role_policy.in${index}`]: { values: { name: "in", policy: GRANT }, unknown: { role: true } },
  }, config);
  const account = "111122223333";
  t.equal(verdict([account, grants('["x"]', "app")]), "yes", "the only role");
  t.equal(verdict([account, grants('["app"]', "app", "other")]), "yes", "the role with the same key");
  t.match(verdict([account, grants('["other"]', "app", "other")]), /^no/);
  for (const index of ['["x"]', ""]) {
    t.match(verdict([account, grants(index, "app", "other")]), /^unknown: .*in the inline policies of/, index);
  }
  const indexed = (key: string): string => verdict([account, plan({
    ...Object.fromEntries(["app", "other"].map((name) => [`module.m["a.b"].aws_iam_role.app["${name}"]`, role(name)])),
    'module.m["a.b"].aws_iam_role_policy.in["app"]': { values: { name: "in", policy: GRANT }, unknown: { role: true } },
  }, { module_calls: { m: { module: { resources: [
    { address: "aws_iam_role.app", expressions: { name: {} } },
    { address: "aws_iam_role_policy.in", expressions: { role: {
      references: [`aws_iam_role.app["${key}"].id`, `aws_iam_role.app["${key}"]`, "aws_iam_role.app"],
    } } },
  ] } } } })]);
  t.equal(indexed("app"), "yes", "the role with the stated key");
  t.match(indexed("other"), /^no/, "a stated key, and not the own one");
  t.match(indexed("gone"), /^unknown/, "a stated key that no role has");
  const attached = plan({
    "module.m.aws_iam_role.app": role("app"),
    "module.m.aws_iam_policy.p": { values: { name: "sts", path: "/", policy: GRANT }, unknown: { arn: true } },
    "module.m.aws_iam_role_policy_attachment.a": { unknown: { role: true, policy_arn: true } },
  }, config);
  t.equal(verdict([account, attached]), "yes");
  const generated = plan({
    "module.m.aws_iam_role.app": { values: { name_prefix: "x" }, unknown: { name: true, arn: true } },
    "module.m.aws_iam_role_policy.in": { values: { policy: GRANT }, unknown: { role: true } },
    "aws_iam_role.o": role("app"),
  }, config);
  t.match(verdict([account, generated]), /^no/, "the policy of a role without a known name belongs to no other role");
});

test("the account of a new role must be given", async (t) => {
  const file = plan({ [ADDRESS]: { values: roleValues(), unknown: { arn: true } } });
  t.throws(() => dataOf(file), {
    message: "the account of the role app is not known; say which it is: --iam 111122223333=FILE, or "
      + "--iam arn:aws-cn:iam::111122223333:root=FILE",
  });
  const data = dataOf(["arn:aws-cn:iam::111122223333:root", file]);
  t.ok(data.accountOf("arn:aws-cn:iam::111122223333:role/x")?.roles.has("arn:aws-cn:iam::111122223333:role/team/app"));
  t.same(dataOf(["111122223333", plan({ [ADDRESS]: { values: { name: "x" }, unknown: { path: true } } }, {
    resources: [{ address: ADDRESS, expressions: { path: {} } }],
  })]).accountOf(APP), null, "a path that is not known");
});

test("rejects other files of Terraform", async (t) => {
  t.throws(() => dataOf({ version: 4, lineage: "x", resources: [] }), /pass the output of terraform show -json/);
  t.throws(() => dataOf({ format_version: "2.0", values: {} }), /format_version "2.0" is not 1.x; use Terraform 1.1/);
  t.throws(() => dataOf({ format_version: 1 }), /format_version "1" is not 1.x/);
  t.throws(() => dataOf({ format_version: "1.0" }), /neither values of a state nor resource_changes/);
  const deposed = { ...resource(ADDRESS, {}), deposed: "x", change: { after: ROLE_VALUES } };
  t.equal(dataOf({ format_version: "1.2", resource_changes: [deposed] }).accountOf(APP), null);
});
