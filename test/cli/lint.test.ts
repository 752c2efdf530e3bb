import { test } from "tap";
import { field } from "../../shared/formats/json.ts";
import { runCommand } from "./run-command.ts";

const GOOD = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team-a}
spec:
  arn: arn:aws:iam::111122223333:role/team-a
  namespaceSelector:
    names: [team-a]
`;
const BAD = GOOD.replace("role/team-a", "user/jane").replace("names: [team-a]", "names: [team-a, Team-A]");
const EVERYTHING = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata:
  name: everything
spec:
  arn: arn:aws:iam::111122223333:role/everything
`;

test("exits 0 for a valid selector", async (t) => {
  const { status, stdout, stderr } = await runCommand(["lint", "-"], { stdin: GOOD });
  t.equal(status, 0);
  t.equal(stdout, "1 checked, 0 denied, 0 warned; some checks need more input (-v for details)\n");
  t.equal(stderr, "");
  const all = await runCommand(["lint", "-", "--verbose"], { stdin: GOOD });
  t.equal(all.stdout, "1 checked, 0 denied, 0 warned; some checks need more input\n");
  t.match(all.stderr, "not judged: accounts of roles (IRS-04); pass --allowed-accounts or --controller-role\n");
  t.match(all.stderr, "\nnot judged: effects on namespaces (IRS-10, IRS-22); add the Namespaces and pass "
    + "--complete if nothing is missing, or --cluster\n", "one line for the same input");
  t.match(all.stderr, "\nnot judged: effects on resources (IRS-20); only the webhook and impact judge them\n");
});

const NAMESPACES = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team-b}\n";
const KINDS = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: buckets.s3.services.k8s.aws}
spec: {group: s3.services.k8s.aws, names: {kind: Bucket, plural: buckets}, \
versions: [{name: v1alpha1, served: true, storage: true}]}
`;

test("JSON output lists each skipped check once, in order, with its missing requirements", async (t) => {
  const two = `${GOOD}---\n${GOOD.replaceAll("team-a", "team-c")}`;
  const notApplied = await notAppliedTo(two);
  t.strictSame(notApplied, notApplied.toSorted((a, b) => (a.code < b.code ? -1 : 1)));
  t.equal(new Set(notApplied.map(({ code }) => code)).size, notApplied.length);
  t.strictSame(notApplied.filter(({ code }) => ["IRS-04", "IRS-07", "IRS-10", "IRS-13"].includes(code)), [
    { code: "IRS-04", needs: "--allowed-accounts or --controller-role" },
    { code: "IRS-07", needs: "the stored object" },
    { code: "IRS-10", needs: "namespaces, --complete or --cluster" },
    { code: "IRS-13", needs: "kinds" },
  ]);
  t.equal(notApplied.some(({ code }) => code === "IRS-03"), false, "a check that has no requirements is not skipped");
});

test("runs a check if the input or a flag meets the requirements of the check", async (t) => {
  const flags = ["--complete", "--allowed-accounts", "444455556666"];
  const notApplied = await notAppliedTo(`${GOOD}${NAMESPACES}${KINDS}`, ...flags);
  t.strictSame(notApplied.filter(({ code }) => ["IRS-04", "IRS-10", "IRS-13", "IRS-22"].includes(code)), []);
  const { stdout, status } = await runCommand(["lint", ...flags, "-"], {
    stdin: `${GOOD}${NAMESPACES}`,
  });
  t.equal(status, 1);
  t.match(
    stdout,
    "-:5: deny IRS-04 IAMRoleSelector team-a spec.arn: " +
      "account 111122223333 is not one of the allowed accounts: 444455556666\n",
  );
  t.match(
    stdout,
    '-:7: warn IRS-10 IAMRoleSelector team-a spec.namespaceSelector.names[0]: namespace "team-a" does not exist\n',
  );
  t.strictSame(
    await notAppliedTo(NAMESPACES.replace("Namespace", "Secret")),
    [],
    "a kind that has no checks has no skipped checks",
  );
});

test("names the label of a namespace that a selector probably means", async (t) => {
  const stdin = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: production}
spec:
  arn: arn:aws:iam::111122223333:role/production
  namespaceSelector:
    names: []
    labelSelector:
      matchLabels:
        env: production
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {env: prod}}
`;
  const some = await runCommand(["lint", "-"], { stdin });
  t.equal(some.stdout.split("\n").slice(0, 2).join("\n"), "-:10: warn IRS-10 IAMRoleSelector production "
    + 'spec.namespaceSelector.labelSelector.matchLabels[env]: no namespace of the input has the label env: '
    + '"production"; perhaps prod was meant\n    fix: write "prod"');
  const all = await runCommand(["lint", "--complete", "-o", "json", "-"], { stdin });
  t.match(JSON.parse(all.stdout).findings, [{
    code: "IRS-22", repairs: [{ isSafe: false, changes: [{ patch: [{
      op: "replace", path: "/spec/namespaceSelector/labelSelector/matchLabels/env", value: "prod",
    }] }] }],
    message: "the selector selects no existing namespace and no existing resource: no namespace has the label env: "
      + '"production"; perhaps prod was meant',
  }]);
});

