import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { type Test, test } from "tap";
import manifest from "../../../package.json" with { type: "json" };
import { runCommand } from "../../cli/run-command.ts";
import { runProgram } from "../../programs/run-program.ts";
import { SUPPORTED_NODES, UNSUPPORTED_NODES } from "../../programs/node-versions.ts";
import { findPrograms } from "../find-programs.ts";
import { setTimeLimit } from "../time-limit.ts";
import { environmentWith, installGlobally, pack, type ProgramEnvironment, ROOT, withoutTap } from "./packed.ts";

const LIMIT_MS = 10 * 60_000;
const COMMAND_LINES = [
  ["--version"],
  ["lint", "manifests/examples"],
  ["lint", "manifests/examples/platform"],
  ["lint", "missing.yaml"],
  ["lint", "-o", "sarif", "manifests/examples"],
  ["resolve", "manifests/examples"],
  ["audit", "manifests/examples"],
  ["impact", "--from", "manifests/examples", "--delete", "manifests/examples/platform"],
  ["migrate", "carm", "manifests/examples-carm", "--controller-account", "999900001111"],
  ["manifests", "rbac"],
];

test("the npm package runs on each supported version of Node.js", async (t) => {
  const nodes: readonly string[] | null = await findPrograms(t, ...UNSUPPORTED_NODES, ...SUPPORTED_NODES);
  if (nodes === null) return;
  const old = nodes.slice(0, UNSUPPORTED_NODES.length);
  const supported = [...nodes.slice(UNSUPPORTED_NODES.length), path.dirname(process.execPath)];
  setTimeLimit(t, LIMIT_MS);
  const folder = t.testdir({});
  const packed = await pack(folder);

  await t.test("npm pack prints only the name of the tarball to standard output", async (tt) => {
    tt.equal(packed.stdout, `ack-role-resolver-${manifest.version}.tgz\n`);
  });

  await t.test("the installed package has no dependencies, and contains the licenses and the SBOM", async (tt) => {
    const env = await installGlobally(packed.tarball, tt.testdir({}), path.dirname(process.execPath));
    const modules = path.join(env.HOME, "lib/node_modules");
    tt.same(await readdir(modules), ["ack-role-resolver"]);
    const files = await readdir(path.join(modules, "ack-role-resolver"), { recursive: true });
    tt.same(files.filter((file) => file.includes("node_modules")), []);
    for (const file of ["LICENSE", "dist/THIRD-PARTY-LICENSES.txt", "dist/sbom.cdx.json"]) {
      tt.ok(files.includes(file), file);
    }
    tt.same(files.filter((file) => file.startsWith("manifests/chart")), []);
    // npm warns about a package with one of these scripts, and with --strict-allow-scripts does not install it.
    const installed = await readFile(path.join(modules, "ack-role-resolver/package.json"), "utf8");
    tt.notMatch(installed, /"((pre|post)?install|prepare)":/);
  });

  for (const node of supported) {
    const versionOf = await runProgram(...withoutTap(path.join(node, "node"), ["--version"]), { cwd: folder });
    await t.test(`on Node.js ${versionOf.stdout.trim()}`, async (tt) => {
      const environment = await installGlobally(packed.tarball, tt.testdir({}), node);
      await runsLikeTheSources(tt, environment);
      await servesLocally(tt, environment);
    });
  }

  await t.test("on an old Node.js, each command prints one sentence and exits 2", async (tt) => {
    const home = tt.testdir({});
    await installGlobally(packed.tarball, home, path.dirname(process.execPath));
    for (const node of old) await stopsAtOldNode(tt, environmentWith(home, path.join(home, "bin"), node));
  });
});

/**
 * The installed command runs in the folder of the package, and the sources run in the checkout. Both folders contain
 * the examples.
 */
async function runsLikeTheSources(t: Test, env: ProgramEnvironment): Promise<void> {
  process.chdir(ROOT);
  const cwd = path.join(env.HOME, "lib/node_modules/ack-role-resolver");
  for (const argv of COMMAND_LINES) {
    const { status, stdout, stderr } = await runCommand(argv);
    const installed = await runProgram(...withoutTap("ack-role-resolver", argv), { cwd, env });
    t.same(installed, { code: status, stdout, stderr }, argv.join(" "));
  }
}

async function servesLocally(t: Test, env: ProgramEnvironment): Promise<void> {
  const argv = ["local", "--from", path.join(ROOT, "manifests/examples"), "--listen", "127.0.0.1:0"];
  const local = spawn(...withoutTap("ack-role-resolver", argv), {
    cwd: env.HOME, env, stdio: ["ignore", "pipe", "ignore"],
  });
  t.teardown(() => local.kill("SIGKILL"));
  const closed = once(local, "close");
  for await (const line of createInterface(local.stdout)) if (line.endsWith("Press Ctrl-C to stop.")) break;
  local.stdout.resume();
  local.kill("SIGINT");
  t.same(await closed, [0, null], "local mode starts and stops");
}

async function stopsAtOldNode(t: Test, env: ProgramEnvironment): Promise<void> {
  const { stdout } = await runProgram(...withoutTap("node", ["--version"]), { cwd: ROOT, env });
  for (const argv of [["--version"], ["lint", "manifests/examples"], ["sidecar"]]) {
    t.same(await runProgram(...withoutTap("ack-role-resolver", argv), { cwd: ROOT, env }), {
      code: 2,
      stdout: "",
      stderr: `ack-role-resolver: Node.js ${stdout.trim().slice(1)} is too old: install Node.js 22.19 or later from `
        + "https://nodejs.org/en/download, or put the folder of a later version first in the PATH\n",
    });
  }
}
