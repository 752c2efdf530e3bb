import { chmod, copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { type Test, test } from "tap";
import manifest from "../package.json" with { type: "json" };
import { type ProgramResult, runProgram } from "./programs/run-program.ts";

const ROOT = path.join(import.meta.dirname, "..");

/** Runs the script `prepare` in a folder, with an npm that records its arguments and exits with `status`. */
async function prepare(t: Test, status: number, ...packages: readonly string[]): Promise<[ProgramResult, string]> {
  const folder = t.testdir({});
  const npm = path.join(folder, "npm");
  await copyFile(path.join(ROOT, "prepare.js"), path.join(folder, "prepare.js"));
  await writeFile(path.join(folder, "package.json"), JSON.stringify({ type: manifest.type }));
  await writeFile(npm, `#!/bin/sh\necho "$@" >> calls\nexit ${status}\n`);
  await chmod(npm, 0o755);
  for (const name of packages) await mkdir(path.join(folder, "node_modules", name), { recursive: true });
  const [command, file = ""] = manifest.scripts.prepare.split(" ");
  t.equal(command, "node");
  const env = { PATH: `${folder}:/usr/bin:/bin` };
  const result = await runProgram(process.execPath, [file], { cwd: folder, env });
  return [result, await readFile(path.join(folder, "calls"), "utf8")];
}

test("prepare builds the program if the packages are installed", async (t) => {
  t.match(await prepare(t, 0, "esbuild"), [{ code: 0 }, "run build\n"]);
});

// https://github.com/npm/cli/issues/8440
test("prepare first installs the packages if npm install -g did not install them in the clone", async (t) => {
  t.match(await prepare(t, 0), [{ code: 0 }, "ci --no-global --no-audit --no-fund\n"]);
});

test("npm pack builds the program and hides the script prepare from those who install the tarball", async (t) => {
  const folder = t.testdir({ node_modules: { esbuild: {} } });
  const script = path.join(ROOT, manifest.scripts.prepack.split(" ")[1] ?? "");
  const file = path.join(folder, "package.json");
  await writeFile(path.join(folder, "npm"), "#!/bin/sh\n", { mode: 0o755 });
  await copyFile(path.join(ROOT, "package.json"), file);
  const run = async (step: string): Promise<unknown> => {
    const env = { PATH: `${folder}:/usr/bin:/bin` };
    t.match(await runProgram(process.execPath, [script, step], { cwd: folder, env }), { code: 0, stderr: "" });
    return JSON.parse(await readFile(file, "utf8"));
  };
  t.match(await run("prepack"), { scripts: { prepare: undefined, build: manifest.scripts.build } });
  await run("postpack");
  t.equal(await readFile(file, "utf8"), await readFile(path.join(ROOT, "package.json"), "utf8"));
});

test("prepare fails if npm fails", async (t) => {
  t.match(await prepare(t, 3, "esbuild"), [{ code: 3 }, "run build\n"]);
});
