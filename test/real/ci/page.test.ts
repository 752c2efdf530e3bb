import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { type Test, test } from "tap";
import { parse } from "yaml";
import manifest from "../../../package.json" with { type: "json" };
import { isJsonObject } from "../../../shared/formats/json.ts";
import { codeBlocks, documentedCommands } from "../../documented-commands.ts";
import { runProgram } from "../../programs/run-program.ts";
import { updatesGolden } from "../../programs/environment.ts";
import { RENDERERS } from "../../programs/renderers.ts";
import { findPrograms } from "../find-programs.ts";
import { setTimeLimit } from "../time-limit.ts";
import { readAction, runAction, valuesOf } from "./composite.ts";
import { environmentWith, pack, type ProgramEnvironment, ROOT } from "./packed.ts";

const LIMIT_MS = 10 * 60_000;
const FILE = path.join(ROOT, "docs/ci.md");
const PAGE = await readFile(FILE, "utf8");
const GO_MOD = await readFile(path.join(import.meta.dirname, "go/go.mod"), "utf8");
const FIXTURES = path.join(ROOT, "test/fixtures/ci");
const COMMIT = "0123456789abcdef0123456789abcdef01234567";

test("the commands in the CI guide print what the guide shows", async (t) => {
  const folders = await findPrograms(t, RENDERERS);
  if (folders === null) return;
  setTimeLimit(t, LIMIT_MS);
  const { cwd, env } = await prepare(t, folders);
  const commands = documentedCommands(PAGE);
  for (const tool of ["helm", "kustomize", "argocd", "flux"]) {
    t.ok(commands.some(({ command }) => new RegExp(`(^| )${tool} `).test(command)), `the guide uses ${tool}`);
  }
  let updated = PAGE;
  for (const { command, output } of commands) {
    const { stdout } = await runProgram("bash", ["-o", "pipefail", "-c", command], { cwd, env });
    if (!updatesGolden()) t.equal(stdout, output, command);
    updated = updated.replace(`$ ${command}\n${output}`, () => `$ ${command}\n${stdout}`);
  }
  if (updatesGolden()) await writeFile(FILE, updated);
  await runsWorkflow(t, cwd, env);
});

/** Runs the steps of the workflow in the guide, with a tarball in place of the sources of the action. */
async function runsWorkflow(t: Test, cwd: string, env: ProgramEnvironment): Promise<void> {
  const [, workflow = ""] = codeBlocks(PAGE, "yaml").find(([, block]) => block.includes("jobs:")) ?? [];
  const parsed: unknown = parse(workflow);
  for (const command of valuesOf(parsed, "run")) {
    t.match(await runProgram("bash", ["-e", "-c", String(command)], { cwd, env }), { code: 0 });
  }
  const inputs = valuesOf(parsed, "with").find(isJsonObject) ?? {};
  const strings = Object.entries(inputs).map(([name, value]) => [name, String(value)] as const);
  const { tarball } = await pack(env.HOME);
  const result = await runAction(readAction(), {
    actionPath: ROOT, workspace: cwd, temporary: env.HOME, environment: env,
    inputs: { ...Object.fromEntries(strings), package: tarball },
  });
  t.match(result, { code: 0, stdout: "", outputs: { "exit-status": "0" } });
}

test("the CI guide names the hook, the action inputs and the tool versions that exist", (t) => {
  const commands = codeBlocks(PAGE, "").filter(([, block]) => !block.startsWith("$ "));
  // test/real/ci/package.test.ts runs these commands.
  const tarball = `./ack-role-resolver-${manifest.version}.tgz`;
  t.same(commands.map(([, block]) => block), [`npm ci\nnpm pack\nnpm install -g ${tarball}\n`]);
  const [hooks = "", ...others] = codeBlocks(PAGE, "yaml")
    .map(([, block]) => block)
    .filter((block) => !block.includes("jobs:"));
  t.same(others, []);
  t.match(parse(hooks), { repos: [{ hooks: [{ id: "ack-role-resolver-lint", args: ["manifests"] }] }] });
  t.same(codeBlocks(PAGE).filter(([language]) => language !== "" && language !== "yaml"), []);
  const inputs = [...PAGE.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name);
  t.same(inputs, Object.keys(readAction().inputs));
  const [helm, kustomize] = [versionOf("helm.sh/helm/v3"), versionOf("sigs.k8s.io/kustomize/kustomize/v5")];
  t.match(PAGE.replaceAll("\n", " "), `The tests use helm ${helm} and kustomize ${kustomize}.`);
  t.end();
});

/** Returns the major and minor version of a module in go.mod. */
function versionOf(module: string): string {
  return new RegExp(`${module} v(\\d+\\.\\d+)\\.`).exec(GO_MOD)?.[1] ?? "unknown";
}

/**
 * Copies docs/ci. Adds the command `ack-role-resolver`, and fakes of argocd and flux that print the expected output, to
 * the PATH.
 */
async function prepare(
  t: Test, folders: readonly string[],
): Promise<{ readonly cwd: string; readonly env: ProgramEnvironment & { readonly COMMIT: string } }> {
  const folder = t.testdir({ bin: {}, home: {} });
  const bin = path.join(folder, "bin");
  const cwd = path.join(folder, "ci");
  await mkdir(cwd);
  await cp(path.join(ROOT, "docs/ci"), cwd, { recursive: true });
  const programs = {
    "ack-role-resolver": `exec "${process.execPath}" "${path.join(ROOT, "cli/start.js")}" "$@"`,
    argocd: printing(`app manifests shop --revision ${COMMIT}`, "argocd-app-manifests.yaml"),
    flux: printing(
      "build kustomization shop --path flux/shop --kustomization-file flux/shop.yaml --dry-run",
      "flux-build-kustomization.yaml",
    ),
  };
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(path.join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  return { cwd, env: { ...environmentWith(path.join(folder, "home"), bin, ...folders), COMMIT } };
}

/** Returns a script that prints a file if it gets the expected arguments. */
function printing(args: string, file: string): string {
  return `[ "$*" = "${args}" ] && exec cat "${path.join(FIXTURES, file)}"; echo "unexpected $*" >&2; exit 9`;
}
