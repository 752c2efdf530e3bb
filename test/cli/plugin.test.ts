import { symlinkSync } from "node:fs";
import path from "node:path";
import { test } from "tap";
import { COMPLETE, PLUGIN_FILE, started } from "../../cli/plugin.ts";
import { runCommandLine } from "../../cli/program.ts";
import { type ProgramResult, runProgram } from "../programs/run-program.ts";
import { NAMESPACES_PATH, SELECTORS_PATH } from "../shared/api/fake-cluster.ts";
import { bucketObject, namespaceObject, ROLE, selectorObject } from "../shared/objects.ts";
import { clusterOf, kubeconfigOf } from "./broken-resources.ts";
import { captureOutput, type CommandResult, runCommand } from "./run-command.ts";

const ROOT = path.join(import.meta.dirname, "../..");
type Options = Parameters<typeof captureOutput>[1];

/** Runs a command line as kubectl runs the plugin. */
export function runPlugin(argv: readonly string[], options: Options = {}): Promise<CommandResult> {
  return captureOutput(async (io) => {
    const start = started(`${PLUGIN_FILE}.js`, { argv, io });
    return await runCommandLine(start.argv, start.io);
  }, options);
}

test("the plugin runs the command that why prints for a denied action, which needs no cluster", async (t) => {
  const { status, stdout } = await runPlugin(["trust", "policy", "--group", "s3.services.k8s.aws"]);
  t.equal(status, 0);
  t.match(JSON.parse(stdout), { Statement: [{ Effect: "Allow" }] });
  const other = await runPlugin(["trust", "policy", "--all", "--caller", ROLE]);
  t.match(other, { status: 2, stderr: /kubeconfig/ }, "other questions need the cluster");
});

test("help and errors name the command that starts the plugin, and a server is no command of it", async (t) => {
  const { stdout: help } = await runPlugin(["--help"]);
  t.match(help, /^Usage: kubectl ack-role \[options\][^]*\n {2}kubectl ack-role lint man/);
  t.notMatch(help, /ack-role-resolver|Servers:/);
  for (const argv of [["why", "--help"], ["impact", "--help", "--all"]]) {
    const { stdout } = await runPlugin(argv, { terminal: true, columns: 60 });
    t.match(stdout, `\nUsage: kubectl ack-role ${argv[0]} [options]`.slice(1));
    t.notMatch(stdout, /ack-role-resolver [a-z]/);
    const [text = ""] = stdout.split("\nExamples:\n");
    t.same(text.split("\n").filter((line) => line.length > 60), [], "the help fits 60 columns");
  }
  t.equal((await runPlugin(["lint", "missing.yaml"])).stderr.split(":")[0], "missing.yaml");
  t.match(await runPlugin(["sidecar"]), { status: 2, stderr: "error: unknown command 'sidecar'" });
  t.match((await runPlugin(["explain", "IRS-16"])).stdout, "`kubectl ack-role manifests crds`");
  t.match((await runPlugin(["explain", "x"])).stderr, /^kubectl ack-role: no check/);
  t.match((await runPlugin(["version"])).stdout, /^ack-role-resolver \d/, "the product keeps its name");
});

test("reads the current context unless files are given", async (t) => {
  const selector = selectorObject("a", { arn: ROLE, namespaceSelector: { names: ["team-a"] } });
  const objects = [namespaceObject("team-a"), bucketObject(), selector];
  const cluster = await clusterOf({ objects });
  const flags = ["--kubeconfig", kubeconfigOf(t, cluster)];
  t.match((await runPlugin(["why", "bucket/b1", "-n", "team-a", ...flags])).stdout, "Bucket team-a/b1: selected\n");
  t.match(await runPlugin(["resolve", "manifests/examples"]), { status: 1, stdout: /^NAMESPACE .*\nanalytics / });
  const useless = await runPlugin(["lint", "manifests/examples", ...flags]);
  t.match(useless.stderr, "kubectl ack-role: --kubeconfig: has no effect");
  t.match((await runPlugin(["audit", ...flags])).stdout, /^\d+ objects: 1 selector/);
  t.match((await runPlugin(["impact", "--delete", "manifests/examples/storefront", ...flags])).stdout, /resource/);
  const environment = { ACK_ROLE_RESOLVER_FROM: "manifests/examples" };
  t.match((await runPlugin(["resolve"], { environment })).stdout, "analytics", "a variable chooses the files");
  t.match((await runCommand(["resolve"])).stderr, "no manifests are given", "only the plugin has this default");
});

test("says which object a cluster lacks, and which right a user", async (t) => {
  const objects = [namespaceObject("team-a"), bucketObject()];
  for (const [errors, message] of [
    [
      { [SELECTORS_PATH]: { status: 404 } },
      `The cluster cannot be read: the API server does not know the kind IAMRoleSelector (404 on ${SELECTORS_PATH}); `
      + "install its CustomResourceDefinition; the chart of each ACK controller contains the definition",
    ],
    [
      { [NAMESPACES_PATH]: { status: 403 } },
      "The cluster cannot be read: not allowed to list namespaces in the whole cluster; grant this user or "
      + 'ServiceAccount the verbs list and watch on it: "kubectl ack-role manifests rbac" prints such a rule',
    ],
  ] as const) {
    const cluster = await clusterOf({ objects, errors });
    const flags = ["--kubeconfig", kubeconfigOf(t, cluster)];
    for (const words of [["why", "bucket/b1"], ["resolve"], ["audit"]]) {
      const { status, stdout, stderr } = await runPlugin([...words, ...flags]);
      t.same([status, stdout], [2, ""], words.join(" "));
      t.match(stderr, `kubectl ack-role: ${message}`);
      t.equal(stderr.split("\n").length, 2, "one line");
    }
  }
});

test("runs under its name as a plugin, with a home folder in which nobody can write", async (t) => {
  const folder = t.testdir({});
  const plugin = path.join(folder, PLUGIN_FILE);
  symlinkSync(path.join(ROOT, "cli/start.js"), plugin);
  const run = (...argv: string[]): Promise<ProgramResult> => (
    runProgram(process.execPath, [plugin, ...argv], { cwd: ROOT, env: { HOME: "/proc" } })
  );
  t.match(await run("why", "bucket/lake", "-n", "analytics", "--from", "manifests/examples"), {
    code: 0, stderr: "", stdout: /^Bucket analytics\/lake: selected\n/,
  });
  t.match(await run("why", "bucket/lake"), {
    code: 2, stdout: "", stderr: /^kubectl ack-role: No kubeconfig and no Pod service account was found\./,
  });
  t.match(await run(COMPLETE, "why", "buck"), { code: 0, stderr: "", stdout: "bucket/\ts3.services.k8s.aws\n:6\n" });
});
