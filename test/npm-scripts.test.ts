import { copyFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "tap";
import manifest from "../package.json" with { type: "json" };
import { type ProgramResult, runProgram } from "./programs/run-program.ts";

const SCRIPTS = new Map(Object.entries(manifest.scripts));

// Without `tap build`, tap loads a TypeScript plugin that this project does not use, and each test file fails.
test("each npm script that runs tap builds it first, so that the script runs in a new clone", async (t) => {
  const runsTap = /(^|\s)tap\s|test\/unit\.ts/;
  const runners = [...SCRIPTS].filter(([name, command]) => !name.startsWith("pre") && runsTap.test(command));
  t.same(runners.map(([name]) => name), ["test", "endurance", "test:unit", "test:watch", "test:cluster"]);
  for (const [name] of runners) t.match(SCRIPTS.get(`pre${name}`) ?? "", /^tap build($| && )/, name);
});

test("each npm script that sets up programs runs test/programs/setup.ts", async (t) => {
  const scripts = [...SCRIPTS].filter(([name]) => name.startsWith("setup:"));
  t.ok(scripts.length > 5);
  for (const [name, command] of scripts) t.match(command, /^node test\/programs\/setup\.ts [\w -]+$/, name);
  t.match(SCRIPTS.get("pretest"), / && node test\/programs\/setup\.ts --if-ci [\w -]+$/);
});

test("npm run test:unit -- --help prints what it accepts, and runs no test", async (t) => {
  const [command, file = ""] = manifest.scripts["test:unit"].split(" ");
  t.equal(command, "node");
  const cwd = path.join(import.meta.dirname, "..");
  for (const flag of ["--help", "-h"]) {
    const { code, stdout, stderr } = await runProgram(process.execPath, [file, flag], { cwd });
    t.strictSame([code, stderr], [0, ""]);
    t.match(stdout, /^Usage: npm run test:unit -- \[--coverage \| --watch\] \[FILE\.\.\.\]\n/);
    t.notMatch(stdout, /^# \{ total/m);
  }
});

test("npm prints errors, but no warning about the Node.js that starts it", async (t) => {
  const cwd = t.testdir({});
  const file = path.join(cwd, "package.json");
  await copyFile(path.join(import.meta.dirname, "../.npmrc"), path.join(cwd, ".npmrc"));
  // The settings of tap, and of an npm that runs these tests, would apply.
  const unset = ["-u", "NODE_OPTIONS", "-u", "npm_config_loglevel"];
  const install = async (): Promise<ProgramResult> => (
    await runProgram("env", [...unset, "npm", "install", "--offline"], { cwd })
  );
  await writeFile(file, JSON.stringify({ name: "example", version: "1.0.0", engines: { node: ">=999" } }));
  t.match(await install(), { code: 0, stdout: /up to date/, stderr: /^$/ });
  await writeFile(file, "{");
  t.match(await install(), { code: 1, stderr: /npm error code EJSONPARSE/ });
});
