import { test } from "tap";
import { runCommand } from "./run-command.ts";
import { STATE } from "./state.ts";

interface Resolved {
  readonly outcome: string;
  readonly resource: object;
  readonly explanation?: readonly object[];
}

function parsed(stdout: string): readonly Resolved[] {
  return JSON.parse(stdout);
}

const QUEUE = ["--kind", "Queue.sqs.services.k8s.aws", "-n", "team-a"];

test("--explain lists the conditions of selectors and shows which conditions match", async (t) => {
  const { status, stdout } = await runCommand(["resolve", "-", "--explain"], { stdin: STATE });
  t.equal(status, 1);
  t.equal(
    stdout.split("\n\n")[1],
    [
      "Queue team-a/q1: conflict",
      "  Cannot determine which IAMRoleSelector to use. Conflicting IAMRoleSelectors: [queues, team-a]",
      "  queues (arn:aws:iam::111122223333:role/queues): selects the resource",
      "    yes spec.namespaceSelector.labelSelector.matchLabels[tier]: " +
        "selector requires tier=gold, namespace has tier=gold",
      "    yes spec.resourceTypeSelector: " +
        "selector requires any kind of sqs.services.k8s.aws, resource has Queue.v1alpha1.sqs.services.k8s.aws",
      "  team-a (arn:aws:iam::111122223333:role/team-a): selects the resource",
      "    yes spec.namespaceSelector.names: selector requires namespace team-a, resource has namespace team-a",
      "  team-b: does not select the resource",
      '    The selector is malformed, so controllers ignore it: IRS-02 spec.arn: ' +
        "\"arn:aws:iam:444455556666:role/team-b\" is not an ARN: it has fewer than six parts separated by ':'.",
      "  role: none",
      "  fix ACK-03: Controllers do not reconcile the resource. Restrict or delete selectors until only one selects "
        + "the resource.",
      "    to change IAMRoleSelector queues:", "      edit line 17 of standard input",
      "    or to change IAMRoleSelector team-a:", "      edit line 12 of standard input",
    ].join("\n"),
  );
  t.match(
    stdout,
    new RegExp(
      "^Bucket team-a/b1: selected\n {2}IAMRoleSelector team-a selects the resource\\.\n" +
        " {2}team-a: selects the resource\n" +
        "[^]*\n {4}no {2}spec\\.resourceTypeSelector: ",
    ),
  );
});

test("--explain prints the nearest of 300 selectors; --log-level debug and JSON have all", async (t) => {
  const names = Array.from({ length: 300 }, (_, i) => `team-${String(i).padStart(3, "0")}`);
  const stdin = names.map((name) => `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: ${name}}
spec: {arn: "arn:aws:iam::111122223333:role/${name}", namespaceSelector: {names: [${name}]}}
---
`).join("");
  const query = ["resolve", "-", "--explain", "--kind", "Bucket.s3.services.k8s.aws", "-n", "team-007"];
  const { stdout } = await runCommand(query, { stdin });
  t.equal(stdout.split("\n").length, 16, stdout);
  t.match(stdout, /\n {2}team-007: selects [^]*\n {2}team-000 \(arn:[^)]*\): does not [^]*\n {2}296 more selectors w/);
  const all = await runCommand([...query, "--log-level", "debug"], { stdin });
  t.equal(all.stdout.match(/does not select/g)?.length, 299);
  t.equal(parsed((await runCommand([...query, "-o", "json"], { stdin })).stdout)[0]?.explanation?.length, 300);
});

test("JSON output contains explanations only if --explain is set", async (t) => {
  const { stdout } = await runCommand(["resolve", "-", "--explain", "-o", "json"], { stdin: STATE });
  const [bucket] = parsed(stdout);
  t.match(bucket, { outcome: "selected", resource: { name: "b1" } });
  t.strictSame(bucket?.explanation?.[1], {
    selector: "team-a",
    roleARN: "arn:aws:iam::111122223333:role/team-a",
    selects: true,
    malformed: false,
    parts: [
      { path: "spec.namespaceSelector.names", wants: "namespace team-a", carries: "namespace team-a", holds: true },
    ],
    message: "The selector selects the resource: every condition matches.",
  });
  t.equal(
    parsed((await runCommand(["resolve", "-", "-o", "json"], { stdin: STATE })).stdout)[0]?.explanation,
    undefined,
  );
});

test("--explain reports that no selector exists if the input has no selector", async (t) => {
  const { stdout } = await runCommand(["resolve", "-", "--explain", ...QUEUE], {
    stdin: "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a}\n",
  });
  t.equal(
    stdout,
    "Queue team-a: default\n" +
      "  No IAMRoleSelector selects the resource, so the controller's own role is used.\n" +
      "  No IAMRoleSelector exists.\n" +
      "  role: the controller's own\n" +
      "  fix ACK-05: Label the resource or its namespace so that a selector matches, unless the controller's account " +
      "is intended.\n    to give every resource of namespace team-a a role, replace ACCOUNT and NAME:\n" +
      '      printf %s \'{"apiVersion":"services.k8s.aws/v1alpha1","kind":"IAMRoleSelector",' +
      '"metadata":{"name":"team-a"},"spec":{"arn":"arn:aws:iam::ACCOUNT:role/NAME",' +
      '"namespaceSelector":{"names":["team-a"]}}}\' ' +
      "| kubectl create -f -\n",
  );
});

