import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "tap";
import { selectorObject } from "../../shared/objects.ts";
import { document, exportOf, roleDetail } from "../../shared/trust/iam-export.ts";
import { allow, APP, type Fields, grant, NEAR, ROLE } from "../../shared/trust/trust-cases.ts";
import { type CommandResult, runCommand } from "../run-command.ts";

function fileOf(text: string, name: string): string {
  const file = path.join(mkdtempSync(path.join(tmpdir(), "trust-policy-")), name);
  writeFileSync(file, text);
  return file;
}

function selector(name: string, arn: string, annotations: Fields = {}): Fields {
  return selectorObject(name, { arn, namespaceSelector: { names: [name] } }, { annotations });
}

const ANOTHER = "arn:aws:iam::333333333333:role/another";
const ID = { "ack-role-resolver.io/external-id": "team-a" };
const MANIFESTS = fileOf(JSON.stringify({ apiVersion: "v1", kind: "List", items: [
  selector("team-a", ROLE, ID), selector("team-b", ANOTHER), selector("bad", "arn:aws:iam:1:role/x"),
] }), "selectors.json");

function policy(...words: readonly string[]): Promise<CommandResult> {
  return runCommand(["trust", "policy", "--from", MANIFESTS, "--caller", APP, ...words]);
}

function statement(fields: Fields = {}): Fields {
  return { ...allow({ AWS: APP }), ...fields };
}

const NEEDED = statement({ Condition: { StringEquals: { "sts:ExternalId": "team-a" } } });

function iamOf(trust: Fields, own: Fields): string {
  const app = roleDetail(APP, document(allow({ Service: "pods.eks.amazonaws.com" })), {
    RolePolicyList: [{ PolicyName: "in", PolicyDocument: document(own) }],
  });
  const files = [app, roleDetail(ROLE, document(trust))].map((one) => exportOf({ RoleDetailList: [one] }));
  return fileOf(files.map((one) => JSON.stringify(one)).join("\n"), "iam.json");
}

test("trust policy prints the policies of a selector's role and of its caller", async (t) => {
  const { status, stdout, stderr } = await policy("team-a", "--caller-credentials", "irsa");
  t.same([status, stderr], [0, ""]);
  t.match(JSON.parse(stdout), {
    roles: [{ role: ROLE, selectors: ["team-a"], trustPolicy: { Statement: [{ ...NEEDED, Sid: "AssumeRole" }] } }],
    callers: [{ caller: APP, policy: { Statement: [{ Action: "sts:AssumeRole", Resource: ROLE }] } }],
  });
  const ack = await policy("team-a", "--via", "ack", "--caller-credentials", "irsa");
  t.notMatch(ack.stdout, /ExternalId/, "ACK cannot send it");
  const near = await policy("team-a", "--caller", NEAR, "--caller-credentials", "keys");
  t.match(JSON.parse(near.stdout), { callers: [{ caller: APP }, { caller: NEAR, policy: null, characters: 0 }] });
});

