import { test } from "tap";
import { field } from "../../../shared/formats/json.ts";
import { permissionLines, permissionsFor } from "../../../shared/trust/policy-plan.ts";
import type { NeededPolicy } from "../../../shared/trust/needed-policies.ts";
import { differenceTo } from "../../../shared/trust/policy-comparison.ts";
import { cloudFormationLines, type PolicyResource, terraformLines } from "../../../shared/trust/policy-formats.ts";
import { selectorOf } from "./needed-selector.ts";
import { APP, type Fields, ROLE } from "./trust-cases.ts";

const STATEMENT = {
  Sid: "AssumeRole", Effect: "Allow", Principal: { AWS: APP }, Action: "sts:AssumeRole",
  Condition: { StringEquals: { "sts:ExternalId": "${aws:username}%{x}" } },
} as const;
const POLICY: NeededPolicy = { Version: "2012-10-17", Statement: [STATEMENT] };

function roleResource(arn: string, remarks: readonly string[] = []): PolicyResource {
  return { kind: "role", arn, policy: POLICY, remarks };
}

/** Returns the logical IDs of a template. */
function identifiers(template: string): string[] {
  return Object.keys(Object(field(JSON.parse(template), "Resources")));
}

test("Terraform reads the texts of a policy literally", async (t) => {
  t.equal(terraformLines([roleResource(APP, ["selectors: a"])]).join("\n"), `# ${APP}
# selectors: a
resource "aws_iam_role" "role_111122223333_app" {
  name = "app"
  path = "/team/"
  assume_role_policy = jsonencode({
    "Version" : "2012-10-17",
    "Statement" : [
      {
        "Sid" : "AssumeRole",
        "Effect" : "Allow",
        "Principal" : {
          "AWS" : "${APP}"
        },
        "Action" : "sts:AssumeRole",
        "Condition" : {
          "StringEquals" : {
            "sts:ExternalId" : "$\${aws:username}%%{x}"
          }
        }
      }
    ]
  })
}
`);
  const caller = terraformLines([{ ...roleResource(APP), kind: "caller" }]);
  t.match(caller, ["", 'resource "aws_iam_role_policy" "caller_111122223333_app" {', '  name = "assume-ack-roles"']
    .map((line) => (line === "" ? `# ${APP}` : line)));
});

test("CloudFormation has a template for each account, and texts without escapes", async (t) => {
  const text = cloudFormationLines([
    roleResource(ROLE), roleResource(APP, ["selectors: a"]), { ...roleResource(APP), kind: "caller" },
  ]).join("\n");
  const [first = "", second = ""] = text.split("\n---\n").map((one) => one.replaceAll(/^#.*\n/gm, ""));
  t.same(JSON.parse(first), { Resources: {
    RoleApp: { Type: "AWS::IAM::Role", Properties: {
      RoleName: "app", Path: "/team/", AssumeRolePolicyDocument: POLICY,
    } },
    CallerApp: { Type: "AWS::IAM::RolePolicy", Properties: {
      PolicyName: "assume-ack-roles", RoleName: "app", PolicyDocument: POLICY,
    } },
  } });
  t.same(identifiers(second), ["RoleTarget"]);
  t.match(text, /^# account 111122223333\n# arn:aws:iam::111122223333:role\/team\/app\n# selectors: a\n/);
});

test("two names that differ only in characters that labels cannot have get different labels", async (t) => {
  const roles = ["a.b", "a=b", "a_bx2", "a,b"].map((name) => roleResource(`arn:aws:iam::111122223333:role/${name}`));
  const labels = terraformLines(roles).join("\n").match(/"role_\w+"/g);
  t.equal(new Set(labels).size, 4);
  t.equal(identifiers(cloudFormationLines(roles).filter((one) => !one.startsWith("#")).join("")).length, 4);
});

test("compares statements without their Sid and the order of lists", async (t) => {
  const same = { Effect: "Allow", Action: ["sts:AssumeRole"], Principal: { AWS: [APP] }, Condition: {
    StringEquals: { "sts:ExternalId": ["${aws:username}%{x}"] },
  } };
  const of = (document: unknown): Fields => ({ ...differenceTo(POLICY, JSON.stringify(document)) });
  t.same(of({ Statement: same }), { add: [], remove: [] });
  const other = { ...same, Principal: "*" };
  t.same(of({ Statement: [other, same, 1] }), { add: [], remove: [other, 1] });
  t.same(of({ Statement: [other] }), { add: [STATEMENT], remove: [other] });
  t.same(of({}), { add: [STATEMENT], remove: [] });
  t.same(differenceTo(POLICY, "{"), { add: [STATEMENT], remove: [] });
});

test("names the policies that ACK recommends, in the partition of the role, and what they lack", async (t) => {
  const types = [
    { group: "s3.services.k8s.aws", version: "", kind: "" },
    { group: "iam.services.k8s.aws", version: "", kind: "User" },
    { group: "sns.services.k8s.aws", version: "", kind: "Topic" }, { group: "", version: "", kind: "Bucket" },
    { group: "sqs.services.k8s.aws", version: "", kind: "Queue" },
  ];
  const found = permissionsFor([selectorOf({}, {
    arn: "arn:aws-cn:iam::111122223333:role/a", resourceTypeSelector: types,
  })]);
  t.match(found, [
    {
      group: "iam.services.k8s.aws", kinds: ["User"], managedPolicy: null,
      inlinePolicy: /iam-controller\/blob\/main\/config\/iam\/recommended-inline-policy$/,
      missing: ["iam:DeleteUserPermissionsBoundary"], warning: /not complete/,
    },
    { group: "s3.services.k8s.aws", kinds: [], managedPolicy: "arn:aws-cn:iam::aws:policy/AmazonS3FullAccess" },
    { group: "sns.services.k8s.aws", managedPolicy: null, inlinePolicy: null, warning: /^no recommended policy/ },
    { group: "sqs.services.k8s.aws", missing: [], inlinePolicy: null },
  ]);
  t.same(permissionsFor([selectorOf()]), [], "all kinds");
  t.same(permissionsFor([]), []);
  const iam = permissionsFor([selectorOf({}, { resourceTypeSelector: [{ ...types[1], kind: "" }] })]);
  t.equal(iam[0]?.missing.length, 6, "every kind of the group");
  t.match(permissionLines(found).slice(0, 4), [
    "permissions for iam.services.k8s.aws (User):", /^ {2}ACK recommends https/, /^ {2}known to lack iam:/,
    /not complete/,
  ]);
});
