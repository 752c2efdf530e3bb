import { writeFileSync } from "node:fs";
import path from "node:path";
import { type Test, test } from "tap";
import { readIAMFiles } from "../../../cli/trust/iam-files.ts";
import { ask } from "../../shared/trust/ask.ts";
import { document, exportOf, roleDetail } from "../../shared/trust/iam-export.ts";
import { allow, type Fields, NEAR, ROLE } from "../../shared/trust/trust-cases.ts";

const NEAR_ROLE = JSON.stringify(exportOf({ RoleDetailList: [roleDetail(NEAR, document())] }));
const TRUST = document(allow({ AWS: NEAR }));

/** Writes a file and returns its path. */
function fileOf(t: Test, name: string, content: string | Buffer): string {
  const file = path.join(t.testdir(), name);
  writeFileSync(file, content);
  return file;
}

test("recognizes each kind of file by its content", async (t) => {
  const manifest = [
    "apiVersion: v1", "kind: ConfigMap", "metadata: {name: c}", "---", "apiVersion: iam.services.k8s.aws/v1alpha1",
    "kind: Role", "metadata: {name: target}", "spec:", "  name: target",
    `  assumeRolePolicyDocument: '${JSON.stringify(TRUST)}'`,
  ].join("\n");
  const role = { Arn: ROLE, AssumeRolePolicyDocument: TRUST };
  const values = { name: "target", arn: ROLE, assume_role_policy: JSON.stringify(TRUST) };
  const state: Fields = { format_version: "1.0", values: { root_module: { resources: [
    { address: "aws_iam_role.t", type: "aws_iam_role", mode: "managed", values },
  ] } } };
  const folder = { near: NEAR_ROLE, manifest, role: JSON.stringify({ Role: role }, null, 4) };
  const texts = { ...folder, state: JSON.stringify(state), trust: `\u{FEFF}\n${JSON.stringify(TRUST)}` };
  const dir = t.testdir(texts);
  const files = ["222222222222=manifest", "role", "state", `${ROLE}=trust`];
  for (const file of files) {
    const [, subject = "", name = ""] = /^(.*=)?(.*)$/.exec(file) ?? [];
    const paths = [path.join(dir, "near"), `${subject}${path.join(dir, name)}`];
    t.equal(ask(NEAR, await readIAMFiles(paths)), "yes", file);
  }
});

test("rejects other files with their path, and the line of YAML", async (t) => {
  const list = "terraform show -json, manifests of iam.services.k8s.aws";
  const cases: Readonly<Record<string, readonly [content: string | Buffer, message: string]>> = {
    "other.json": ['{"Users": []}', list], "text.txt": ["hello", list], "empty.json": ["", "the text is empty"],
    "list.json": ["[]", "the text is not a JSON object"], "cut.json": ['{"Roles": [{"Arn"', "it is cut off"],
    "both.json": [
      '{"Roles": [], "Role": {}}', "the file contains aws iam list-roles and aws iam get-role; pass one file for each",
    ],
    "bytes.yaml": [Buffer.from([0x61, 0xFF]), "not valid UTF-8"],
    "resources.yaml": ["Resources: [A]", list],
    "manifest.yaml": ["apiVersion: v1\nkind: [", "line 2: invalid YAML"],
    "deep.json": [`{"Role": ${"[".repeat(4_000)}`, "Role[0] is nested deeper than 1000 levels"],
  };
  for (const [name, [content, message]] of Object.entries(cases)) {
    const file = fileOf(t, name, content);
    const error = await readIAMFiles([file]).then(() => "", String);
    t.ok(error.includes(`--iam ${file}: `) && error.includes(message), `${name}: ${error}`);
  }
  const message = "--iam arn:aws:s3:::b=/x: arn:aws:s3:::b is neither an account nor an ARN of IAM";
  await t.rejects(readIAMFiles(["arn:aws:s3:::b=/x"]), { code: "ERR_INPUT_UNREADABLE", message });
  await t.rejects(readIAMFiles(["/missing=x.json"]), /--iam \/missing=x.json: ENOENT/);
});

test("says what to pass instead of a CloudFormation template", async (t) => {
  const message = "a CloudFormation template, whose functions only AWS evaluates; deploy the stack and pass "
    + "aws iam get-account-authorization-details, or pass terraform show -json or manifests of iam.services.k8s.aws";
  for (const text of [
    '{"Description": "", "Resources": {"A": null, "B": {"Type": "AWS::IAM::Role"}}}',
    '{"AWSTemplateFormatVersion": "2010-09-09", "Resources": {}}', '"AWSTemplateFormatVersion" : x\nResources: [',
    "Transform: AWS::Serverless-2016-10-31\nResources:\n  A:\n    Type: AWS::IAM::Role\n    Name: !Sub ${A}",
  ]) {
    const file = fileOf(t, "template", text);
    await t.rejects(readIAMFiles([file]), { code: "ERR_INPUT_UNREADABLE", message: `--iam ${file}: ${message}` }, text);
  }
  const other = fileOf(t, "other.json", '{"Resources": {"A": {"Type": "Role"}}}');
  await t.rejects(readIAMFiles([other]), { message: /not a known kind of file/ });
});

test("names both files that contradict each other", async (t) => {
  const role = (seconds: number): string => JSON.stringify({ Role: { Arn: ROLE, MaxSessionDuration: seconds } });
  const dir = t.testdir({ a: role(3600), b: role(7200), part: JSON.stringify({
    RoleName: "target", PolicyName: "in", PolicyDocument: document(),
  }), other: JSON.stringify({ RoleName: "target", PolicyName: "in", PolicyDocument: TRUST }) });
  const [a, b, part, other] = ["a", "b", "part", "other"].map((name) => path.join(dir, name));
  await t.rejects(readIAMFiles([`${a}`, `${b}`]), {
    message: `--iam ${b}: MaxSessionDuration of ${ROLE} is different in ${a} and in ${b}; pass only files that agree`,
  });
  await t.rejects(readIAMFiles([`${a}`, `${part}`, `${other}`]), /the inline policy "in" of arn.* is different in/);
});
