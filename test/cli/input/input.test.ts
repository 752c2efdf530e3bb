import { test } from "tap";
import { runCommand } from "../run-command.ts";

const SELECTOR = `apiVersion: services.k8s.aws/v1alpha1
kind: IAMRoleSelector
metadata: {name: team-a}
spec:
  arn: arn:aws:iam::111122223333:role/team-a
  namespaceSelector: {names: [team-a]}
`;
const BUCKET = `apiVersion: s3.services.k8s.aws/v1alpha1
kind: Bucket
metadata: {name: logs, namespace: team-a}
spec: {name: logs}
`;
const UNPLACED = BUCKET.replace(", namespace: team-a", "");
const CHART = { "Chart.yaml": "name: x", templates: { "a.yaml": "{{ if .x }}" } };
const CHECKS = ["lint", "resolve", "audit", "migrate carm"] as const;

test("each command skips files that are not Kubernetes objects, and says how to read a chart with -v", async (t) => {
  const dir = t.testdir({ "a.yaml": SELECTOR + `---\n${BUCKET}`, chart: CHART, "package.json": "{}" });
  const line = "skipped 1 Helm template, 1 Helm chart or values file, 1 JSON file without apiVersion and kind "
    + "(to read a chart: helm template . | ack-role-resolver ";
  const impact = ["impact", `${dir}/a.yaml`, "--from", dir];
  const commands = [...CHECKS.map((command) => [...command.split(" "), dir]), impact];
  for (const argv of commands) {
    t.not(await runCommand(argv), { status: 2 }, argv.join(" "));
    const { stderr } = await runCommand([...argv, "-v"]);
    const command = argv === impact ? "impact --from - CHANGE" : `${argv.slice(0, -1).join(" ")} -`;
    t.ok(stderr.includes(`${line}${command})\n`), stderr);
  }
});

test("JSON output contains the counts, and -v lists the files", async (t) => {
  const dir = t.testdir({ "a.yaml": SELECTOR, chart: CHART, "b\u0007.json": "{}" });
  const impact = ["impact", "-o", "json", `${dir}/chart`, "--allow-empty", "--from", dir];
  t.match(JSON.parse((await runCommand(impact)).stdout), {
    skippedFiles: { "helm-template": 2, "helm-chart": 2, json: 1 },
  }, "impact counts the files of the change and of the state");
  const { stdout, stderr } = await runCommand(["lint", dir, "-o", "json", "-v"]);
  t.match(JSON.parse(stdout), { skippedFiles: { "helm-template": 1, "helm-chart": 1, json: 1 } });
  t.same(stderr.replaceAll(dir, "").split("\n"), [
    "skipped /b\\u0007.json: JSON file without apiVersion and kind",
    "skipped /chart/Chart.yaml: Helm chart or values file",
    "skipped /chart/templates/a.yaml: Helm template",
    "skipped 1 Helm template, 1 Helm chart or values file, 1 JSON file without apiVersion and kind "
    + "(to read a chart: helm template . | ack-role-resolver lint -)",
    "",
  ]);
});

test("exits 2 on input without Kubernetes objects, unless --allow-empty is set", async (t) => {
  const dir = t.testdir({ "package.json": "{}" });
  for (const command of CHECKS) {
    const argv = command.split(" ");
    const { status, stderr } = await runCommand([...argv, dir]);
    t.equal(status, 2, command);
    t.match(stderr, "skipped 1 JSON file without apiVersion and kind (-v lists them)\n");
    t.match(stderr, "no Kubernetes object found; pass other files or folders, or pass --allow-empty");
    t.not((await runCommand([...argv, "-", "--allow-empty"])).status, 2, command);
  }
  const { status, stderr } = await runCommand(["lint", "-"], { stdin: "# nothing\n" });
  t.same([status, stderr.split("\n")[0]?.slice(0, 2)], [2, "-:"]);
});

test("exits 2 and prints only the errors if a manifest cannot be read, except lint", async (t) => {
  const dir = t.testdir({ "a.yaml": `${SELECTOR}---\n${BUCKET}`, "b.json": "{" });
  const impact = ["impact", "--from", dir, `${dir}/a.yaml`];
  for (const argv of [...CHECKS.slice(1).map((command) => [...command.split(" "), dir]), impact]) {
    const { status, stdout, stderr } = await runCommand(argv);
    t.same([status, stdout], [2, ""], argv.join(" "));
    t.match(stderr, /^[^\n]*b\.json:1: [^\n]*\n$/, argv.join(" "));
  }
  t.match(await runCommand(["lint", dir]), { status: 2, stdout: /^2 checked, 0 denied/m, stderr: /b\.json:1: / });
});

