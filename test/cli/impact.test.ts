import { type Test, test } from "tap";
import { type Ran, runCommand } from "./run-command.ts";
import { STATE } from "./state.ts";

const selector = (name: string, arn: string, namespaces: string): string => `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: ${name}}
spec: {arn: "${arn}", namespaceSelector: {names: [${namespaces}]}}
---
`;
const MENDED = selector("team-b", "arn:aws:iam::444455556666:role/team-b", "team-b");
const ROTATED = selector("team-a", "arn:aws:iam::444455556666:role/team-a", "team-a");

/** The state as a file, the manifests on standard input. That a role cannot be changed in place is another test's. */
async function impact(t: Test, stdin: string, ...flags: readonly string[]): Promise<Ran> {
  const dir = t.testdir({ "state.yaml": STATE });
  return await runCommand(["impact", "--from", dir, "-", "--check", "IRS-07=off", ...flags], { stdin });
}

interface Report {
  readonly findings: readonly { readonly severity: string }[];
}

function parsed(stdout: string): Report {
  return JSON.parse(stdout);
}

test("text has the counts, then each resource that changes, before and after with the account", async (t) => {
  const { status, stdout, stderr } = await impact(t, MENDED + ROTATED);
  t.equal(status, 1);
  t.equal(stderr, "");
  t.equal(stdout, [
    "3 resources: 1 other account, 1 selected now, 1 unchanged",
    "",
    "NAMESPACE  RESOURCE   CHANGE         BEFORE                                       AFTER",
    "team-a     Bucket/b1  other account  111122223333 role/team-a by team-a       ->  444455556666 role/team-a by team-a",
    "team-b     Bucket/b1  selected now   account not known, the controller's own  ->  444455556666 role/team-b by team-b",
    "",
  ].join("\n"));
});

