import { test } from "tap";
import { IAMData } from "../../../shared/trust/iam-data.ts";
import { IAMFile } from "../../../shared/trust/iam-inputs.ts";
import { answer } from "../../../shared/trust/trust-question.ts";
import { ask, question } from "./ask.ts";
import { dataOf, document, exportOf, roleDetail } from "./iam-export.ts";
import { allow, APP, type Fields, grant, NEAR, ROLE } from "./trust-cases.ts";

const ACCOUNT = "222222222222";
const NEAR_ROLE = exportOf({ RoleDetailList: [roleDetail(NEAR, document())] });
function iamRole(properties: Fields, fields: Fields = {}): Fields {
  return { Type: "AWS::IAM::Role", Properties: properties, ...fields };
}

/** Returns the template of the target with a trust policy. */
function target(statement: Fields, resources: Fields = {}): Fields {
  const trust = document(statement);
  return { Resources: { Target: iamRole({ RoleName: "target", AssumeRolePolicyDocument: trust }), ...resources } };
}

function near(template: Fields): string {
  return ask(NEAR, dataOf([ACCOUNT, template], NEAR_ROLE));
}

test("a template has roles with their trust policies", async (t) => {
  t.equal(near(target(allow({ AWS: NEAR }))), "yes");
  t.match(near(target(allow({ AWS: APP }))), /^no/);
  const role = dataOf([ACCOUNT, target(allow({ AWS: APP }))]).accountOf(ROLE)?.roles.get(ROLE);
  t.match(role, { maxSessionSeconds: 3600, boundary: null, gaps: [], files: ["file 1"] });
  t.equal(role?.tags?.size, 0);
  t.equal(near(target(allow({ AWS: NEAR }), { Bucket: { Type: "AWS::S3::Bucket" }, Untyped: {} })), "yes");
  const trust = document(allow({ AWS: NEAR }));
  const conditional = iamRole({ RoleName: "target", AssumeRolePolicyDocument: trust }, { Condition: "IsProd" });
  t.match(near({ Resources: { Target: conditional } }), /^unknown: .*Condition IsProd/);
  const limited = iamRole({ RoleName: "target", MaxSessionDuration: { Ref: "Seconds" } });
  t.equal(dataOf([ACCOUNT, { Resources: { Target: limited } }]).role(ROLE)?.maxSessionSeconds, null);
});

test("resolves what the template and its account state", async (t) => {
  const name = { "Fn::Join": ["", ["ne", "ar"]] };
  const caller = { Near: iamRole({ RoleName: name, AssumeRolePolicyDocument: document() }) };
  const principals: readonly unknown[] = [
    { "Fn::GetAtt": ["Near", "Arn"] }, { "Fn::GetAtt": "Near.Arn" }, { "Fn::Sub": "${Near.Arn}" },
    { "Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/${Near}" },
    { "Fn::Sub": ["arn:aws:iam::${Account}:role/${N}", { Account: { Ref: "AWS::AccountId" }, N: { Ref: "Near" } }] },
    { "Fn::Join": [":", ["arn", { Ref: "AWS::Partition" }, "iam", "", { Ref: "AWS::AccountId" }, "role/near"]] },
  ];
  for (const AWS of principals) {
    t.match(near(target(allow({ AWS }), caller)), /^yes/, JSON.stringify(AWS));
  }
  const condition = { StringEquals: { "aws:userid": { "Fn::Sub": "${!a}" } } };
  const literal = target({ ...allow({ AWS: NEAR }), Condition: condition });
  t.match(dataOf([ACCOUNT, literal]).accountOf(ROLE)?.roles.get(ROLE)?.trust, /"\$\{a\}"/);
});

