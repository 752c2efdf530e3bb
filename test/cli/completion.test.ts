import { readFileSync, writeFileSync } from "node:fs";
import { test } from "tap";
import { COMPLETE, COMPLETION_FILE, started } from "../../cli/plugin.ts";
import { runCommandLine } from "../../cli/program.ts";
import { SCRIPTS, SHELLS } from "../../cli/completion/scripts.ts";
import { COMMANDS } from "../../shared/core/setting-definition.ts";
import { shorthandsOf } from "../../cli/command-options.ts";
import { DEFINITIONS } from "../../shared/core/settings.ts";
import { updatesGolden } from "../programs/environment.ts";
import { SELECTORS_PATH } from "../shared/api/fake-cluster.ts";
import { bucketObject, namespaceObject, ROLE, selectorObject } from "../shared/objects.ts";
import { clusterOf, kubeconfigOf } from "./broken-resources.ts";
import { captureOutput, runCommand } from "./run-command.ts";

/** Returns the candidates without their descriptions, and last the directive. */
function answersIn({ stdout }: { readonly stdout: string }): string[] {
  return stdout.trimEnd().split("\n").map((line) => line.split("\t")[0] ?? "");
}

async function complete(...words: readonly string[]): Promise<string[]> {
  return answersIn(await runCommand([COMPLETE, ...words]));
}

/** Completes a command line of the plugin, as kubectl asks for it. */
async function completePlugin(...words: readonly string[]): Promise<string[]> {
  return answersIn(await captureOutput(async (io) => {
    const start = started(COMPLETION_FILE, { argv: words, io });
    return await runCommandLine(start.argv, start.io);
  }));
}

test("completes commands and subcommands, with their descriptions", async (t) => {
  t.same(await complete("res"), ["resolve", ":4"]);
  t.same(await complete("trust", "w"), ["who", ":4"]);
  t.match((await runCommand([COMPLETE, "why"])).stdout, /^why\tsay why a resource has its role, [^\n]*\n:4\n$/);
  const first = await complete("");
  for (const command of COMMANDS) t.ok(first.includes(command.split(" ")[0] ?? ""), command);
  t.notOk((await completePlugin("")).includes("sidecar"), "the plugin has no servers");
});

test("completes every flag of every command", async (t) => {
  for (const command of COMMANDS) {
    const own = DEFINITIONS.filter(([, { commands }]) => commands.includes(command)).map(([, { flag }]) => flag);
    const flags = [...own, ...shorthandsOf(command).flatMap(({ long }) => long ?? [])];
    const answers = (await complete(...command.split(" "), "--")).slice(0, -1);
    t.same(answers.toSorted(), flags.toSorted(), command);
  }
});

test("completes the values that the settings table lists, also in a list and after =", async (t) => {
  for (const [words, expected] of [
    [["resolve", "-o", ""], ["text", "wide", "json", ":4"]],
    [["resolve", "--output=w"], ["--output=wide", ":4"]],
    [["lint", "--fail-on", "deny,w"], ["deny,warn", ":4"]],
    [["lint", "--check", "IRS-30"], ["IRS-30=", ":6"]],
    [["lint", "--check", "IRS-30=w"], ["IRS-30=warn", ":4"]],
    [["resolve", "--kind", "Bucket.s3.s"], ["Bucket.s3.services.k8s.aws", ":4"]],
    [["lint", "--kubeconfig", ""], [":0"]],
    [["lint", ""], [":0"]],
    [["lint", "--region", ""], [":4"]],
    [["lint", "--unknown=x"], [":4"]],
    [["completion", "f"], ["fish", ":4"]],
    [["manifests", "r"], ["rbac", ":4"]],
    [["explain", "ERR_SELECTOR_CON"], ["ERR_SELECTOR_CONFLICT", ":4"]],
    [["why", "buck"], ["bucket/", ":6"]],
    [["why", "cluster.ek"], ["cluster.eks.services.k8s.aws/", ":6"]],
    [["why", "bucket/b1", ""], [":4"]],
    [["lint", "--namespace", ""], [":4"]],
    [["resolve", "--unknown", "x", "--expl"], ["--explain", ":4"]],
  ] as const) t.same(await complete(...words), expected, words.join(" "));
});

