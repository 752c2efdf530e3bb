import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "tap";
import type { RealEnvironment } from "../environment.ts";
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

test("without CI nothing is built, and the reason says how to have it", async (t) => {
  const folder = t.testdir({ cache: {}, main: "1" });
  const cache = path.join(folder, "cache");
  t.same(await findClient(environment(cache, false), recipe(folder, mustNotBuild)), {
    found: false,
    reason: "no client here; build it with `npm run setup:sdks` (needs a compiler)",
  });
  t.same(await readdir(cache), []);
});

test("with CI it is built once, found by everybody afterwards, and built anew from other sources", async (t) => {
  const folder = t.testdir({ main: "1" });
  const cache = path.join(folder, "made-on-demand");
  const first = await setUpClient(environment(cache, true), recipe(folder, copy));
  t.same(await findClient(environment(cache, true), recipe(folder, mustNotBuild)), { found: true, folder: first });
  t.same(await findClient(environment(cache, false), recipe(folder, mustNotBuild)), { found: true, folder: first });
  await writeFile(path.join(folder, "main"), "2");
  t.match(await findClient(environment(cache, false), recipe(folder, mustNotBuild)), { found: false });
  const second = await setUpClient(environment(cache, true), recipe(folder, copy));
  t.equal(await readFile(path.join(second, "program"), "utf8"), "2");
  t.equal((await readdir(cache)).length, 2, "nothing else is left");
});

test("of two that build at once both have it", async (t) => {
  const folder = t.testdir({ main: "1" });
  const cache = path.join(folder, "cache");
  const [one, other] = await Promise.all([setUpClient(environment(cache, true), recipe(folder, copy)), setUpClient(environment(cache, true), recipe(folder, copy))]);
  t.equal(one, other);
  t.equal((await readdir(cache)).length, 1);
});

test("a build that fails fails the test, says what the tool said, and leaves nothing", async (t) => {
  const folder = t.testdir({ cache: {}, main: "1" });
  const failing = recipe(folder, async () => void (await runTool(process.execPath, ["-e", "console.error('no such library'); process.exit(3)"], folder)));
  await t.rejects(findClient(environment(path.join(folder, "cache"), true), failing), { message: /ended with 3:\nno such library/ });
  t.same(await readdir(path.join(folder, "cache")), []);
});

test("a tool that is not there is named", async (t) => {
  await t.rejects(runTool("no-such-tool", [], import.meta.dirname), { message: "no-such-tool could not be started: is it on the PATH?" });
});
