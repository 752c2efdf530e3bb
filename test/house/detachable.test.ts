import { globSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import root, { test } from "tap";
import { runProgram } from "../programs/run-program.ts";
import { answers } from "./answers.ts";
import { copySources, detach } from "./detach.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const EXAMPLES = path.join(ROOT, "manifests/examples");

/** A part without which the programs still work. */
interface Feature {
  readonly name: string;
  /** Its folders, and what another room adds to it. */
  readonly folders: readonly string[];
}

const FEATURES: readonly Feature[] = [
  { name: "capa", folders: foldersNamed("capa") },
  { name: "carm", folders: foldersNamed("carm") },
  { name: "injection", folders: [...foldersNamed("injection"), "shared/controllers/injection-judges.ts"] },
  { name: "trust", folders: foldersNamed("trust") },
  { name: "role map", folders: [...foldersNamed("role-map"), "page"] },
];

/** The registries and the composition roots, which alone name what can be taken out. */
const ROOTS: ReadonlySet<string> = new Set([
  "build.ts", "cli/features.ts", "docs/generate.ts", "docs/metrics.ts", "manifests/policies.ts",
  "manifests/render.ts", "shared/judges.ts", "shared/kinds.ts", "sidecar/wiring.ts", "webhook/main.ts",
  "webhook/reconciling/tasks.ts",
]);
const MAX_LINES = 20;

function foldersNamed(name: string): string[] {
  return globSync(`{build,cli,docs,manifests,shared,sidecar,webhook}/**/${name}`, { cwd: ROOT });
}

/** A row takes 4 s of processor time. */
root.setTimeout(300_000);

for (const { name, folders } of FEATURES) {
  test(`without ${name}, the programs pass the type check and answer as with it`, async (t) => {
    t.setTimeout(120_000);
    const copy = t.testdir();
    copySources(copy);
    const touched = [...detach(copy, folders)];
    t.same(touched.filter(([file]) => !ROOTS.has(file)), [], "no other file imports it");
    const lines = touched.reduce((sum, [, count]) => sum + count, 0);
    t.ok(lines > 0 && lines <= MAX_LINES, `${lines} lines name it`);
    t.same(await typeErrors(copy), []);
    t.same(await answersOf(copy), await answers(EXAMPLES));
  });
}

/** Returns the errors in the files of a copy. */
async function typeErrors(copy: string): Promise<string[]> {
  const tsc = path.join(ROOT, "node_modules/.bin/tsc");
  // Several checkers take 70% more processor time, because each of them checks the types that files share.
  const argv = [tsc, "--noEmit", "--checkers", "1", "-p", copy];
  const { stdout } = await runProgram(process.execPath, argv, { cwd: copy, env: {} });
  return stdout.split("\n").filter((line) => line !== "" && !line.startsWith(" "));
}

/** Runs in a process of its own, because the coverage of the copy is that of other files. */
async function answersOf(copy: string): Promise<unknown> {
  const argv = [path.join(copy, "test/house/answers.ts"), EXAMPLES];
  const { code, stdout, stderr } = await runProgram(process.execPath, argv, { cwd: copy, env: {} });
  return code === 0 ? JSON.parse(stdout) : stderr;
}