test("does not list a check as skipped if --check turns the check off", async (t) => {
  t.equal((await notAppliedTo(GOOD, "--check", "IRS-10=off")).some(({ code }) => code === "IRS-10"), false);
});

async function notAppliedTo(
  stdin: string,
  ...flags: readonly string[]
): Promise<{ readonly code: string; readonly needs: string }[]> {
  return JSON.parse((await runCommand(["lint", "-o", "json", ...flags, "-"], { stdin })).stdout).notApplied;
}

test("exits 1, and JSON output contains the file, line and path of each finding in order", async (t) => {
  const dir = t.testdir({
    "b.yaml": BAD,
    "a.yaml": GOOD.replace("{name: team-a}", "{name: good}").replace("[team-a]", "[team-b]"),
  });
  const { status, stdout } = await runCommand(["lint", "--from", dir, "-o", "json"]);
  t.equal(status, 1);
  const output: unknown = JSON.parse(stdout);
  t.match(output, { checked: 2, findings: [{ line: 5 }, { line: 7, path: "spec.namespaceSelector.names[1]" }] });
  const findings = field(output, "findings");
  t.strictSame(Array.isArray(findings) ? findings[0] : null, {
    file: `${dir}/b.yaml`, line: 5, kind: "IAMRoleSelector", name: "team-a", namespace: null, path: "spec.arn",
    code: "IRS-03", severity: "deny", waivable: false, waived: false, repairs: [],
    message: '"arn:aws:iam::111122223333:user/jane" is not the ARN of an IAM role: its resource is "user/jane", '
      + "not role/NAME",
    fix: "write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME",
  });
});

test("reports each place of an object that two files define", async (t) => {
  const dir = t.testdir({ "a.yaml": GOOD, "b.yaml": GOOD });
  const { status, stderr } = await runCommand(["lint", dir]);
  t.equal(status, 2);
  t.match(stderr, /a\.yaml:1: duplicate IAMRoleSelector "team-a", defined at .*a\.yaml:1, .*b\.yaml:1; keep one/);
});

test("text output shows the place, severity, path, message and fix of a finding", async (t) => {
  const { status, stdout } = await runCommand(["lint", "-"], { stdin: EVERYTHING });
  t.equal(status, 1);
  t.equal(stdout, [
    "-:5: deny IRS-15 IAMRoleSelector everything spec: the selector selects every resource in every namespace",
    "    fix: restrict the selector with namespaceSelector, resourceTypeSelector or resourceLabelSelector",
    "1 checked, 1 denied, 0 warned; some checks need more input (-v for details)",
    "",
  ].join("\n"));
});

test("finds the fault of a Deployment in a Namespace that requests sidecars, at its line", async (t) => {
  const stdin = `apiVersion: v1
kind: Namespace
metadata: {name: ack-system, labels: {ack-role-resolver.io/inject: "true"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ack-s3-controller, namespace: ack-system}
spec:
  template:
    spec:
      hostNetwork: true
      containers:
      - {name: controller, image: public.ecr.aws/aws-controllers-k8s/s3-controller:1.10.0}
`;
  const { status, stdout } = await runCommand(["lint", "-"], { stdin });
  t.equal(status, 1);
  t.match(stdout, /^-:11: deny POD-08 Deployment ack-system\/ack-s3-controller spec\.template\.spec\.hostNetwork: /m);
  t.match(stdout, /^2 checked, 1 denied, 0 warned; /m);
  t.match(await runCommand(["lint", "-"], { stdin: stdin.replace('"true"', '"false"') }), { status: 0 });
});

