import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "tap";
import type { RealEnvironment } from "../../environment.ts";
import { findClient, type Recipe, runTool, setUpClient } from "./built-client.ts";

function environment(cacheFolder: string, ci: boolean): RealEnvironment {
  return { ci, kubebuilderAssets: undefined, cacheFolder };
}

function recipe(sources: string, build: Recipe["build"]): Recipe {
  return { name: "client", sources, files: ["main"], needs: "a compiler", build };
}

function mustNotBuild(): Promise<never> {
  return Promise.reject(new Error("it was built"));
}

async function copy(folder: string, sources: string): Promise<void> {
  await writeFile(path.join(folder, "program"), await readFile(path.join(sources, "main")));
}

test("without CI, does not build the client but returns the command that builds it", async (t) => {
  const folder = t.testdir({ cache: {}, main: "1" });
  const cache = path.join(folder, "cache");
  t.same(await findClient(environment(cache, false), recipe(folder, mustNotBuild)), {
    found: false,
    reason: "client is not built; run `npm run setup:sdks` (requires a compiler)",
  });
  const other = { ...recipe(folder, mustNotBuild), script: "setup:other" };
  t.match(await findClient(environment(cache, false), other), { reason: /`npm run setup:other`/ });
  t.same(await readdir(cache), []);
});

test("with CI, builds a client once, and builds it again after its sources changed", async (t) => {
  const folder = t.testdir({ main: "1" });
  const cache = path.join(folder, "made-on-demand");
  const first = await setUpClient(environment(cache, true), recipe(folder, copy));
  t.same(await findClient(environment(cache, true), recipe(folder, mustNotBuild)), { found: true, folder: first });
  t.same(await findClient(environment(cache, false), recipe(folder, mustNotBuild)), { found: true, folder: first });
  await writeFile(path.join(folder, "main"), "2");
  t.match(await findClient(environment(cache, false), recipe(folder, mustNotBuild)), { found: false });
  const second = await setUpClient(environment(cache, true), recipe(folder, copy));
  t.equal(await readFile(path.join(second, "program"), "utf8"), "2");
  t.equal((await readdir(cache)).length, 2, "no other folder remains");
});

test("two concurrent builds return the same folder", async (t) => {
  const folder = t.testdir({ main: "1" });
  const cache = path.join(folder, "cache");
  const build = (): Promise<string> => setUpClient(environment(cache, true), recipe(folder, copy));
  const [first, second] = await Promise.all([build(), build()]);
  t.equal(first, second);
  t.equal((await readdir(cache)).length, 1);
});

test("reports the output of the tool if a build fails, and leaves no folder", async (t) => {
  const folder = t.testdir({ cache: {}, main: "1" });
  const script = "console.error('no such library'); process.exit(3)";
  const failing = recipe(folder, async () => void (await runTool(process.execPath, ["-e", script], folder)));
  await t.rejects(findClient(environment(path.join(folder, "cache"), true), failing), {
    message: /exited with 3:\nno such library/,
  });
  t.same(await readdir(path.join(folder, "cache")), []);
});

test("names the build tool if it is not installed", async (t) => {
  const message = "no-such-tool could not be started; check that it is on the PATH";
  await t.rejects(runTool("no-such-tool", [], import.meta.dirname), { message });
});
