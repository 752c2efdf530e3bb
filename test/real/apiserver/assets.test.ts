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

async function mayNotBuild(): Promise<never> {
  throw new Error("built");
}

test("KUBEBUILDER_ASSETS is taken whole or refused", async (t) => {
  const folder = t.testdir();
  const given = environment(folder, { kubebuilderAssets: path.join(folder, "bin"), ci: true });
  await fill(path.join(folder, "bin"));
  t.same(await findAssets(given, mayNotBuild), {
    found: true,
    assets: Object.fromEntries(BINARIES.map((name) => [name, path.join(folder, "bin", name)])),
  });
  await chmod(path.join(folder, "bin", "etcd"), 0o644);
  await t.rejects(findAssets(given, mayNotBuild), {
    message: `${path.join(folder, "bin")} has no executable etcd: it must hold kube-apiserver, etcd, kubectl`,
  });
});

test("without CI nothing is built, and the skip says how to have it", async (t) => {
  t.same(await findAssets(environment(t.testdir()), mayNotBuild), {
    found: false,
    reason:
      `no Kubernetes ${await moduleVersion()} API server here; ` +
      "build one with `npm run setup:apiserver` (needs Go >= 1.25, once, about 5 minutes) or set KUBEBUILDER_ASSETS",
  });
});

test("with CI it is built once, then found", async (t) => {
  const ci = environment(t.testdir(), { ci: true });
  const built = await findAssets(ci, async (folder) => fill(folder));
  t.match(built, { found: true });
  t.same(await findAssets(ci, mayNotBuild), built);
  t.same(await findAssets({ ...ci, ci: false }, mayNotBuild), built, "and without CI too");
  const [name, ...others] = await readdir(ci.cacheFolder);
  t.match(name, new RegExp(`^kubernetes-${await moduleVersion()}-[0-9a-f]{12}$`, "u"));
  t.same(others, []);
});

test("with CI a failing build fails, and nothing half-done is left", async (t) => {
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
    { message: /has no executable kube-apiserver, kubectl: it must hold/u },
    "nor does a build pass that made too little",
  );
  t.same(await readdir(ci.cacheFolder), []);
});

test("of two builds at once one is kept and both succeed", async (t) => {
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