test("applies a waiver and lists the waived finding", async (t) => {
  const stdin = EVERYTHING.replace(
    "  name: everything",
    '  name: everything\n  annotations: {"ack-role-resolver.io/allow": "IRS-15"}',
  );
  const { status, stdout } = await runCommand(["lint", "-o", "json", "-"], { stdin });
  t.equal(status, 0);
  t.match(JSON.parse(stdout), { findings: [{ code: "IRS-15", severity: "warn", waivable: true, waived: true }] });
});

test("exits 0 if all findings are warnings, unless --fail-on warn is set", async (t) => {
  const stdin =
    GOOD.replace("names: [team-a]", "names: []") + "  resourceTypeSelector: [{group: s3.services.k8s.aws}]\n";
  t.equal((await runCommand(["lint", "-"], { stdin })).status, 0);
  t.equal((await runCommand(["lint", "--fail-on", "warn", "-"], { stdin })).status, 1);
  t.equal((await runCommand(["lint", "--fail-on", "warn", "-"], { stdin: GOOD })).status, 0);
});

test("--check changes the severity of the named check", async (t) => {
  t.match(await findingsWith("IRS-15=warn"), { findings: [{ severity: "warn" }] });
  t.match(await findingsWith("IRS-15=off"), { findings: [] });
});

async function findingsWith(check: string): Promise<unknown> {
  return JSON.parse((await runCommand(["lint", "-o", "json", "--check", check, "-"], { stdin: EVERYTHING })).stdout);
}

test("checks the readable files and exits 2 if another file is unreadable", async (t) => {
  const dir = t.testdir({ "a.yaml": BAD, "broken.yaml": "kind: [\n" });
  const { status, stdout, stderr } = await runCommand(["lint", dir]);
  t.equal(status, 2);
  t.match(stdout, /1 checked, 2 denied, 0 warned; [^\n]*\n$/);
  t.match(stderr, /broken\.yaml:\d+: /);
});

test("JSON output contains the errors of the input, and the exit status is 2", async (t) => {
  const dir = t.testdir({ "a.yaml": BAD, "b.yaml": "kind: [\n" });
  const paths = [dir, `${dir}/absent.yaml`];
  const { status, stdout, stderr } = await runCommand(["lint", "-o", "json", ...paths]);
  t.equal(status, 2);
  const inputErrors = field(JSON.parse(stdout), "inputErrors");
  t.ok(Array.isArray(inputErrors) && inputErrors.length === 2);
  t.match(inputErrors, [
    { file: `${dir}/absent.yaml`, line: null, message: "no such file or folder" },
    { file: `${dir}/b.yaml`, line: 2, message: /^\S/ },
  ]);
  t.match(stderr, "absent.yaml: no such file or folder\n", "the errors are also printed to stderr");
  const { stdout: readable } = await runCommand(["lint", "-o", "json", "-"], { stdin: GOOD });
  t.strictSame(field(JSON.parse(readable), "inputErrors"), []);
});

test("accepts a selector that has a generateName, and rejects a selector that has no name", async (t) => {
  const selector = (metadata: string): string =>
    `apiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelector\nmetadata: ${metadata}\n` +
    `spec: {arn: "arn:aws:iam::111122223333:role/a", namespaceSelector: {names: [a]}}\n---\n`;
  const generated = await runCommand(["lint", "-", "-o", "json"], {
    stdin: selector("{generateName: team-}").repeat(2),
  });
  t.equal(generated.status, 0);
  t.match(JSON.parse(generated.stdout), { checked: 2, findings: [] });
  const nameless = await runCommand(["lint", "-", "-o", "json"], { stdin: selector("{}") });
  t.equal(nameless.status, 1);
  t.match(JSON.parse(nameless.stdout), {
    findings: [{ code: "IRS-00", path: "metadata.name", message: "the name is missing" }],
  });
});
