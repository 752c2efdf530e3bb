import { test } from "tap";
import { runCommand } from "./run-command.ts";

const SELECTORS = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team-a, resourceVersion: "41"}
spec: {arn: "arn:aws:iam::111122223333:role/team-a", namespaceSelector: {names: [team-a, both]}}
---
apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: buckets}
spec: {arn: "arn:aws:iam::444455556666:role/buckets", namespaceSelector: {names: [both]}, \
resourceTypeSelector: [{apiVersion: s3.services.k8s.aws/v1alpha1, kind: Bucket}]}
---
`;
const bucket = (namespace: string, name = "b1"): string => `apiVersion: s3.services.k8s.aws/v1alpha1
kind: Bucket
metadata: {name: ${name}, namespace: ${namespace}}
---
`;
const resource = (namespace: string, name = "b1"): object => ({
  apiVersion: "s3.services.k8s.aws/v1alpha1",
  kind: "Bucket",
  namespace,
  name,
});

test("JSON output lists the outcomes in input order, and a conflict causes exit status 1", async (t) => {
  const stdin = SELECTORS + bucket("team-a") + bucket("both") + bucket("other");
  const { status, stdout, stderr } = await runCommand(
    ["resolve", "--from", "-", "-o", "json", "--region", "eu-west-1"],
    { stdin },
  );
  t.equal(status, 1);
  t.equal(stderr, "");
  const conflict = "Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [buckets, team-a]";
  t.match(JSON.parse(stdout), [
    {
      resource: resource("team-a"), outcome: "selected", region: { value: "eu-west-1", from: "controller" }, code: null,
      selectors: [{ name: "team-a", resourceVersion: "41", roleARN: "arn:aws:iam::111122223333:role/team-a" }],
    },
    { resource: resource("both"), outcome: "conflict", code: "ERR_SELECTOR_CONFLICT", message: conflict },
    { resource: resource("other"), outcome: "default", selectors: [], roleARN: null },
  ]);
});

test("uses --namespace for a resource that has no namespace, and exits 0 if no conflict exists", async (t) => {
  const stdin = SELECTORS + "apiVersion: s3.services.k8s.aws/v1alpha1\nkind: Bucket\nmetadata: {name: b1}\n";
  const inTeam = await runCommand(["resolve", "-n", "team-a", "-o", "json", "-"], { stdin });
  t.equal(inTeam.status, 0);
  t.match(JSON.parse(inTeam.stdout), [{ resource: { namespace: "team-a" }, outcome: "selected" }]);
  t.match(JSON.parse((await runCommand(["resolve", "-o", "json", "-"], { stdin })).stdout), [
    { resource: { namespace: "default" }, outcome: "default" },
  ]);
});

test("ignores a malformed selector, reports the selector on stderr and exits 1", async (t) => {
  const stdin = SELECTORS.replace("arn:aws:iam::111122223333:role/team-a", "not-an-arn") + bucket("team-a");
  const { status, stdout, stderr } = await runCommand(["resolve", "-o", "json", "-"], { stdin });
  t.equal(status, 1);
  t.match(JSON.parse(stdout), [{ outcome: "default" }]);
  t.equal(
    stderr,
    [
      "IAMRoleSelector team-a is malformed, so controllers ignore it:",
      '  IRS-02 spec.arn: "not-an-arn" is not an ARN: it does not start with arn:. ' +
        "Write the role's ARN as IAM shows it: arn:aws:iam::ACCOUNT:role/NAME.",
      "",
    ].join("\n"),
  );
});

test("uses a selector that the webhook denies but controllers accept, and reports the selector", async (t) => {
  const stdin = SELECTORS.replace("role/team-a", "user/jane") + bucket("team-a");
  const { status, stdout, stderr } = await runCommand(["resolve", "-o", "json", "-"], { stdin });
  t.equal(status, 1);
  t.match(JSON.parse(stdout), [{ outcome: "selected", roleARN: "arn:aws:iam::111122223333:user/jane" }]);
  t.match(
    stderr,
    new RegExp(
      "^IAMRoleSelector team-a is effective, but the sidecar does not grant its role and the webhook would deny it:\n" +
        " {2}IRS-03 ",
    ),
  );
});

test("resolve prints a table by default", async (t) => {
  const stdin = SELECTORS + bucket("team-a") + bucket("other") + bucket("both");
  const { stdout } = await runCommand(["resolve", "-"], { stdin });
  t.equal(stdout, [
    "NAMESPACE  RESOURCE   OUTCOME   ROLE OR REASON",
    "team-a     Bucket/b1  selected  111122223333/team-a",
    "other      Bucket/b1  default   the controller's own",
    "both       Bucket/b1  conflict  buckets, team-a",
    "",
  ].join("\n"));
});

test("prints a note and no table if the input contains no ACK resource", async (t) => {
  for (const flags of [[], ["--explain"], ["-o", "wide"]]) {
    const { status, stdout, stderr } = await runCommand(["resolve", "-", ...flags], { stdin: SELECTORS });
    t.same({ status, stdout }, { status: 0, stdout: "" });
    t.match(stderr, /^The input contains no ACK resource, and no object that refers to a Cluster API identity\. /);
  }
  const json = await runCommand(["resolve", "-", "-o", "json"], { stdin: SELECTORS });
  t.same(json, { status: 0, stdout: "[]\n", stderr: json.stderr });
  t.equal(json.stderr, "");
});

test("-o wide also prints selectors, ARNs and regions, and does not limit the width", async (t) => {
  const path = "a".repeat(100);
  const stdin = SELECTORS.replaceAll("role/team-a", `role/${path}/team-a`) + bucket("team-a") + bucket("other");
  const { stdout } = await runCommand(["resolve", "-", "-o", "wide", "--region", "eu-west-1"], { stdin });
  const role = `arn:aws:iam::111122223333:role/${path}/team-a`;
  t.equal(stdout, [
    `NAMESPACE  RESOURCE   OUTCOME   SELECTORS  ROLE${" ".repeat(role.length - 4)}  REGION`,
    `team-a     Bucket/b1  selected  team-a     ${role}  eu-west-1`,
    `other      Bucket/b1  default   -          ${"the controller's own".padEnd(role.length)}  eu-west-1`,
    "",
  ].join("\n"));
  t.match((await runCommand(["resolve", "-"], { stdin })).stdout, "111122223333/team-a\n", "text omits the path");
});

test("shortens long names to fit a terminal or COLUMNS, but nothing in a pipe", async (t) => {
  const names = [1, 2, 3].map((i) => `bucket-${i}-${"x".repeat(60)}-east`);
  const stdin = SELECTORS + names.map((name) => bucket("team-a", name)).join("");
  const linesOf = async (environment: Record<string, string>, terminal: boolean): Promise<string[]> => {
    const plain = { ...environment, NO_COLOR: "1" };
    const { stdout } = await runCommand(["resolve", "-"], { stdin, terminal, columns: 80, environment: plain });
    return stdout.trimEnd().split("\n");
  };
  const [, ...rows] = await linesOf({}, true);
  t.match(rows[0], /^team-a {5}Bucket\/bucket-1-x+…x+-east {2}selected {2}…\/team-a$/);
  t.equal(new Set(rows).size, names.length, "shortened names are distinct");
  for (const row of rows) t.ok(row.length <= 80, row);
  t.match((await linesOf({ COLUMNS: "200" }, true))[1], `Bucket/${names[0]} `);
  for (const line of await linesOf({ COLUMNS: "60" }, true)) t.ok(line.length <= 60, line);
  t.match((await linesOf({ COLUMNS: "60" }, false))[1], `Bucket/${names[0]}  selected  111122223333/team-a`);
});

test("prints the error code as the reason for a refused resource", async (t) => {
  const namespace = "apiVersion: v1\nkind: Namespace\n"
    + 'metadata: {name: team-a, annotations: {services.k8s.aws/owner-account-id: "111122223333"}}\n---\n';
  const { stdout } = await runCommand(["resolve", "-", "--mode", "carm"], { stdin: namespace + bucket("team-a") });
  t.match(stdout, /\nteam-a +Bucket\/b1 +refused +ERR_CARM_MAP_MISSING\n$/);
});

test("selectors match only the storage version of a kind, and a warning lists all served versions", async (t) => {
  const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: buckets.s3.services.k8s.aws}
spec:
  group: s3.services.k8s.aws
  names: {kind: Bucket, plural: buckets}
  versions: [{name: v1alpha1, served: true, storage: true}, {name: v1beta1, served: true, storage: false}]
---
`;
  const { stdout, stderr } = await runCommand(["resolve", "-o", "json", "-"], {
    stdin: SELECTORS + crd + bucket("both").replace("v1alpha1", "v1beta1"),
  });
  t.match(JSON.parse(stdout), [{ outcome: "conflict" }]);
  t.equal(
    stderr,
    "warning: Bucket.s3.services.k8s.aws has versions v1alpha1, v1beta1; " +
      "selectors match only the stored version, v1alpha1\n",
  );
});

