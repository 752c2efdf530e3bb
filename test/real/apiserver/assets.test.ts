import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "tap";
import type { RealEnvironment } from "../environment.ts";
import { findAssets, moduleVersion, setUpAssets } from "./assets.ts";

const BINARIES = ["kube-apiserver", "etcd", "kubectl"];

async function fill(folder: string, names: readonly string[] = BINARIES): Promise<void> {
  await mkdir(folder, { recursive: true });
  await Promise.all(names.map((name) => writeFile(path.join(folder, name), "", { mode: 0o755 })));
}

function environment(folder: string, changes: Partial<RealEnvironment> = {}): RealEnvironment {
  return { ci: false, kubebuilderAssets: undefined, cacheFolder: path.join(folder, "cache"), ...changes };
}

async function mustNotBuild(): Promise<never> {
  throw new Error("built");
}

test("uses KUBEBUILDER_ASSETS if the folder has every program, and rejects an incomplete folder", async (t) => {
  const folder = t.testdir();
  const configured = environment(folder, { kubebuilderAssets: path.join(folder, "bin"), ci: true });
  await fill(path.join(folder, "bin"));
  t.same(await findAssets(configured, mustNotBuild), {
    found: true,
    assets: Object.fromEntries(BINARIES.map((name) => [name, path.join(folder, "bin", name)])),
  });
  await chmod(path.join(folder, "bin", "etcd"), 0o644);
  await t.rejects(findAssets(configured, mustNotBuild), {
    message: `${path.join(folder, "bin")} has no executable etcd; it must contain kube-apiserver, etcd, kubectl`,
  });
});

test("without CI, does not build the programs but returns the command that builds them", async (t) => {
  t.same(await findAssets(environment(t.testdir()), mustNotBuild), {
    found: false,
    reason:
      `no Kubernetes ${await moduleVersion()} API server is built; ` +
      "build it with `npm run setup:apiserver` (needs Go >= 1.25 and about 5 minutes) or set KUBEBUILDER_ASSETS",
  });
});

test("with CI, builds the programs once, and then uses the existing build", async (t) => {
  const ci = environment(t.testdir(), { ci: true });
  const built = await findAssets(ci, async (folder) => fill(folder));
  t.match(built, { found: true });
  t.same(await findAssets(ci, mustNotBuild), built);
  t.same(await findAssets({ ...ci, ci: false }, mustNotBuild), built, "the existing build is also used without CI");
  const [name, ...others] = await readdir(ci.cacheFolder);
  t.match(name, new RegExp(`^kubernetes-${await moduleVersion()}-[0-9a-f]{12}$`, "u"));
  t.same(others, []);
});

test("reports a failed build and leaves no partial build", async (t) => {
  const ci = environment(t.testdir(), { ci: true });
  await t.rejects(
    findAssets(ci, async (folder) => {
      await fill(folder, ["etcd"]);
      throw new Error("no Go");
    }),
    { message: "no Go" },
  );
  await t.rejects(
    findAssets(ci, async (folder) => fill(folder, ["etcd"])),
    { message: /has no executable kube-apiserver, kubectl; it must contain/u },
    "a build that lacks a program fails",
  );
  t.same(await readdir(ci.cacheFolder), []);
});

test("if two builds run concurrently, both succeed, and the cache contains one build", async (t) => {
  const ci = environment(t.testdir(), { ci: true });
  const folders: string[] = [];
  const build = async (folder: string): Promise<void> => {
    folders.push(folder);
    await fill(folder);
  };
  const [one, other] = await Promise.all([setUpAssets(ci, build), setUpAssets(ci, build)]);
  t.same(one, other);
  t.equal(new Set(folders).size, 2);
  t.equal((await readdir(ci.cacheFolder)).length, 1);
});
