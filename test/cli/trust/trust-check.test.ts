import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "tap";
import { document, exportOf, roleDetail } from "../../shared/trust/iam-export.ts";
import { allow, APP, NEAR, ROLE } from "../../shared/trust/trust-cases.ts";
import { type CommandResult, runCommand } from "../run-command.ts";

const TRUST = document({ ...allow({ AWS: [NEAR, APP] }), Sid: "Near" });
const EXPORT = exportOf({ RoleDetailList: [roleDetail(ROLE, TRUST), roleDetail(NEAR, document())] });

function fileOf(text: string): string {
  const file = path.join(mkdtempSync(path.join(tmpdir(), "trust-check-")), "input.json");
  writeFileSync(file, text);
  return file;
}

const IAM = fileOf(JSON.stringify(EXPORT, null, 4));
const YES = {
  verdict: "yes",
  actions: [{
    action: "sts:AssumeRole", verdict: "yes",
    statements: [{ side: "trust", policy: ROLE, statement: "Near", effect: "Allow" }],
    reason: "allowed, unless an SCP, RCP or VPC endpoint policy denies it",
  }],
  missing: [],
};

test("trust check answers one question as text or JSON, and exits 0 only for a yes", async (t) => {
  const check = ["trust", "check", "--iam", IAM, "--role", ROLE, "--caller"];
  const { status, stdout } = await runCommand([...check, NEAR, "-o", "json"]);
  t.same([status, JSON.parse(stdout)], [0, YES]);
  t.same(await runCommand([...check, NEAR]), {
    status: 0, stderr: "", stdout: "yes\n"
      + "  sts:AssumeRole: yes: allowed, unless an SCP, RCP or VPC endpoint policy denies it\n"
      + `    Allow in trust ${ROLE}, statement Near\n`,
  });
  const tagged = await runCommand([
    ...check, NEAR, "--tag", "team=a=b", "--transitive-tag", "team", "--external-id", "x1", "--source-identity", "me",
    "--session-name", "s1", "--duration", "900",
  ]);
  t.equal(tagged.status, 1);
  t.match(tagged.stdout, /^no\n.*\n.*\n {2}sts:TagSession: no: no statement of the trust policy allows the caller/);
  t.match(await runCommand([...check, APP]), { status: 1, stdout: /^unknown\n[^]*\n {2}missing: identity policy of / });
});

test("trust check answers a line of --requests with a line, and exits 2 if one is bad", async (t) => {
  const line = JSON.stringify({ principalArn: NEAR, roleArn: ROLE });
  const check = ["trust", "check", "--iam", IAM, "--requests"];
  const one = await runCommand([...check, "-"], { stdin: `${line}\n\n` });
  t.same([one.status, JSON.parse(one.stdout)], [0, YES]);
  const no = JSON.stringify({ principalArn: NEAR, roleArn: ROLE, durationSeconds: 7200 });
  t.equal((await runCommand([...check, fileOf(`${line}\n${no}\n`)])).status, 1);
  // The tags of EKS Pod Identity need sts:TagSession.
  const tagged = await runCommand([...check, "-", "--caller-credentials", "pod-identity"], { stdin: line });
  t.match([tagged.status, tagged.stdout], [1, /"action":"sts:TagSession","verdict":"no"/]);
  const bad = JSON.stringify({ principalArn: "near", roleArn: ROLE });
  const { status, stdout } = await runCommand([...check, fileOf(`{\n${bad}\n${line}`)]);
  t.equal(status, 2);
  const answers: unknown[] = stdout.trim().split("\n").map((text): unknown => JSON.parse(text));
  const [first, second, third] = answers;
  t.same([first, third], [{ error: "the line is not a JSON object" }, YES]);
  t.match(second, { error: 'principalArn "near" is not the ARN of a role, a session or a user' });
  const missing = await runCommand([...check, "/missing.ndjson"]);
  t.match([missing.status, missing.stderr], [2, /^ack-role-resolver: --requests \/missing.ndjson: ENOENT/]);
});

