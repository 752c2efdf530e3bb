// Runs the unit tests, about 20 files in a process, because most files take less time than the start of a process.
// `--help` lists the arguments.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { watch } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

const ROOT = path.join(import.meta.dirname, "..");
const GROUPS = path.join(ROOT, ".tap/groups");
const FILES_PER_PROCESS = 20;
/** Files that change their process, count its requests, or leave a file open like a killed process. */
const ALONE: ReadonlySet<string> = new Set([
  "test/cli/small-heap.test.ts", "test/sidecar/credentials/issued.test.ts", "test/sidecar/main.test.ts",
]);
/** A process with 20 files takes up to 15 s, and much longer beside other programs. */
const TIMEOUT_S = 600;
/** Editors write a file in several steps. */
const SETTLE_MS = 100;

const USAGE = `Usage: npm run test:unit -- [--coverage | --watch] [FILE...]

Runs the given test files, such as test/cli/explain.test.ts. Default: all tests that need no other program.

  --coverage  also measure the coverage
  --watch     after each change of a file, run the tests that import it, until you press Ctrl+C; takes no FILE
  -h, --help  print this text
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { coverage: { type: "boolean" }, watch: { type: "boolean" }, help: { type: "boolean", short: "h" } },
});
if (values.help === true) process.stdout.write(USAGE);
else if (values.watch === true) await runChanged();
else process.exitCode = await run(positionals.length > 0 ? positionals : unitTests());

function unitTests(): string[] {
  const files = globSync("test/**/*.test.ts", { cwd: ROOT }).map((file) => file.split(path.sep).join("/"));
  return files.filter((file) => !/^test\/(real|corpus|cluster)\//.test(file)).toSorted();
}

/** Resolves to the exit status of tap. */
async function run(files: readonly string[]): Promise<number> {
  rmSync(GROUPS, { recursive: true, force: true });
  mkdirSync(GROUPS, { recursive: true });
  for (const [i, group] of groupsOf(files).entries()) {
    const imports = group.map((file) => `import "../../${file}";\n`);
    writeFileSync(path.join(GROUPS, `${String(i + 1).padStart(2, "0")}.test.ts`), imports.join(""));
  }
  const flags = values.coverage === true ? [] : ["--disable-coverage"];
  const argv = ["node_modules/.bin/tap", ...flags, `--timeout=${TIMEOUT_S}`, ".tap/groups/*.test.ts"];
  const tap = spawn(process.execPath, argv, { cwd: ROOT, stdio: "inherit" });
  await once(tap, "exit");
  return tap.exitCode ?? 1;
}

function groupsOf(files: readonly string[]): string[][] {
  const alone = files.filter((file) => ALONE.has(file)).map((file) => [file]);
  const others = files.filter((file) => !ALONE.has(file));
  const groups = Array.from({ length: Math.ceil(others.length / FILES_PER_PROCESS) }, (_, i) => (
    others.slice(i * FILES_PER_PROCESS, (i + 1) * FILES_PER_PROCESS)
  ));
  return [...alone, ...groups];
}

async function runChanged(): Promise<void> {
  process.stdout.write("waiting for a change\n");
  const changed = new Set<string>();
  let running: Promise<void> | null = null;
  const start = async (): Promise<void> => {
    while (changed.size > 0) {
      await sleep(SETTLE_MS);
      const files = testsOf(changed);
      changed.clear();
      if (files.length > 0) await run(files);
    }
    running = null;
  };
  for await (const { filename } of watch(ROOT, { recursive: true })) {
    if (filename === null || !filename.endsWith(".ts") || /^(\.|node_modules)/.test(filename)) continue;
    changed.add(filename.split(path.sep).join("/"));
    running ??= start();
  }
}

/** Returns the unit tests that import one of the files, directly or through other files. */
function testsOf(changed: Iterable<string>): string[] {
  const importers = new Map<string, string[]>();
  for (const file of globSync("*/**/*.ts", { cwd: ROOT, exclude: ["node_modules/**"] })) {
    const text = readFileSync(path.join(ROOT, file), "utf8");
    for (const [, imported = ""] of text.matchAll(/(?:from|import)[ (]"(\..*)"/g)) {
      const target = path.posix.join(path.posix.dirname(file), imported);
      importers.set(target, [...(importers.get(target) ?? []), file]);
    }
  }
  const reached = new Set(changed);
  for (const file of reached) for (const importer of importers.get(file) ?? []) reached.add(importer);
  return unitTests().filter((file) => reached.has(file));
}
