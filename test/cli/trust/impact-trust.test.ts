import { test } from "tap";
import { allow, APP } from "../../shared/trust/trust-cases.ts";
import { IAMFolder, roleARN, selectorOf } from "./iam-folder.ts";
import { type CommandResult, runCommand } from "../run-command.ts";

const folder = new IAMFolder();
const FILES = folder.exports({
  fine: allow({ AWS: APP }), refusing: allow({ AWS: APP }, { Condition: { StringEquals: { "sts:ExternalId": "x" } } }),
  org: allow({ AWS: APP }, { Condition: { StringEquals: { "aws:PrincipalOrgID": "o-1" } } }),
});
const IAM = ["--iam", FILES.roles, "--iam", FILES.caller, "--caller", APP, "--caller-credentials", "irsa"];

const NAMESPACES = ["fine", "refusing", "org"].map((name) => (
  { apiVersion: "v1", kind: "Namespace", metadata: { name } }
));
const BUCKETS = NAMESPACES.map(({ metadata: { name: namespace } }) => (
  { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata: { namespace, name: "b1" } }
));
const STATE = folder.write("state.json", ...NAMESPACES, ...BUCKETS);

function impact(names: readonly string[], ...words: readonly string[]): Promise<CommandResult> {
  const change = folder.write(`change-${names.join("-")}.json`, ...names.map((name) => selectorOf(name)));
  return runCommand(["impact", "--from", STATE, change, ...IAM, ...words]);
}

test("impact tells for each resource whether its new role can be assumed, and why not", async (t) => {
  const { status, stdout } = await impact(["fine", "refusing", "org"]);
  t.equal(status, 1);
  t.match(stdout, /^NAMESPACE +RESOURCE +CHANGE +BEFORE +AFTER +ASSUMABLE$/m);
  for (const line of [/^fine .* yes$/m, /^refusing .* no$/m, /^org .* unknown$/m]) t.match(stdout, line);
  t.match(stdout, /^Who can assume the new roles\nVERDICT .*$/m);
  t.match(stdout, /^no +IAMRoleSelector refusing .*\n {2}sts:AssumeRole: no: the trust policy names the caller, /m);
  t.match(stdout, /^ {2}missing: aws:PrincipalOrgID$/m);
});

test("the exit status is 1 for a role that cannot be assumed, and for an unknown one with --fail-on", async (t) => {
  t.equal((await impact(["fine"])).status, 0);
  t.equal((await impact(["refusing"])).status, 1);
  t.equal((await impact(["org"])).status, 0);
  t.equal((await impact(["org"], "--fail-on", "unjudged")).status, 1);
  t.equal((await impact(["fine"], "--fail-on", "unjudged")).status, 0);
});

test("impact prints the answers in JSON, for resources and for objects without resources", async (t) => {
  const alone = { ...selectorOf("fine"), metadata: { name: "alone" } };
  const spec = { arn: roleARN("fine"), namespaceSelector: { names: ["nowhere"] } };
  const change = folder.write("alone.json", selectorOf("refusing"), { ...alone, spec });
  const { stdout } = await runCommand(["impact", "--from", STATE, change, ...IAM, "-o", "json"]);
  t.match(JSON.parse(stdout), {
    changes: [{
      resource: { namespace: "refusing" },
      assumable: { verdict: "no", reasons: [/^TR-03 .* cannot assume the role: /] },
    }],
    roles: [
      { namedBy: { kind: "IAMRoleSelector", name: "refusing" }, verdict: "no", caller: APP },
      { namedBy: { name: "alone" }, role: roleARN("fine"), verdict: "yes" },
    ],
  });
});

test("without --iam, impact says nothing about trust", async (t) => {
  const change = folder.write("plain.json", selectorOf("refusing"));
  for (const output of ["text", "json", "markdown"]) {
    const { status, stdout } = await runCommand(["impact", "--from", STATE, change, "-o", output]);
    t.equal(status, 0);
    t.notMatch(stdout, /assum|"roles"/i);
  }
});

test("the comment on a pull request has the answers, and the reasons once for each role", async (t) => {
  const { stdout } = await impact(["fine", "refusing"], "-o", "markdown");
  t.match(stdout, "| namespace | resource | change | before | after | assumable |");
  t.match(stdout, /^\| `refusing` .* \| \*\*no\*\* \|$/m);
  t.match(stdout, /^\| `fine` .* \| yes \|$/m);
  const [, reasons = ""] = stdout.split("**New roles that callers cannot assume, or perhaps not**\n\n");
  t.match(reasons, new RegExp(`^ {4}${roleARN("refusing")}\\n {4}TR-03 ${APP} cannot assume the role: [^\\n]+\\n$`));
  t.notMatch((await impact(["fine"], "-o", "markdown")).stdout, "perhaps");
});