test("trust policy prints Terraform and CloudFormation for every selector", async (t) => {
  const terraform = await policy("--all", "-o", "terraform", "--caller-credentials", "irsa");
  t.match(terraform, { status: 0, stderr: /IAMRoleSelector bad is malformed/ });
  t.match(terraform.stdout, /"role_222222222222_target"[^]*"role_333333333333_another"[^]*"caller_111122223333_app"/);
  const template = await policy("--all", "-o", "cloudformation", "--caller-credentials", "irsa");
  t.match(template.stdout, /^# account 111122223333\n[^]*"CallerApp"[^]*---\n# account 222222222222\n[^]*"RoleTarget"/);
});

test("trust policy finds in the export that the caller uses Pod Identity, or says what is missing", async (t) => {
  const iam = iamOf(NEEDED, grant());
  t.match((await policy("team-a", "--iam", iam)).stdout, /"TagSession"[^]*"eks-cluster-arn"/);
  t.match(await policy("team-a"), { status: 0, stderr: /with EKS Pod Identity, the callers also need sts:TagSession/ });
  t.match(await policy("team-a", "--caller", NEAR, "--iam", iam), { stdout: /"TagSession"/, stderr: "" });
  t.match((await policy("team-a", "--via", "eks-capability")), { stderr: "", stdout: /"eks:eks-capability-arn"/ });
});

test("trust policy --diff compares with the export, and exits 1 if it differs", async (t) => {
  const diff = async (trust: Fields, own: Fields, name = "team-a"): Promise<[number, unknown]> => {
    const { status, stdout } = await policy(name, "--diff", "--iam", iamOf(trust, own), "--caller-credentials", "irsa");
    return [status, JSON.parse(stdout).roles[0].difference];
  };
  t.same(await diff(NEEDED, grant()), [0, { add: [], remove: [], callers: [{ caller: APP, allowed: "yes" }] }]);
  t.match(await diff(statement(), grant()), [1, { add: [NEEDED], remove: [statement()] }]);
  t.match(await diff(NEEDED, grant({ Action: "s3:*" })), [1, { add: [], callers: [{ allowed: "no" }] }]);
  t.match(await diff(NEEDED, grant(), "team-b"), [1, { add: [statement()], remove: [] }], "the role does not exist");
  const absent = ["team-a", "--diff", "--iam", iamOf(NEEDED, grant()), "--caller", `${APP}2`] as const;
  const { stdout } = await policy(...absent);
  t.match(JSON.parse(stdout), { roles: [{ difference: { callers: [{}, { allowed: "no" }] } }] });
});

test("trust policy exits 2 for bad input, and names it", async (t) => {
  const fault = async (argv: readonly string[]): Promise<string> => {
    const { status, stderr } = await runCommand(["trust", "policy", ...argv]);
    t.equal(status, 2);
    return stderr;
  };
  const from = ["--from", MANIFESTS, "--caller", APP];
  t.match(await fault(from), /pass either the name of a selector or --all/);
  t.match(await fault([ROLE, ...from]), /target is an ARN: pass the name of the selector or other object/);
  t.match(await fault(["team-a", "--caller", APP]), /team-a is the name of a selector: pass --from or --cluster/);
  t.match(await fault(["--all", "--caller", APP]), /pass --from or --cluster/);
  t.match(await fault(["team-a", "--from", MANIFESTS]), /--caller is missing/);
  t.match(await fault(["team-a", ...from, "--caller", "app"]), /--caller "app" is not the ARN of a role/);
  t.match(await fault(["team-a", ...from, "--diff"]), /--diff: pass the export to compare with, with --iam/);
  t.match(await fault(["team-a", ...from, "--diff", "--iam", "x", "-o", "terraform"]), /--diff: supported only with/);
  const foreign = "arn:aws-cn:iam::111122223333:role/a";
  t.match(await fault(["team-a", ...from, "--caller", foreign]), /only inside its partition/);
  t.match(await fault(["bad", ...from]), /IAMRoleSelector bad is malformed/);
  const differing = fileOf(JSON.stringify({ apiVersion: "v1", kind: "List", items: [
    selector("a", ROLE, ID), selector("b", ROLE), selector("c", ANOTHER),
  ] }), "differing.json");
  t.match(
    await fault(["--all", "--from", differing, "--caller", APP, "--caller-credentials", "irsa"]),
    /target: its selectors set different session settings \(external-id\); set the same values on them/,
  );
});

test("prints what a controller needs at most, and who demands the actions of other services", async (t) => {
  const { status, stdout, stderr } = await runCommand(["trust", "policy", "--group", "s3.services.k8s.aws"]);
  t.equal(status, 0);
  t.match(JSON.parse(stdout), { Statement: [{ Effect: "Allow", Resource: "*" }, { Action: ["iam:PassRole"] }] });
  t.match(stderr, /^iam:PassRole: https:\/\/docs\.aws\.amazon\.com\/IAM\//);
  for (const flags of [["team-a"], ["--all"], ["-o", "terraform"], ["--from", "x"]]) {
    const refused = await runCommand(["trust", "policy", "--group", "s3.services.k8s.aws", ...flags]);
    t.match(refused, { status: 2, stderr: /--group: not supported with a name, other input, or -o/ });
  }
  const unknown = await runCommand(["trust", "policy", "--group", "new.services.k8s.aws"]);
  t.match(unknown, { status: 2, stderr: /What the controllers of new\.services\.k8s\.aws need is not in the table/ });
  const misspelled = await runCommand(["trust", "policy", "--group", "dynamodbb.services.k8s.aws"]);
  t.match(misspelled, { status: 2, stderr: /--group dynamodbb\.\S+: did you mean dynamodb\.services\.k8s\.aws\?/ });
});
