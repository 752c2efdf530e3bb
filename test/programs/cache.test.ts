import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "tap";
import { findProgram, type Recipe, setUpProgram } from "./cache.ts";
import type { ProgramsEnvironment } from "./environment.ts";
import { runTool } from "./run-program.ts";

function environment(cacheFolder: string, ci: boolean): ProgramsEnvironment {
  return { ci, kubebuilderAssets: undefined, cacheFolder };
}

function recipe(sources: string, build: Recipe["build"]): Recipe {
  return { name: "client", group: "sdks", sources, files: ["main"], needs: "a compiler", build };
}

function mustNotBuild(): Promise<never> {
  return Promise.reject(new Error("it was built"));
}

async function copy(folder: string, sources: string): Promise<void> {
  await writeFile(path.join(folder, "program"), await readFile(path.join(sources, "main")));
}

/** Returns the entries of the cache without the lock. */
async function entries(cache: string): Promise<readonly string[]> {
  return (await readdir(cache)).filter((name) => name !== "lock");
}

test("without CI, does not build a program but returns the command that builds it", async (t) => {
  const folder = t.testdir({ cache: {}, main: "1" });
  const cache = path.join(folder, "cache");
  const reason = "client is not built; run `npm run setup:sdks` (requires a compiler)";
  t.same(await findProgram(environment(cache, false), recipe(folder, mustNotBuild)), { found: false, reason });
  const withoutTool = { ...recipe(folder, mustNotBuild), variant: () => Promise.reject(new Error("no python3")) };
  t.same(await findProgram(environment(cache, false), withoutTool), { found: false, reason });
  t.same(await readdir(cache), []);
});

test("with CI, builds a program once, and builds it again after its sources or its variant changed", async (t) => {
  const folder = t.testdir({ main: "1" });
  const cache = path.join(folder, "made-on-demand");
  const first = await setUpProgram(environment(cache, true), recipe(folder, copy));
  t.same(await findProgram(environment(cache, true), recipe(folder, mustNotBuild)), { found: true, folder: first });
  t.same(await findProgram(environment(cache, false), recipe(folder, mustNotBuild)), { found: true, folder: first });
  await writeFile(path.join(folder, "main"), "2");
  t.match(await findProgram(environment(cache, false), recipe(folder, mustNotBuild)), { found: false });
  const second = await setUpProgram(environment(cache, true), recipe(folder, copy));
  t.equal(await readFile(path.join(second, "program"), "utf8"), "2");
  const other = await setUpProgram(environment(cache, true), { ...recipe(folder, copy), variant: async () => "v2" });
  t.match(path.basename(other), /^client-v2-[0-9a-f]{12}$/);
  t.equal((await entries(cache)).length, 3, "no other folder remains");
});

test("two concurrent builds return the same folder, and only one of them builds", async (t) => {
  const folder = t.testdir({ main: "1" });
  const cache = path.join(folder, "cache");
  const builds: string[] = [];
  const build = async (partial: string, sources: string): Promise<void> => {
    builds.push(partial);
    await copy(partial, sources);
  };
  const setUp = (): Promise<string> => setUpProgram(environment(cache, true), recipe(folder, build));
  const [first, second] = await Promise.all([setUp(), setUp()]);
  t.equal(first, second);
  t.equal(builds.length, 1);
  t.equal((await entries(cache)).length, 1);
});

/** Prints a line when it builds, and at each line of its input, until it is killed, whether its folder exists. */
const ENDLESS_BUILD = `
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { setUpProgram } from ${JSON.stringify(path.join(import.meta.dirname, "cache.ts"))};
const [cacheFolder, sources] = process.argv.slice(1);
const build = async (folder) => {
  console.log("building");
  for await (const line of createInterface(process.stdin)) console.log(existsSync(folder));
};
const recipe = { name: "other", group: "sdks", sources, files: ["main"], needs: "time", build };
await setUpProgram({ ci: true, kubebuilderAssets: undefined, cacheFolder }, recipe);
`;

test("waits for a build of another process, and removes its partial folder if it is killed", async (t) => {
  const folder = t.testdir({ main: "1", cache: {} });
  const cache = path.join(folder, "cache");
  const child = spawn(process.execPath, ["--input-type=module", "--eval", ENDLESS_BUILD, cache, folder]);
  t.teardown(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  const [partial = "", ...others] = await entries(cache);
  t.match(partial, /^other-[0-9a-f]{12}\.partial-/);
  t.same(others, []);
  let isKilled = false;
  const build = async (to: string, sources: string): Promise<void> => {
    t.ok(isKilled, "waits until the other build has ended");
    t.same(await entries(cache), [path.basename(to)]);
    await copy(to, sources);
  };
  const built = setUpProgram(environment(cache, true), recipe(folder, build));
  child.stdin.write("\n");
  t.equal(String(await once(child.stdout, "data")), "true\n", "does not remove the folder of a running build");
  isKilled = child.kill("SIGKILL");
  const name = path.basename(await built);
  t.same(await entries(cache), [name]);
});

test("reports the output of the tool if a build fails, and leaves no folder", async (t) => {
  const folder = t.testdir({ cache: {}, main: "1" });
  const ci = environment(path.join(folder, "cache"), true);
  const script = "console.error('no such library'); process.exit(3)";
  const failing = recipe(folder, async () => void (await runTool(process.execPath, ["-e", script], folder)));
  await t.rejects(findProgram(ci, failing), { message: /exited with 3:\nno such library/ });
  const incomplete = { ...recipe(folder, copy), makes: ["program", "helper"] };
  await t.rejects(findProgram(ci, incomplete), {
    message: /has no executable program, helper; it must contain program, helper$/,
  });
  t.same(await entries(ci.cacheFolder), []);
});

test("uses a folder of the user if it has every program, and rejects an incomplete folder", async (t) => {
  const folder = t.testdir({ main: "1" });
  const own = path.join(folder, "bin");
  const configured = { ...environment(path.join(folder, "cache"), true), kubebuilderAssets: own };
  const replaced: Recipe = {
    ...recipe(folder, mustNotBuild), makes: ["etcd", "kubectl"], replacement: (one) => one.kubebuilderAssets,
  };
  await mkdir(own);
  await Promise.all(["etcd", "kubectl"].map((name) => writeFile(path.join(own, name), "", { mode: 0o755 })));
  t.same(await findProgram(configured, replaced), { found: true, folder: own });
  await chmod(path.join(own, "etcd"), 0o644);
  const message = `${own} has no executable etcd; it must contain etcd, kubectl`;
  await t.rejects(findProgram(configured, replaced), { message });
});

test("names the build tool if it is not installed", async (t) => {
  const message = "no-such-tool could not be started; check that it is on the PATH";
  await t.rejects(runTool("no-such-tool", [], import.meta.dirname), { message });
});
