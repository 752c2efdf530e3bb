import { test } from "tap";
import { ask } from "./ask.ts";
import { dataOf, document, exportOf, type InputFile, roleDetail } from "./iam-export.ts";
import { ADDRESS, GRANT, plan, resource, type ResourceFields, roleValues, state } from "./terraform-files.ts";
import { allow, APP, type Fields, grant, ROLE } from "./trust-cases.ts";

const TARGET = exportOf({ RoleDetailList: [roleDetail(ROLE, document(allow({ AWS: APP })))] });
const POLICY = "arn:aws:iam::111122223333:policy/sts";
const OTHER_POLICY = "arn:aws:iam::111122223333:policy/other";
const DENY = JSON.stringify(document(grant({ Effect: "Deny" })));
const ATTACHED = [[POLICY, { PolicyVersion: { Document: document(grant()) } }]] as const;

function copies(...names: readonly string[]): Fields {
  return { inline_policy: names.map((name) => ({ name, policy: GRANT })) };
}

function roleWith(fields: Fields): Fields {
  return roleValues({ arn: APP, ...fields });
}

function policyOf(name: string, fields: Fields = {}): Fields {
  return { name, role: "app", policy: GRANT, ...fields };
}

function deleted(before: Fields, actions: readonly string[] = ["delete"]): ResourceFields {
  return { before, values: null, actions };
}

/** Returns a resource that a plan changes, by default not at all. */
function changed(before: Fields, values: Fields = before): ResourceFields {
  return { before, values };
}

function verdict(...files: readonly InputFile[]): string {
  return ask(APP, dataOf(TARGET, ...files));
}

/** The answer for a plan in which the configuration sets these attributes of the role. */
function planned(resources: Readonly<Record<string, ResourceFields>>, ...set: readonly string[]): string {
  const expressions = Object.fromEntries(set.map((name) => [name, {}]));
  return verdict(...ATTACHED, plan(resources, { resources: [{ address: ADDRESS, expressions }] }));
}

const IN = "aws_iam_role_policy.in";
const OUT_OF_DATE = /^unknown: .* of aws_iam_role.app.(inline_policy|managed_policy_arns), which may be out of date\)/;

test("a plan that deletes or changes the policy of a role leaves no copy of it", async (t) => {
  const role = { [ADDRESS]: changed(roleWith(copies("in"))) };
  t.equal(planned({ ...role, [IN]: changed(policyOf("in")) }), "yes");
  t.match(planned({ ...role, [IN]: deleted(policyOf("in")) }), /^no/);
  t.match(planned({ ...role, [IN]: changed(policyOf("in"), policyOf("in", { policy: DENY })) }), /^no: denied/);
  t.match(planned({ ...role, [IN]: changed(policyOf("in"), policyOf("new", { policy: DENY })) }), /^no/, "renamed");
  t.match(planned({ ...role, [IN]: changed(policyOf("in"), policyOf("in", { role: "b" })) }), /^no/, "another role");
  t.match(planned({ ...role, [IN]: deleted(policyOf("in"), ["forget"]) }), "yes", "Terraform forgets it only");
  t.equal(planned(role), "yes", "no resource has or had a policy of the role");
  const unknown = { before: policyOf("in"), values: { name: "in", role: "app" }, unknown: { policy: true } };
  t.match(planned({ ...role, [IN]: unknown }), /^unknown: valid identity policy in \(not known: aws_iam/);
});

test("a plan that detaches a policy leaves no copy of its ARN", async (t) => {
  const role = { [ADDRESS]: changed(roleWith({ managed_policy_arns: [POLICY] })) };
  const attachment = { role: "app", policy_arn: POLICY };
  const one = "aws_iam_role_policy_attachment.a";
  t.equal(planned({ ...role, [one]: changed(attachment) }), "yes");
  t.match(planned({ ...role, [one]: deleted(attachment) }), /^no/);
  t.match(planned({ ...role, [one]: changed(attachment, { ...attachment, policy_arn: OTHER_POLICY }) }),
    new RegExp(`^unknown: identity policy ${OTHER_POLICY}$`));
  const many = "aws_iam_policy_attachment.a";
  const roles = (...names: readonly string[]): Fields => ({ roles: names, policy_arn: POLICY });
  t.match(planned({ ...role, [many]: changed(roles("app", "b"), roles("b")) }), /^no/);
  t.equal(planned({ ...role, [many]: changed(roles("b"), roles("b", "app")) }), "yes");
});

test("a copy that is not of a resource is unknown, unless the configuration sets it", async (t) => {
  const gone = { [IN]: deleted(policyOf("in")) };
  const both = changed(roleWith(copies("in", "by-hand")));
  t.match(planned({ [ADDRESS]: both, ...gone }), OUT_OF_DATE);
  t.equal(planned({ [ADDRESS]: both, ...gone }, "managed_policy_arns"), planned({ [ADDRESS]: both, ...gone }));
  t.match(planned({ [ADDRESS]: both, ...gone }, "inline_policy"), /in of aws_iam_role.app.inline_policy, which may be/);
  const own = changed(roleWith(copies("own")));
  t.equal(planned({ [ADDRESS]: own, ...gone }, "inline_policy"), "yes");
  t.equal(planned({ [ADDRESS]: changed(roleWith({}), roleWith(copies("own"))), ...gone }), "yes", "a dynamic block");
  const differing = { [ADDRESS]: changed(roleWith(copies("in"))), [IN]: changed(policyOf("in", { policy: "{}" })) };
  t.match(planned(differing, "inline_policy"), OUT_OF_DATE, "Terraform writes now one, now the other");
});

test("of two roles of one name, a copy without its resource is unknown", async (t) => {
  const other = roleWith({ arn: "arn:aws:iam::333333333333:role/app", ...copies() });
  const roles = { [ADDRESS]: changed(roleWith(copies("in"))), "aws_iam_role.other": changed(other) };
  t.match(planned({ ...roles, [IN]: deleted(policyOf("in")) }), OUT_OF_DATE);
});

test("in a state, the policy of a resource and a copy that differs are unknown", async (t) => {
  const role = resource(ADDRESS, roleWith(copies("in")));
  const inline = (fields: Fields): Fields => resource(IN, policyOf("in", fields));
  t.equal(verdict(state(role)), "yes", "the policy of a block");
  t.equal(verdict(state(role, inline({}))), "yes");
  t.match(verdict(state(role, inline({ policy: JSON.stringify(document(grant({ Sid: "New" }))) }))), OUT_OF_DATE);
  t.match(verdict(state(role, inline({ name: "new" }))), OUT_OF_DATE);
  const attached = resource(ADDRESS, roleWith({ managed_policy_arns: [POLICY] }));
  const attachment = (arn: string): Fields => (
    resource("aws_iam_role_policy_attachment.a", { role: "app", policy_arn: arn })
  );
  t.equal(verdict(...ATTACHED, state(attached, attachment(POLICY))), "yes");
  t.match(verdict(...ATTACHED, state(attached, attachment(OTHER_POLICY))), /which may be out of date/);
});
