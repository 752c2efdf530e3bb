import { chmod, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "tap";
import type { RealEnvironment } from "../environment.ts";
import { findOracle, setUpOracle } from "./binary.ts";

function environment(cacheFolder: string, ci: boolean): RealEnvironment {
  return { ci, kubebuilderAssets: undefined, cacheFolder };
}

async function build(program: string): Promise<void> {
  await writeFile(program, "built");
  await chmod(program, 0o755);
}

function mustNotBuild(): Promise<never> {
  return Promise.reject(new Error("it was built"));
}

test("without CI nothing is built, and the reason says how to have it", async (t) => {
  const cache = t.testdir();
  t.same(await findOracle(environment(cache, false), mustNotBuild), {
    found: false,
    reason: "skipped: the shipped matcher is not built here; build it with `npm run setup:oracle` (needs Go >= 1.25, once, about 3 minutes)",
  });
  t.same(await readdir(cache), []);
});

test("with CI it is built once, and found by everybody afterwards", async (t) => {
  const cache = path.join(t.testdir(), "made-on-demand");
  const built = await findOracle(environment(cache, true), build);
  const found = await findOracle(environment(cache, false), mustNotBuild);
  t.same(found, built);
  t.equal(await readFile(await setUpOracle(environment(cache, true), mustNotBuild), "utf8"), "built");
  t.equal((await readdir(cache)).length, 1, "nothing else is left");
});

test("a build that fails fails the test, and leaves nothing", async (t) => {
  const cache = t.testdir();
  await t.rejects(findOracle(environment(cache, true), mustNotBuild), { message: "it was built" });
  t.same(await readdir(cache), []);
});