test("JSON has the counts, and whole resolutions", async (t) => {
  const { status, stdout } = await impact(t, ROTATED, "-o", "json");
  t.equal(status, 1);
  const by = (account: string): object => ({
    outcome: "selected", via: "selector", selectors: [{ name: "team-a", resourceVersion: null, roleARN: `arn:aws:iam::${account}:role/team-a` }],
    roleARN: `arn:aws:iam::${account}:role/team-a`, accountID: account, region: null, code: null, message: "IAMRoleSelector team-a selects it.",
  });
  const { findings, ...comparison } = parsed(stdout);
  t.strictSame(findings.filter(({ severity }) => severity === "deny"), []);
  t.strictSame(comparison, {
    summary: { resources: 3, unchanged: 2, conflict: 0, refused: 0, default: 0, account: 1, role: 0, region: 0, selected: 0, selector: 0, added: 0, removed: 0 },
    changes: [{
      resource: { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", namespace: "team-a", name: "b1" },
      change: "account", before: by("111122223333"), after: by("444455556666"),
    }],
  });
});

test("what changes nothing is one line and exits 0", async (t) => {
  const { status, stdout } = await impact(t, selector("team-a", "arn:aws:iam::111122223333:role/team-a", "team-a"));
  t.equal(status, 0);
  t.equal(stdout, "3 resources: 3 unchanged\n");
});

test("a role of the same account exits 0, a conflict and a default exit 1", async (t) => {
  const role = await impact(t, selector("team-a", "arn:aws:iam::111122223333:role/new", "team-a"));
  t.equal(role.status, 0);
  t.match(role.stdout, /\nteam-a +Bucket\/b1 +other role +111122223333 role\/team-a by team-a +-> +111122223333 role\/new by team-a\n/);
  const conflict = await impact(t, selector("more", "arn:aws:iam::111122223333:role/team-a", "team-a"));
  t.equal(conflict.status, 1);
  t.match(conflict.stdout, /\nteam-a +Bucket\/b1 +to conflict +111122223333 role\/team-a by team-a +-> +conflict of more, team-a\n/);
  const removed = await impact(t, selector("team-a", "arn:aws:iam::111122223333:role/team-a", "team-a"), "--delete");
  t.equal(removed.status, 1);
  t.match(removed.stdout, /\nteam-a +Bucket\/b1 +to default +111122223333 role\/team-a by team-a +-> +account not known, the controller's own\n/);
});

test("resources come and go", async (t) => {
  const bucket = "apiVersion: s3.services.k8s.aws/v1alpha1\nkind: Bucket\nmetadata: {name: b2, namespace: team-a}\n";
  const added = await impact(t, bucket);
  t.equal(added.status, 0);
  t.match(added.stdout, /^4 resources: 1 new, 3 unchanged\n[^]*\nteam-a +Bucket\/b2 +new +- +-> +111122223333 role\/team-a by team-a\n$/);
  const gone = await impact(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a}\n", "--delete");
  t.equal(gone.status, 0);
  t.match(gone.stdout, /^3 resources: 2 gone, 1 unchanged\n/);
});

test("regions, and what the maps refuse", async (t) => {
  const namespace = (annotation: string): string => `apiVersion: v1\nkind: Namespace\nmetadata: {name: team-b, annotations: {${annotation}}}\n`;
  t.match((await impact(t, namespace("services.k8s.aws/default-region: eu-west-1"))).stdout, /own in no region +-> +account not known, the controller's own in eu-west-1\n$/);
  const refused = await impact(t, namespace('services.k8s.aws/owner-account-id: "111122223333"'), "--mode", "carm");
  t.equal(refused.status, 1);
  t.match(refused.stdout, /to refusal .* -> +refused: ERR_CARM_MAP_MISSING\n$/);
});

test("what of the manifests the webhook would refuse is told and exits 1; what the state holds already is not", async (t) => {
  const { status, stdout, stderr } = await impact(t, selector("new", "not-an-arn", "team-c"));
  t.equal(status, 1);
  t.equal(stderr, "");
  t.equal(stdout, [
    "3 resources: 3 unchanged",
    "",
    "The webhook would refuse",
    "-:4: deny IRS-02 IAMRoleSelector new spec.arn",
    '    "not-an-arn" is not an ARN: it does not start with arn:',
    "    fix: write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME",
    "",
  ].join("\n"));
  const again = await impact(t, selector("team-b", "arn:aws:iam:444455556666:role/team-b", "team-b"));
  t.same(again, { status: 0, stdout: "3 resources: 3 unchanged\n", stderr: "" }, "a fault that stood before");
});

test("a role cannot be changed in place", async (t) => {
  const dir = t.testdir({ "state.yaml": STATE });
  const { status, stdout } = await runCommand(["impact", "--from", dir, "-"], { stdin: selector("team-a", "arn:aws:iam::111122223333:role/new", "team-a") });
  t.equal(status, 1);
  t.match(stdout, /\nThe webhook would refuse\n-:4: deny IRS-07 IAMRoleSelector team-a spec\.arn\n/);
});

test("what is to be deleted and is not there is told", async (t) => {
  const { status, stderr } = await impact(t, selector("absent", "x", "y"), "--delete");
  t.equal(status, 0);
  t.equal(stderr, "warning: IAMRoleSelector absent is not there, so there is nothing of it to delete\n");
});

test("a terminal sees what is grave in red", async (t) => {
  const dir = t.testdir({ "state.yaml": STATE });
  t.match((await runCommand(["impact", "--from", dir, "-"], { stdin: ROTATED, terminal: true })).stdout, "\u001b[31mother account\u001b[39m");
});

const USAGE: readonly (readonly [what: string, flags: string[], stderr: string | RegExp])[] = [
  ["no state", ["m.yaml"], "ack-role-resolver: --from, --cluster: give exactly one of them: the state that the manifests are applied to\n"],
  ["no manifests", ["--from", "-"], "ack-role-resolver: no manifests to apply: name files or folders, or - for standard input\n"],
  ["nothing to delete", ["--from", "-", "--delete"], "ack-role-resolver: no manifests to delete: name files or folders, or - for standard input\n"],
  ["standard input twice", ["--from", "-", "-"], "ack-role-resolver: --from -: standard input is read once, and it holds the manifests already; name a file or a folder for one of them\n"],
  ["manifests that are not there", ["--from", "-", "no/such/file"], "no/such/file: no such file or folder\n"],
];
for (const [what, flags, stderr] of USAGE) {
  test(`${what} exits 2 and prints no data`, async (t) => {
    t.same(await runCommand(["impact", ...flags]), { status: 2, stdout: "", stderr });
  });
}

test("a state that cannot be read prints nothing but the faults", async (t) => {
  const dir = t.testdir({ "state.json": "{" });
  const { status, stdout, stderr } = await runCommand(["impact", "--from", dir, "-"], { stdin: MENDED });
  t.equal(status, 2);
  t.equal(stdout, "");
  t.match(stderr, /state\.json:1: /);
});
