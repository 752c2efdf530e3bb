import { type Test, test } from "tap";
import { type CommandResult, runCommand } from "./run-command.ts";
import { STATE } from "./state.ts";

const selector = (name: string, arn: string, namespaces: string): string => `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: ${name}}
spec: {arn: "${arn}", namespaceSelector: {names: [${namespaces}]}}
---
`;
const FIXED = selector("team-b", "arn:aws:iam::444455556666:role/team-b", "team-b");
const ROTATED = selector("team-a", "arn:aws:iam::444455556666:role/team-a", "team-a");

/** Runs `impact` with the state in a file and the manifests on stdin. Turns off IRS-07, which denies role changes. */
async function impact(t: Test, stdin: string, ...flags: readonly string[]): Promise<CommandResult> {
  const dir = t.testdir({ "state.yaml": STATE });
  return await runCommand(["impact", "--from", dir, "-", "--check", "IRS-07=off", ...flags], { stdin });
}

test("text output shows the counts, then the old and new value of each changed resource", async (t) => {
  const { status, stdout, stderr } = await impact(t, FIXED + ROTATED);
  t.equal(status, 1);
  t.equal(stderr, "");
  t.equal(
    stdout,
    [
      "3 resources: 1 other account, 1 now selected, 1 unchanged",
      "",
      "NAMESPACE  RESOURCE   CHANGE         BEFORE                AFTER",
      "team-a     Bucket/b1  other account  111122223333          444455556666",
      "team-b     Bucket/b1  now selected   the controller's own  444455556666/team-b",
      "",
    ].join("\n"),
  );
});

test("-o wide shows the complete role, account and selector of each changed resource", async (t) => {
  const { status, stdout } = await impact(t, FIXED + ROTATED, "-o", "wide");
  t.equal(status, 1);
  t.equal(
    stdout,
    [
      "3 resources: 1 other account, 1 now selected, 1 unchanged",
      "",
      "NAMESPACE  RESOURCE   CHANGE         BEFORE                                 AFTER",
      "team-a     Bucket/b1  other account  111122223333 role/team-a by team-a     " +
        "444455556666 role/team-a by team-a",
      "team-b     Bucket/b1  now selected   unknown account, the controller's own  " +
        "444455556666 role/team-b by team-b",
      "",
    ].join("\n"),
  );
  const conflict = await impact(t, selector("more", "arn:aws:iam::111122223333:role/team-a", "team-a"), "-o", "wide");
  t.match(conflict.stdout, / 111122223333 role\/team-a by team-a +conflict of more, team-a\n/);
});

test("the text output of impact fits the terminal", async (t) => {
  const name = `arn:aws:iam::111122223333:role/${"r".repeat(64)}`;
  const dir = t.testdir({ "state.yaml": STATE });
  const stdin = selector("team-b", name, "team-b") + selector("s".repeat(200), name, "team-a");
  const terminal = { terminal: true, columns: 80, environment: { NO_COLOR: "1" } };
  const { stdout } = await runCommand(["impact", "--from", dir, "-"], { stdin, ...terminal });
  const [table = ""] = stdout.split("\nThe webhook");
  t.match(table, /now in conflict/);
  for (const line of table.split("\n")) t.ok(line.length <= 80, line);
});