test("what depends on parameters is unknown, and named", async (t) => {
  const cases: Readonly<Record<string, unknown>> = {
    "Ref Param": { Ref: "Param" }, "Fn::GetAtt Other.Arn": { "Fn::GetAtt": ["Other", "Arn"] },
    "Ref P": { "Fn::Sub": "arn:aws:iam::${P}:root" }, "Fn::If Is": { "Fn::If": ["Is", "a", "b"] },
    "Fn::ImportValue x": { "Fn::ImportValue": "x" }, "Fn::Select": { "Fn::Select": [0, []] },
    "Fn::GetAtt Target.RoleId": { "Fn::GetAtt": ["Target", "RoleId"] }, "Fn::Join": { "Fn::Join": ["", "x"] },
    "Fn::Sub": { "Fn::Sub": {} }, "a text": { "Fn::Join": ["", [{}]] }, "Fn::Split": { "Fn::Split": {} },
    "Ref Item": [{ Ref: "Item" }], "a value": { "ack-role-resolver/unresolved": 1 },
  };
  for (const [name, AWS] of Object.entries(cases)) t.equal(near(target(allow({ AWS }))), `unknown: ${name}`);
  t.match(near(target(allow({ AWS: [NEAR, { Ref: "Param" }] }))), /^yes/, "another principal is certain");
  t.match(near(target(allow({ AWS: NEAR, Service: { Ref: "Param" } }))), /^yes/);
  t.equal(near(target(allow({ Ref: "Param" }))), "unknown: Ref Param");
  t.equal(near(target({ ...allow({ AWS: NEAR }), Action: ["sts:TagSession", { Ref: "A" }] })), "unknown: Ref A");
  t.equal(near(target({ ...allow({ AWS: NEAR }), Effect: { Ref: "E" } })),
    `unknown: valid trust policy ${ROLE} (Statement[0].Effect: Effect is not Allow or Deny)`);
  const condition = (value: unknown): string => near(target({ ...allow({ AWS: NEAR }), Condition: value }));
  t.match(condition({ StringEquals: { "sts:ExternalId": { Ref: "Id" } } }), /^no/, "the call sends none");
  for (const operator of ["StringNotEquals", "StringEqualsIfExists", "Null"]) {
    t.equal(condition({ [operator]: { "sts:ExternalId": { Ref: "Id" } } }), "unknown: Ref Id", operator);
  }
  t.equal(condition({ StringEquals: { "aws:PrincipalArn": { Ref: "Id" } } }), "unknown: Ref Id");
  t.equal(condition({ StringEquals: { Ref: "Id" } }), "unknown: Ref Id");
  t.equal(condition({ Ref: "Id" }), "unknown: Ref Id");
  t.match(condition({ StringEquals: { "sts:ExternalId": "x", "aws:PrincipalOrgID": { Ref: "Id" } } }), /^no/);
  t.equal(condition("x"), `unknown: valid trust policy ${ROLE} (Statement[0].Condition: Condition is not an object)`);
  t.equal(near(target({ ...allow({ Ref: "P" }), Condition: "x" })), condition("x"), "a principal is not known either");
  const invalid = { StringEquals: { "aws:PrincipalArn": { Ref: "Id" } }, Bool: "x" };
  t.match(condition(invalid), /Condition.Bool: Bool is not an object/);
  const denies = [allow({ AWS: NEAR }), { ...allow({ Ref: "P" }), Effect: "Deny" }];
  const trusting = (trust: Fields): string => (
    near({ Resources: { Target: iamRole({ RoleName: "target", AssumeRolePolicyDocument: trust }) } })
  );
  t.equal(trusting(document(...denies)), "unknown: Ref P");
  for (const whole of [{ Ref: "Doc" }, { Statement: { Ref: "Doc" } }, document({ Ref: "Doc" })]) {
    t.match(trusting(whole), new RegExp(`^unknown: valid trust policy ${ROLE} \\(.*not known: Ref Doc\\)$`));
  }
});

