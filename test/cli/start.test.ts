import { chmodSync, chownSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { test } from "tap";
import manifest from "../../package.json" with { type: "json" };
import { runProgram } from "../programs/run-program.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const START = path.join(ROOT, "cli/start.js");
const TOO_OLD = ["0.12.18", "10.24.1", "20.20.2", "21.99.0", "22.0.0", "22.18.0"];
const SUPPORTED = ["22.19.0", "22.100.0", "23.0.0", "100.0.0"];

/** Runs cli/start.js in a process that reports another version of Node.js. */
async function startWith(version: string, argv: readonly string[] = ["--version"]): ReturnType<typeof runProgram> {
  const versions = JSON.stringify({ ...process.versions, node: version });
  const preload = `Object.defineProperty(process, "versions", { value: ${versions} })`;
  return await runProgram(process.execPath, ["--import", moduleURL(preload), START, ...argv], { cwd: ROOT, env: {} });
}

function moduleURL(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

test("prints one sentence and exits 2 if Node.js is too old", async (t) => {
  for (const version of TOO_OLD) {
    t.same(await startWith(version), {
      code: 2,
      stdout: "",
      stderr: `ack-role-resolver: Node.js ${version} is too old: install Node.js 22.19 or later from `
        + "https://nodejs.org/en/download, or put the folder of a later version first in the PATH\n",
    });
  }
});

test("runs the command if Node.js is not too old", async (t) => {
  for (const version of SUPPORTED) {
    t.same(await startWith(version), { code: 0, stdout: `${manifest.version}\n`, stderr: "" });
  }
  t.match(await startWith("22.19.0", ["lint", "missing.yaml"]), { code: 2, stderr: /missing\.yaml/ });
});

test("keeps the compiled program in the cache folder of the user, and runs where there is none", async (t) => {
  const home = t.testdir({ ".cache": {}, "file": "" });
  const run = (env: Readonly<Record<string, string>>): ReturnType<typeof runProgram> =>
    runProgram(process.execPath, [START, "--version"], { cwd: ROOT, env });
  const printed = { code: 0, stdout: `${manifest.version}\n`, stderr: "" };
  const caches: readonly Readonly<Record<string, string>>[] = [
    { HOME: home }, { HOME: home }, { XDG_CACHE_HOME: home }, { HOME: "/proc" }, { XDG_CACHE_HOME: "/proc" }, {},
    { XDG_CACHE_HOME: path.join(home, "file") }, { XDG_CACHE_HOME: path.join(home, "missing") },
  ];
  for (const env of caches) t.same(await run(env), printed, JSON.stringify(env));
  for (const folder of [".cache", "."]) {
    t.not(readdirSync(path.join(home, folder, "ack-role-resolver-compiled")).length, 0, folder);
  }
  const measured = t.testdir({ ".cache": {} });
  t.same(await run({ HOME: measured, NODE_V8_COVERAGE: path.join(home, "coverage") }), printed);
  t.same(readdirSync(path.join(measured, ".cache")), [], "not while coverage is measured");
});

test("uses no compiled program that someone else could have written", async (t) => {
  const folder = "ack-role-resolver-compiled";
  const dir = t.testdir({ ".cache": { [folder]: {} }, "shared": { [folder]: {} }, "foreign": { [folder]: {} } });
  chmodSync(path.join(dir, "shared", folder), 0o777);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(path.join(dir, "foreign", folder), 65_534, 65_534);
  const run = (env: Readonly<Record<string, string>>): ReturnType<typeof runProgram> =>
    runProgram(process.execPath, [START, "--version"], { cwd: dir, env });
  const caches: Readonly<Record<string, string>>[] = [{}, { HOME: "" }, { HOME: "." }, { XDG_CACHE_HOME: ".cache" }];
  caches.push({ XDG_CACHE_HOME: path.join(dir, "shared") });
  if (isRoot) caches.push({ XDG_CACHE_HOME: path.join(dir, "foreign") });
  for (const env of caches) t.match(await run(env), { code: 0, stderr: "" }, JSON.stringify(env));
  for (const parent of [".cache", "shared", "foreign"]) t.same(readdirSync(path.join(dir, parent, folder)), [], parent);
});

test("requires the version in `engines`, which is also the target of the build", (t) => {
  const [, major = "", minor = ""] = /^>=(\d+)\.(\d+)$/.exec(manifest.engines.node) ?? [];
  const required = `${major}.${minor}`;
  t.match(readFileSync(START, "utf8"), `REQUIRED = { major: ${major}, minor: ${minor} };`);
  t.match(readFileSync(path.join(ROOT, "build.ts"), "utf8"), `target: "node${required}"`);
  t.match(readFileSync(path.join(ROOT, "README.md"), "utf8"), `Node.js ${required} or later`);
  t.end();
});

test("exits 2 if a command waits for an event that can no longer happen", async (t) => {
  const endless = "{ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }";
  const preload = `Object.defineProperty(process, "stdin", { value: ${endless} })`;
  const argv = ["--import", moduleURL(preload), START, "lint", "-"];
  t.match(await runProgram(process.execPath, argv, { cwd: ROOT, env: {} }), { code: 2, stdout: "" });
});
