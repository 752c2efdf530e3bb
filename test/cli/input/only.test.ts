import { test } from "tap";
import { runCommand } from "../run-command.ts";
import { STATE } from "../state.ts";

const NO_OVERLAPS = ["--check", "IRS-17=off", "--check", "IRS-18=off"];

interface Row {
  readonly resource: { readonly namespace: string; readonly kind: string };
}

function parsed(stdout: string): readonly Row[] {
  return JSON.parse(stdout);
}

/** Returns the resources that `resolve` prints with the values of --only, and the exit status. */
async function resolved(...only: readonly string[]): Promise<readonly string[]> {
  const argv = ["resolve", "-", "-o", "json", ...only.flatMap((value) => ["--only", value])];
  const { stdout } = await runCommand(argv, { stdin: STATE });
  return parsed(stdout).map(({ resource: { namespace, kind } }) => `${namespace}/${kind}`);
}

test("values of one field are alternatives, and a row must have a value of each field", async (t) => {
  t.same(await resolved("namespace=team-a"), ["team-a/Bucket", "team-a/Queue"]);
  t.same(await resolved("kind=Queue,kind=Bucket.s3.services.k8s.aws", "namespace=team-b"), ["team-b/Bucket"]);
  t.same(await resolved("label=tier=silver"), ["team-a/Queue"]);
  t.same(await resolved("label=tier=silver", "label=team=x"), [], "other keys are other fields");
  t.same(await resolved("account=111122223333"), ["team-a/Bucket"]);
  t.same(await resolved("selector=queues"), ["team-a/Queue"]);
  t.same(await resolved("outcome=conflict", "outcome=default"), ["team-a/Queue", "team-b/Bucket"]);
});

test("the exit status and each output of lint follow the filter", async (t) => {
  const argv = ["lint", "-", ...NO_OVERLAPS, "--fail-on", "warn", "--only", "kind=Bucket,namespace=team-a"];
  for (const output of ["text", "json", "sarif"]) {
    const { status, stdout, stderr } = await runCommand([...argv, "-o", output], { stdin: STATE });
    t.same([status, stderr.includes("matches no")], [0, false]);
    t.notMatch(stdout, /"(?:ruleId|severity)"|: (?:deny|warn) [A-Z]/, output);
  }
  const ofSelectors = ["lint", "-", ...NO_OVERLAPS, "--only", "kind=IAMRoleSelector"];
  t.match(await runCommand(ofSelectors, { stdin: STATE }), { status: 1, stdout: /^3 checked, 1 denied/m });
});

test("audit counts only what the filter selects, also of clusters", async (t) => {
  const cluster = "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSCluster\n"
    + "metadata: {name: c, namespace: team-b}\n";
  const argv = ["audit", "-", "-o", "json", ...NO_OVERLAPS, "--only"];
  for (const [name, summary] of [
    ["team-a", { objects: 2, resources: 2, conflicts: 1, onDefault: 0, clusters: 0 }],
    ["team-b", { objects: 2, resources: 1, conflicts: 0, onDefault: 1, clusters: 1 }],
  ] as const) {
    const { stdout } = await runCommand([...argv, `namespace=${name}`], { stdin: STATE + cluster });
    t.match(JSON.parse(stdout), { summary }, name);
  }
});

test("impact filters the changes and their exit status, and not the denials of the manifests", async (t) => {
  const dir = t.testdir({ "state.yaml": STATE });
  const deleted = STATE.split("---\n")[2] ?? "";
  const run = (...only: string[]): ReturnType<typeof runCommand> => (
    runCommand(["impact", "--from", dir, "--delete", "-", "--check", "IRS-30=off", ...only], { stdin: deleted })
  );
  t.match(await run(), { status: 1, stdout: /^3 resources: 1 now default, 1 now selected, 1 unchanged\n/ });
  const filtered = await run("--only", "kind=Queue");
  t.match(filtered.stdout, /^2 resources: 1 now selected, 1 unchanged\n/);
  t.equal(filtered.status, 0);
  t.match((await run("--only", "namespace=team-b")).stderr, /^--only namespace=team-b matches no change$/m);
});

test("states that a filter matches nothing, and rejects fields that the rows do not have", async (t) => {
  const run = (...argv: string[]): ReturnType<typeof runCommand> => runCommand(argv, { stdin: STATE });
  const lint = await run("lint", "-", "--only", "namespace=x");
  t.match(lint, { status: 0, stderr: /^--only namespace=x matches no object$/m });
  t.match((await run("lint", "-", "--only", "kind=A\n\u001B[2J")).stderr, String.raw`kind=A\u000a\u001b[2J matches no`);
  const resolve = await run("resolve", "-", "--only", "kind=Table");
  t.match(resolve, { stdout: "", stderr: /^--only kind=Table matches no resource\n/ });
  const expected = "expected FIELD=VALUE, where FIELD is one of";
  for (const [argv, fault] of [
    [["lint", "outcome=default"], `"outcome=default": ${expected} namespace, kind, label`],
    [["resolve", "nmespace"], `"nmespace": ${expected} namespace, kind, label, account, selector, outcome`],
    [["resolve", "outcome=lost"], '"outcome=lost": expected one of selected, default, conflict, refused'],
    [["audit", "label=tier"], '"label=tier": expected KEY=VALUE, as in label=tier=gold'],
  ] as const) {
    const [command, only] = argv;
    t.match(await run(command, "-", "--only", only), { status: 2, stdout: "", stderr: `--only ${fault}` });
  }
  const hypothetical = ["resolve", "-", "--kind", "Bucket.s3.services.k8s.aws", "--only", "namespace=x"];
  t.match((await run(...hypothetical)).stderr, "where FIELD is one of account, selector, outcome");
});