const OBJECTS = [
  namespaceObject("team-a"), namespaceObject("team-b"), bucketObject(), bucketObject({ name: "c1" }),
  selectorObject("gold", { arn: ROLE }),
];

test("completes names of the cluster, and prints nothing if the cluster does not answer", async (t) => {
  const cluster = await clusterOf({ objects: OBJECTS });
  cluster.objects.set("/apis", []);
  const kubeconfig = ["--kubeconfig", kubeconfigOf(t, cluster)];
  t.same(await completePlugin("resolve", ...kubeconfig, "-n", "team-"), ["team-a", "team-b", ":4"]);
  t.same(await complete("resolve", "--cluster", ...kubeconfig, "--namespace=team-b"), ["--namespace=team-b", ":4"]);
  t.same(await completePlugin("why", ...kubeconfig, "bucket/"), ["bucket/b1", "bucket/c1", ":4"]);
  t.same(await completePlugin("why", ...kubeconfig, "-n", "team-a", "buckets.s3.services.k8s.aws/c"), [
    "buckets.s3.services.k8s.aws/c1", ":4",
  ]);
  t.same(await completePlugin("trust", "who", ...kubeconfig, ""), ["gold", ":4"]);
  t.same(await completePlugin("resolve", ...kubeconfig, "--context", ""), ["test", ":4"]);
  t.same(await complete("resolve", "-n", ""), [":4"], "manifests have no cluster");
  cluster.errors.set(SELECTORS_PATH, { status: 403 });
  t.same(await completePlugin("trust", "who", ...kubeconfig, ""), [":4"], "no right");
  cluster.blocked.set(SELECTORS_PATH, []);
  cluster.errors.delete(SELECTORS_PATH);
  t.same(await completePlugin("trust", "who", ...kubeconfig, ""), [":4"], "too slow");
  t.same(await completePlugin("trust", "who", "--kubeconfig", "/missing", ""), [":4"], "no kubeconfig");
  t.same(await completePlugin("resolve", "--kubeconfig", "/missing", "--context", ""), [":4"]);
});

test("offers no name that a shell would run or a terminal would obey", async (t) => {
  const hostile = [
    "$(id)", "a;id", "`id`", "a b", "a'b", "a\nb", "a\u001b[2J", "a|b", "a>b", "*", "~a", "a#b", "a\u202eb",
  ];
  const selectors = [...hostile, "plain"].map((name) => selectorObject(name, { arn: ROLE }));
  const kubeconfig = ["--kubeconfig", kubeconfigOf(t, await clusterOf({ objects: selectors }))];
  t.same(await completePlugin("trust", "who", ...kubeconfig, ""), ["plain", ":4"]);
});

test("completion prints the script of each shell, and says which kubectl reads it", async (t) => {
  for (const shell of SHELLS) {
    const { stdout, stderr, status } = await runCommand(["completion", shell]);
    t.same([status, stdout], [0, SCRIPTS[shell]], shell);
    t.match(stderr, shell === "kubectl" ? /^note: kubectl 1\.26 or later completes plugins; `kubectl version/ : /^$/);
  }
  t.match(await runCommand(["completion", "tcsh"]), {
    status: 2, stderr: 'ack-role-resolver: "tcsh": expected one of bash, zsh, fish, powershell, kubectl\n',
  });
  // No test runs PowerShell, so a change of its script is compared and not run.
  const golden = new URL("../golden/completion.ps1", import.meta.url);
  if (updatesGolden()) writeFileSync(golden, SCRIPTS.powershell);
  t.equal(SCRIPTS.powershell, readFileSync(golden, "utf8"));
});