test("trust check rejects bad flags and files with their path", async (t) => {
  const fault = async (...flags: readonly string[]): Promise<string> => {
    const { status, stderr } = await runCommand(["trust", "check", ...flags]);
    t.equal(status, 2);
    return stderr;
  };
  const question = ["--caller", NEAR, "--role", ROLE];
  t.match(await fault(...question), /--iam is missing/);
  t.match(await fault("--iam", IAM, "--caller", NEAR), /pass one --caller and --role, or questions with --requests/);
  t.match(await fault("--iam", IAM, ...question, "--tag", "team"), /--tag team: expected KEY=VALUE/);
  t.match(await fault("--iam", IAM, ...question, "--tag", "a=1", "--tag", "a=2"), /--tag: two tags have the same key/);
  t.match(await fault("--iam", IAM, "--caller", "x", "--role", ROLE), /principalArn "x" is not the ARN/);
  const cut = fileOf('{"RoleDetailList": [{"Arn"');
  t.match(
    await fault("--iam", cut, ...question), new RegExp(`--iam ${cut}: the text ends inside an object; it is cut off`),
  );
  t.match(await fault("--iam", fileOf('{"Users": []}'), ...question), /not a known kind of file; pass one of: aws iam/);
  t.match(await fault("--iam", "/missing.json", ...question), /--iam \/missing.json: ENOENT/);
});

test("trust check adds the tags of EKS Pod Identity with --caller-credentials", async (t) => {
  const check = ["trust", "check", "--iam", IAM, "--role", ROLE, "--caller", NEAR, "--caller-credentials"];
  t.equal((await runCommand([...check, "irsa"])).stdout.split("\n")[0], "yes");
  const { status, stdout } = await runCommand([...check, "pod-identity"]);
  t.equal(status, 1);
  t.match(stdout, /^no\n[^]*\n {2}sts:TagSession: no: no statement of the trust policy allows the caller sts:Ta/);
  const caller = "arn:aws:iam::222222222222:user/bob";
  const user = await runCommand([...check.slice(0, -2), caller, "--caller-credentials", "irsa"]);
  t.match([user.status, user.stderr], [2, /is a user: pass --caller-credentials keys/]);
});

test("trust check answers for EKS Pod Identity, with the tags that it sends", async (t) => {
  const pods = { Service: "pods.eks.amazonaws.com" };
  const both = { Action: ["sts:AssumeRole", "sts:TagSession"] };
  const inNamespace = { Condition: { StringEquals: { "aws:RequestTag/kubernetes-namespace": "ack-system" } } };
  const file = fileOf(JSON.stringify(exportOf({ RoleDetailList: [
    roleDetail(ROLE, document(allow(pods))), roleDetail(NEAR, document(allow(pods, { ...both, ...inNamespace }))),
  ] })));
  const ask = (role: string, ...words: readonly string[]): Promise<CommandResult> => (
    runCommand(["trust", "check", "--iam", file, "--role", role, "--caller", pods.Service, ...words])
  );
  const untagged = await ask(ROLE);
  t.match(untagged, { status: 1, stdout: /^no\n/ });
  t.match(untagged.stdout, /allows the principal \{"Service": "pods\.eks\.amazonaws\.com"\} sts:TagSession/);
  t.match(untagged.stdout, /or set disableSessionTags of the association/);
  t.notMatch(untagged.stdout, /identity policy/);
  t.match(await ask(NEAR), { status: 0, stdout: /^yes\n/ });
  t.match(await ask(NEAR, "--tag", "kubernetes-namespace=ack-system"), { status: 0 });
  t.match(await ask(NEAR, "--tag", "Kubernetes-Namespace=other"), { status: 1, stdout: /^no\n/ });
  t.match(await ask(NEAR, "--caller-credentials", "irsa"), { status: 2, stderr: /is a service, which assumes/ });
});