test("a template without its account leaves names in it unknown", async (t) => {
  const fault = "the account of the role target is not known; say which it is: --iam 111122223333=FILE, or "
    + "--iam arn:aws-cn:iam::111122223333:root=FILE";
  t.throws(() => dataOf(target(allow({ AWS: NEAR }))), { message: fault });
  t.equal(dataOf({ Resources: { A: iamRole({}) } }).accountOf(ROLE), null, "a generated name cannot be asked about");
  t.throws(() => dataOf({ Resources: [] }), { message: "Resources is not an object" });
  const file = new IAMFile({ data: new IAMData(), file: "x", subject: null });
  const add = (): void => file.add({ key: "Resources", index: null, value: {} });
  add();
  t.throws(add, { message: "Resources is defined twice; pass one file for each template" });
});

test("references that form a cycle or grow are bounded", async (t) => {
  const cyclic = iamRole({ RoleName: { "Fn::Sub": "${B}x" } });
  const cycle = { A: cyclic, B: iamRole({ RoleName: { Ref: "A" } }) };
  t.equal(near(target(allow({ AWS: { "Fn::GetAtt": "A.Arn" } }), cycle)), "unknown: Fn::GetAtt A.Arn");
  const large = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`L${i}`, iamRole({
    RoleName: i === 0 ? "x".repeat(1000) : { "Fn::Sub": `\${L${i - 1}}`.repeat(1000) },
  })]));
  t.match(near(target(allow({ AWS: { "Fn::Sub": "${L29}" } }), large)), /^unknown: Ref L29/);
  const doubled = (depth: number): unknown => (
    depth === 0 ? "" : { "Fn::Sub": ["${x}${x}", { x: doubled(depth - 1) }] }
  );
  t.match(near(target(allow({ AWS: doubled(60) }))), /^no/, "each variable is resolved once");
  const open = "${".repeat(500_000);
  t.match(near(target(allow({ AWS: { "Fn::Sub": open } }))), /^unknown: a text of more than 131072 characters/);
});

test("a template has the policies of a caller", async (t) => {
  const trust = exportOf({ RoleDetailList: [roleDetail(ROLE, document(allow({ AWS: APP })))] });
  const app = (properties: Fields, resources: Fields = {}): string => ask(APP, dataOf(trust, ["111122223333", {
    Resources: {
      App: iamRole({ RoleName: "app", Path: "/team/", AssumeRolePolicyDocument: {}, ...properties }), ...resources,
    },
  }]));
  const policyOf = (type: string, fields: Fields, more: Fields = {}): Fields => (
    { P: { Type: `AWS::IAM::${type}`, Properties: { PolicyDocument: document(grant()), ...fields }, ...more } }
  );
  t.match(app({}), /^no/);
  t.equal(app({ Policies: [{ PolicyName: "in", PolicyDocument: document(grant()) }, { Ref: "AWS::NoValue" }] }), "yes");
  t.match(app({ Policies: [{ "Fn::If": ["Is", {}, {}] }] }), /^unknown: .*\(Fn::If Is\)/);
  t.match(app({ Policies: { Ref: "X" } }), /^unknown: .*\(Ref X\)/);
  t.match(app({ ManagedPolicyArns: [{ Ref: "X" }] }), /^unknown: .*in the attached policies of .*\(Ref X\)/);
  const inline = { Policies: [{ PolicyName: "in", PolicyDocument: document(grant()) }] };
  t.match(app({ ...inline, PermissionsBoundary: { Ref: "X" } }), /^unknown: permissions boundary of/);
  t.equal(app({}, policyOf("Policy", { PolicyName: "in", Roles: [{ Ref: "App" }] })), "yes");
  t.equal(app({}, policyOf("RolePolicy", { PolicyName: { Ref: "N" }, RoleName: "app" })), "yes");
  t.match(app({}, policyOf("Policy", { PolicyName: "in", Roles: [{ Ref: "Param" }] })), /^unknown: .*\(Ref Param\)/);
  t.equal(app({}, policyOf("Policy", { PolicyName: "in", Roles: ["app"] }, { Condition: "IsProd" })),
    "unknown: valid identity policy in (not known: Condition IsProd)");
  const conditional = policyOf("ManagedPolicy", { ManagedPolicyName: "p", Roles: ["app"] }, { Condition: "IsProd" });
  t.match(app({}, conditional), /^unknown: .*\(not known: Condition IsProd\)/);
  const loop = { ...policyOf("Policy", { PolicyName: "in", Roles: ["app"] }), "Fn::ForEach::D": ["x", [], {}] };
  t.match(app({}, loop), /^unknown: .*\(Fn::ForEach::D\)/, "a loop may add a policy that denies");
  t.equal(app({ ManagedPolicyArns: [{ Ref: "P" }] }, policyOf("ManagedPolicy", { ManagedPolicyName: "p" })), "yes");
  t.equal(app({}, policyOf("ManagedPolicy", { ManagedPolicyName: "p", Roles: ["app"] })), "yes");
  const generated = policyOf("ManagedPolicy", { Roles: ["app"] });
  t.match(app({}, generated), /^unknown: .*\(ManagedPolicy P without a known ARN\)/);
  const other = grant({ Resource: { Ref: "Role" } });
  t.equal(app({ Policies: [{ PolicyName: "in", PolicyDocument: document(other) }] }), "unknown: Ref Role");
  const s3 = grant({ Resource: { Ref: "Bucket" }, Action: "s3:*" });
  t.match(app({ Policies: [{ PolicyDocument: document(s3) }] }), /^no/, "a statement about other actions");
});