test("exits 2 on invalid YAML; with --skip-unreadable, prints a warning and skips the unreadable part", async (t) => {
  const dir = t.testdir({ "a.yaml": SELECTOR, "b.yaml": `a: [\n---\n${BUCKET}` });
  t.equal((await runCommand(["resolve", dir])).status, 2);
  const { status, stdout, stderr } = await runCommand(["resolve", dir, "--skip-unreadable"]);
  t.equal(status, 0);
  t.match(stdout, /team-a +Bucket\/logs +selected/);
  t.match(stderr.replaceAll(dir, ""), new RegExp(
    "^warning: /b.yaml:\\d: invalid YAML.*\nwarning: 1 file skipped as unreadable; the result may be wrong\n"
    + "1 object not judged: in unreadable files \\(-v for details\\)\n$",
  ));
});

test("--ignore excludes an overlay, so that its objects are not duplicates", async (t) => {
  const dir = t.testdir({ a: { "s.yaml": SELECTOR }, b: { "s.yaml": SELECTOR } });
  t.equal((await runCommand(["resolve", dir, "--root", "."])).status, 2);
  const { status, stderr } = await runCommand(["resolve", dir, "-v", "--ignore", "a,x", "--ignore", "/b/"]);
  t.equal(status, 0);
  t.match(stderr, /^skipped \S+: ignored file or folder\nskipped 1 ignored file or folder\n/);
});

test("resolve and audit report a selector whose ARN is not rendered, but exit 0", async (t) => {
  const stdin = `${SELECTOR.replace("111122223333", "${ACCOUNT}")}---\n${BUCKET}`;
  const resolved = await runCommand(["resolve", "-"], { stdin });
  t.equal(resolved.status, 0);
  t.match(resolved.stderr, "IAMRoleSelector team-a is not rendered, so its roles may differ in the cluster:\n"
    + '  IRS-03 spec.arn: "arn:aws:iam::${ACCOUNT}:role/team-a" is not rendered');
  const audited = await runCommand(["audit", "-"], { stdin });
  t.equal(audited.status, 0, audited.stdout);
});

test("audit denies a conflict of selectors, but only warns if a selector's name is not rendered", async (t) => {
  const other = SELECTOR.replace("name: team-a", "name: team-b");
  const conflict = (name: string): string => [SELECTOR, other.replace("team-b", name), BUCKET].join("---\n");
  const denied = await runCommand(["audit", "-"], { stdin: conflict("team-b") });
  t.match([denied.status, denied.stdout], [1, "deny ACK-03 Bucket team-a/logs"]);
  const warned = await runCommand(["audit", "-", "--check", "IRS-17=warn"], { stdin: conflict('"<team>"') });
  t.match(warned.stdout, "warn ACK-03 Bucket team-a/logs");
});

test("--namespace is the namespace of manifests that set none, for each decision", async (t) => {
  const dir = t.testdir({ "a.yaml": `${SELECTOR}---\n${UNPLACED}`, "b.yaml": SELECTOR.replace("1111", "4444") });
  const stateFile = `${dir}/a.yaml`;
  const commands = [
    ["lint", stateFile, "--fail-on", "warn"], ["audit", stateFile, "--fail-on", "warn"],
    ["impact", `${dir}/b.yaml`, "--from", stateFile, "--check", "IRS-07=off"],
  ];
  const placed = await Promise.all(commands.map((argv) => runCommand([...argv, "-n", "team-a"])));
  const unplaced = await Promise.all(commands.map((argv) => runCommand(argv)));
  t.same(placed.map(({ status }) => status), [0, 0, 1]);
  t.same(unplaced.map(({ status }) => status), [1, 1, 0], "the bucket is in the namespace default");
  t.match(unplaced[0]?.stdout, "ACK-05 Bucket logs");
  t.match(placed[2]?.stdout, /^team-a {5}Bucket\/logs {2}other account/m);
});

test("states that --namespace has no effect if each object has a namespace", async (t) => {
  const note = "--namespace team-b has no effect on standard input, where each namespaced object has a namespace; "
    + "to report only one namespace, pass --only namespace=team-b\n";
  t.match((await runCommand(["lint", "-", "-n", "team-b"], { stdin: BUCKET })).stderr, note);
  t.notMatch((await runCommand(["lint", "-", "-n", "team-b"], { stdin: UNPLACED })).stderr, "no effect");
});

test("--max-documents sets the number of documents in a file, and the error names it", async (t) => {
  const stdin = `${BUCKET}---\n${SELECTOR}`;
  const fault = "-:5: more than 1 YAML documents; use several files, or pass --max-documents N\n";
  t.match(await runCommand(["lint", "-", "--max-documents", "1"], { stdin }), { status: 2, stderr: fault });
  const many = "---\n".repeat(20_000) + stdin;
  t.match((await runCommand(["resolve", "-"], { stdin: many })).stderr, "more than 20000 YAML documents");
  t.equal((await runCommand(["resolve", "-", "--max-documents", "30000"], { stdin: many })).status, 0);
});
