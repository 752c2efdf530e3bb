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
  return Promise.reject(new Error("a build was started"));
}

test("without CI, does not build the binary but returns the command that builds it", async (t) => {
  const cache = t.testdir();
  t.same(await findOracle(environment(cache, false), mustNotBuild), {
    found: false,
    reason: "skipped: the matcher of ACK is not built; "
      + "build it with `npm run setup:oracle` (needs Go >= 1.25 and about 3 minutes)",
  });
  t.same(await readdir(cache), []);
});

test("with CI, builds the binary once; then uses the existing binary with and without CI", async (t) => {
  const cache = path.join(t.testdir(), "created-on-demand");
  const built = await findOracle(environment(cache, true), build);
  const found = await findOracle(environment(cache, false), mustNotBuild);
  t.same(found, built);
  t.equal(await readFile(await setUpOracle(environment(cache, true), mustNotBuild), "utf8"), "built");
  t.equal((await readdir(cache)).length, 1, "no other file remains");
});

test("reports a failed build and leaves no file", async (t) => {
  const cache = t.testdir();
  await t.rejects(findOracle(environment(cache, true), mustNotBuild), { message: "a build was started" });
  t.same(await readdir(cache), []);
});