test("--kind resolves a hypothetical resource and ignores the resources in the input", async (t) => {
  const { status, stdout } = await runCommand(["resolve", "-", "-o", "json", ...QUEUE, "-l", "tier=gold"], {
    stdin: STATE,
  });
  t.equal(status, 1);
  t.match(JSON.parse(stdout), [
    {
      resource: { apiVersion: "sqs.services.k8s.aws/v1alpha1", kind: "Queue", namespace: "team-a", name: null },
      outcome: "conflict",
    },
  ]);
  t.equal(JSON.parse(stdout).length, 1);
  const text = await runCommand(["resolve", "-", ...QUEUE], { stdin: STATE });
  t.equal(
    text.stdout,
    "NAMESPACE  RESOURCE  OUTCOME   ROLE OR REASON\nteam-a     Queue     conflict  queues, team-a\n",
  );
});

test("uses the labels of --label and the version of --kind to resolve a hypothetical resource", async (t) => {
  const stdin = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: gold}
spec: {arn: "arn:aws:iam::111122223333:role/gold", namespaceSelector: {names: [default]}, \
resourceTypeSelector: [{version: v2}], resourceLabelSelector: {matchLabels: {tier: gold, size: xl}}}
`;
  const outcome = async (...flags: readonly string[]): Promise<unknown> =>
    parsed((await runCommand(["resolve", "-", "-o", "json", ...flags], { stdin })).stdout)[0]?.outcome;
  const labels = ["-l", "tier=gold", "--label", "size=xl"];
  t.equal(await outcome("--kind", "Bucket.v2.s3.services.k8s.aws", ...labels), "selected");
  t.equal(await outcome("--kind", "Bucket.v2.s3.services.k8s.aws", "-l", "tier=gold"), "default");
  t.equal(
    await outcome("--kind", "Bucket.s3.services.k8s.aws", ...labels),
    "default",
    "the default version is the version of the ACK release",
  );
});

test("warns that a namespace does not exist if a selector depends on namespace labels", async (t) => {
  const stderrFor = async (namespace: string, stdin = STATE): Promise<string> =>
    (await runCommand(["resolve", "-", "--kind", "Bucket.s3.services.k8s.aws", "-n", namespace], { stdin })).stderr;
  t.match(
    await stderrFor("team-c"),
    "warning: Namespace team-c does not exist; selectors match it as if its only label were "
      + "kubernetes.io/metadata.name\n",
  );
  t.notMatch(await stderrFor("team-a"), "warning");
  t.notMatch(
    await stderrFor("team-c", STATE.replace("labelSelector: {matchLabels: {tier: gold}}", "names: [x]")),
    "warning",
  );
});

test("exits 2 and prints every error in --kind and --label", async (t) => {
  t.same(await runCommand(["resolve", "-", "-l", "tier=gold"]), {
    status: 2, stdout: "",
    stderr: "ack-role-resolver: --label: has no effect without --kind; add it, or remove --label\n",
  });
  t.same(await runCommand(["resolve", "-", "--allow-empty", "--kind", "Bucket", "-l", "gold"]), {
    status: 2,
    stdout: "",
    stderr:
      'ack-role-resolver: --kind "Bucket": ' +
      "expected KIND.GROUP or KIND.VERSION.GROUP, such as Bucket.s3.services.k8s.aws\n" +
      'ack-role-resolver: --label "gold": expected KEY=VALUE, such as tier=gold\n',
  });
});

const LOW = "\n  low (arn:aws:iam::111122223333:role/low): selects the resource, "
  + "but ack-role-resolver.io/use-selector does not name it\n";

test("--explain shows which selectors the annotation use-selector does not name", async (t) => {
  const selector = (name: string): object => ({
    apiVersion: "services.k8s.aws/v1alpha1", kind: "IAMRoleSelector", metadata: { name },
    spec: { arn: `arn:aws:iam::111122223333:role/${name}`, namespaceSelector: { names: ["team-a"] } },
  });
  const annotations = { "ack-role-resolver.io/use-selector": "high" };
  const metadata = { name: "b1", namespace: "team-a", annotations };
  const bucket = { apiVersion: "s3.services.k8s.aws/v1alpha1", kind: "Bucket", metadata };
  const stdin = [selector("low"), selector("high"), bucket].map((one) => JSON.stringify(one)).join("\n---\n");
  const extended = await runCommand(["resolve", "-", "--explain", "--runtime", "extended"], { stdin });
  t.equal(extended.status, 0);
  t.match(extended.stdout, "names it.\n  high: selects the resource\n");
  t.match(extended.stdout, LOW);
  const shipped = await runCommand(["resolve", "-", "--explain"], { stdin });
  t.equal(shipped.status, 1);
  t.match(shipped.stdout, "Bucket team-a/b1: conflict");
  t.notMatch(shipped.stdout, "does not name");
});