test("a template has users and groups", async (t) => {
  const bob = "arn:aws:iam::222222222222:user/bob";
  const trust = target(allow({ AWS: ACCOUNT }));
  const asked = (user: Fields, resources: Fields = {}): string => answer(question(bob), dataOf([ACCOUNT, {
    Resources: {
      ...Object(trust["Resources"]), Bob: { Type: "AWS::IAM::User", Properties: { UserName: "bob", ...user } },
      G: { Type: "AWS::IAM::Group", Properties: {
        GroupName: "g", Policies: [{ PolicyName: "in", PolicyDocument: document(grant()) }],
      } },
      ...resources,
    },
  }]), 0).verdict;
  t.equal(asked({}), "no");
  t.equal(asked({ Groups: [{ Ref: "G" }] }), "yes");
  t.equal(asked({ Groups: [{ Ref: "X" }] }), "unknown");
  const add = { Type: "AWS::IAM::UserToGroupAddition", Properties: { GroupName: "g", Users: [{ Ref: "Bob" }] } };
  t.equal(asked({}, { Add: add }), "yes");
  t.equal(asked({}, { Add: { ...add, Condition: "IsProd" } }), "unknown");
  t.equal(asked({ Tags: [{ Key: "a", Value: { Ref: "X" } }] }), "no");
});

test("a macro of the user can change every resource, and an include the fields beside it", async (t) => {
  const template = target(allow({ AWS: NEAR }));
  const message = (name: string): string => (
    `the macro "${name}" can change every resource; pass the processed template, as `
      + "aws cloudformation get-template --template-stage Processed prints it"
  );
  t.equal(near({ ...template, Transform: ["AWS::Serverless-2016-10-31", "AWS::LanguageExtensions"] }), "yes");
  t.throws(() => near({ ...template, Transform: "Mine" }), { message: message("Mine") });
  t.throws(() => near({ ...template, Transform: ["AWS::LanguageExtensions", "Mine"] }), { message: message("Mine") });
  t.throws(() => near({ ...template, Transform: 7 }), { message: message("") });
  t.throws(() => near({ ...template, Transform: { Name: "AWS::Include" } }), { message: message("AWS::Include") });
  const include = { "Fn::Transform": { Name: "AWS::Include" } };
  const role = (properties: Fields): Fields => ({
    Resources: { Target: iamRole({ RoleName: "target", AssumeRolePolicyDocument: properties }) },
  });
  t.match(near(role({ ...document(allow({ AWS: NEAR })), ...include })), /^unknown: .*Fn::Transform/);
  const all = iamRole({ RoleName: "target", AssumeRolePolicyDocument: document(allow({ AWS: NEAR })), ...include });
  t.equal(dataOf([ACCOUNT, { Resources: { Target: all } }]).role(ROLE), null, "its name is not known");
});