test("treats each selector that has a generateName as a separate selector", async (t) => {
  const generated = (spec: string): string =>
    `apiVersion: services.k8s.aws/v1alpha1\nkind: IAMRoleSelector\nmetadata: {generateName: team-a-}\n` +
    `spec: ${spec}\n---\n`;
  const good = generated("{arn: \"arn:aws:iam::111122223333:role/a\", namespaceSelector: {names: [team-a]}}");
  const twice = await runCommand(["resolve", "-", "-o", "json"], { stdin: good + good + bucket("team-a") });
  t.equal(twice.status, 1);
  t.match(JSON.parse(twice.stdout), [
    { outcome: "conflict", selectors: [{ name: "team-a-00001" }, { name: "team-a-00002" }] },
  ]);
  const malformed = await runCommand(["resolve", "-"], { stdin: generated("{arn: x}") + good + bucket("team-a") });
  t.equal(malformed.status, 1);
  t.match(malformed.stderr, /^IAMRoleSelector team-a-00001 is malformed, so controllers ignore it:\n/);
});

test("JSON output has what limits the sessions of the role", async (t) => {
  const annotations = `ack-role-resolver.io/session-scope: service, ack-role-resolver.io/session-policy: '{"a": 1}'`;
  const stdin = SELECTORS.replace('resourceVersion: "41"', `annotations: {${annotations}}`) + bucket("team-a");
  const limits = { scope: "service", policyARNs: [], policy: { a: 1 } };
  for (const flags of [[], ["--explain"]]) {
    const { stdout } = await runCommand(["resolve", "--from", "-", "-o", "json", ...flags], { stdin });
    t.match(JSON.parse(stdout), [{ limits }]);
  }
  const unlimited = { stdin: SELECTORS + bucket("team-a") };
  const { stdout } = await runCommand(["resolve", "--from", "-", "-o", "json"], unlimited);
  t.notMatch(stdout, "limits");
});