test("JSON output contains the counts and the complete resolutions before and after", async (t) => {
  const { status, stdout } = await impact(t, ROTATED, "-o", "json");
  t.equal(status, 1);
  const by = (account: string): object => ({
    outcome: "selected", selectors: [{ name: "team-a" }], roleARN: `arn:aws:iam::${account}:role/team-a`,
    accountID: account, message: "IAMRoleSelector team-a selects the resource.",
  });
  t.match(JSON.parse(stdout), {
    coverage: { judged: 9, notJudged: 0 }, skippedFiles: {}, findings: [],
    summary: { resources: 3, unchanged: 2, account: 1 },
    changes: [{
      resource: { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", namespace: "team-a", name: "b1" },
      change: "account", before: by("111122223333"), after: by("444455556666"),
    }],
  });
});

test("prints one line and exits 0 if no resource changes", async (t) => {
  const { status, stdout } = await impact(t, selector("team-a", "arn:aws:iam::111122223333:role/team-a", "team-a"));
  t.equal(status, 0);
  t.equal(stdout, "3 resources: 3 unchanged\n");
});

test("exits 0 if the account stays the same, and 1 for a conflict or the controller's own role", async (t) => {
  const role = await impact(t, selector("team-a", "arn:aws:iam::111122223333:role/new", "team-a"));
  t.equal(role.status, 0);
  t.match(
    role.stdout,
    /\nteam-a +Bucket\/b1 +other role +role\/team-a +role\/new\n/,
  );
  const conflict = await impact(t, selector("more", "arn:aws:iam::111122223333:role/team-a", "team-a"));
  t.equal(conflict.status, 1);
  t.match(
    conflict.stdout,
    /\nteam-a +Bucket\/b1 +now in conflict +111122223333\/team-a +more, team-a\n/,
  );
  const removed = await impact(t, selector("team-a", "arn:aws:iam::111122223333:role/team-a", "team-a"), "--delete");
  t.equal(removed.status, 1);
  t.match(
    removed.stdout,
    /\nteam-a +Bucket\/b1 +now default +111122223333\/team-a +the controller's own\n/,
  );
});

test("reports resources that the manifests add or remove", async (t) => {
  const bucket = "apiVersion: s3.services.k8s.aws/v1alpha1\nkind: Bucket\nmetadata: {name: b2, namespace: team-a}\n";
  const added = await impact(t, bucket);
  t.equal(added.status, 0);
  t.match(
    added.stdout,
    /^4 resources: 1 added, 3 unchanged\n[^]*\nteam-a +Bucket\/b2 +added +- +111122223333\/team-a\n$/,
  );
  const removed = await impact(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a}\n", "--delete");
  t.equal(removed.status, 0);
  t.match(removed.stdout, /^3 resources: 2 removed, 1 unchanged\n/);
});

test("reports resources whose region changes, and resources whose role the CARM maps do not contain", async (t) => {
  const namespace = (annotation: string): string =>
    `apiVersion: v1\nkind: Namespace\nmetadata: {name: team-b, annotations: {${annotation}}}\n`;
  const inRegion = namespace("services.k8s.aws/default-region: eu-west-1");
  t.match((await impact(t, inRegion)).stdout, / other region +no region +eu-west-1\n$/);
  t.match(
    (await impact(t, inRegion, "-o", "wide")).stdout,
    /own in no region +unknown account, the controller's own in eu-west-1\n$/,
  );
  const refused = await impact(t, namespace('services.k8s.aws/owner-account-id: "111122223333"'), "--mode", "carm");
  t.equal(refused.status, 1);
  t.match(refused.stdout, /now refused .* ERR_CARM_MAP_MISSING\n$/);
});

test("exits 1 and lists new findings of severity deny, but ignores findings of the current state", async (t) => {
  const { status, stdout, stderr } = await impact(t, selector("new", "not-an-arn", "team-c"));
  t.equal(status, 1);
  t.equal(stderr, "");
  t.equal(stdout, [
    "3 resources: 3 unchanged",
    "",
    "The webhook would deny",
    '-:4: deny IRS-02 IAMRoleSelector new spec.arn: "not-an-arn" is not an ARN: it does not start with arn:',
    "    fix: write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME",
    "",
  ].join("\n"));
  const again = await impact(t, selector("team-b", "arn:aws:iam:444455556666:role/team-b", "team-b"));
  t.same(
    again,
    { status: 0, stdout: "3 resources: 3 unchanged\n", stderr: "" },
    "the state already contains the finding",
  );
});

test("reports a manifest that changes the role of a selector", async (t) => {
  const dir = t.testdir({ "state.yaml": STATE });
  const { status, stdout } = await runCommand(["impact", "--from", dir, "-"], {
    stdin: selector("team-a", "arn:aws:iam::111122223333:role/new", "team-a"),
  });
  t.equal(status, 1);
  t.match(stdout, /\nThe webhook would deny\n-:4: deny IRS-07 IAMRoleSelector team-a spec\.arn: /);
});

test("warns if a manifest to delete names an object that does not exist", async (t) => {
  const { status, stderr } = await impact(t, selector("absent", "x", "y"), "--delete");
  t.equal(status, 0);
  t.equal(stderr, "warning: IAMRoleSelector absent does not exist, so there is nothing to delete\n");
});

const USAGE_ERRORS: readonly (readonly [title: string, flags: string[], stderr: string | RegExp])[] = [
  [
    "no state",
    ["m.yaml"],
    "ack-role-resolver: --from, --cluster: exactly one is required; "
      + "the manifests are applied to the state in this source\n",
  ],
  [
    "no manifests",
    ["--from", "-"],
    "ack-role-resolver: no manifests to apply: pass files or folders, or - for standard input\n",
  ],
  [
    "no manifests to delete",
    ["--from", "-", "--delete"],
    "ack-role-resolver: no manifests to delete: pass files or folders, or - for standard input\n",
  ],
  [
    "standard input twice",
    ["--from", "-", "-"],
    "ack-role-resolver: --from -: the manifests are already read from standard input; pass a file or folder to " +
      "--from\n",
  ],
  ["a missing manifest file", ["--from", "-", "no/such/file"], "no/such/file: no such file or folder\n"],
];
for (const [title, flags, stderr] of USAGE_ERRORS) {
  test(`exits 2 and prints no result for ${title}`, async (t) => {
    t.same(await runCommand(["impact", ...flags]), { status: 2, stdout: "", stderr });
  });
}

const CAPA = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2";
const staticIdentity = (name: string, secret: string): string => (
  `${CAPA}\nkind: AWSClusterStaticIdentity\nmetadata: {name: ${name}}\n`
  + `spec: {secretRef: ${secret}, allowedNamespaces: {selector: {matchLabels: {team: a}}}}\n---\n`
);
const cluster = (identity: string): string => (
  `${CAPA}\nkind: AWSCluster\nmetadata: {name: c1, namespace: ns1}\n`
  + `spec: {identityRef: {kind: AWSClusterStaticIdentity, name: ${identity}}}\n---\n`
);
const namespace = (team: string): string => (
  `apiVersion: v1\nkind: Namespace\nmetadata: {name: ns1, labels: {team: ${team}}}\n---\n`
);
const CLUSTERS = namespace("a") + staticIdentity("s", "creds") + staticIdentity("t", "other") + cluster("s");

/** Runs `impact` on a state with one cluster. Returns the line of the cluster. */
async function clusterLine(t: Test, stdin: string, ...flags: readonly string[]): Promise<string> {
  const dir = t.testdir({ "state.yaml": CLUSTERS });
  const { stdout } = await runCommand(["impact", "--from", dir, "-", ...flags], { stdin });
  return stdout.split("\n").find((line) => line.startsWith("ns1 ")) ?? stdout;
}

test("names the identity or the Secret that changes for a cluster", async (t) => {
  t.match(await clusterLine(t, cluster("t")),
    /AWSCluster\/c1 {2}other identity {2}Static\/s {2}Static\/t$/);
  t.match(await clusterLine(t, cluster("none"), "-o", "wide"), new RegExp("now refused {2}unknown account by "
    + "AWSClusterStaticIdentity/s +refused: ERR_IDENTITY_UNKNOWN by AWSClusterStaticIdentity/none$"));
  const renamed = staticIdentity("s", "new");
  t.equal(await clusterLine(t, renamed), "ns1        AWSCluster/c1  other Secret  Secret creds  Secret new");
  t.equal(await clusterLine(t, renamed, "-o", "wide"), "ns1        AWSCluster/c1  other Secret  unknown account by "
    + "AWSClusterStaticIdentity/s with Secret creds  unknown account by AWSClusterStaticIdentity/s with Secret new");
});

test("reports the clusters of a deleted identity, and of a namespace whose labels change", async (t) => {
  const refused = /AWSCluster\/c1 {2}now refused {2}AWSClusterStatic.* {2}ERR_IDENTITY_/;
  t.match(await clusterLine(t, staticIdentity("s", "creds"), "--delete"), refused);
  t.match(await clusterLine(t, namespace("b")), refused);
  const dir = t.testdir({ "state.yaml": CLUSTERS });
  const deleted = await runCommand(["impact", "--delete", "--from", dir, "-"], { stdin: staticIdentity("s", "creds") });
  t.match(deleted.stdout, /^-:1: deny CI-31 AWSClusterStaticIdentity s: /m);
  const relabeled = await runCommand(["impact", "--from", dir, "-"], { stdin: namespace("b") });
  t.match(relabeled.stdout, /^The webhook would deny\n-:3: deny NS-12 Namespace ns1 metadata\.labels: /m);
  t.equal(relabeled.status, 1);
});
