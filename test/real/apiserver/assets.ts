import { createHash } from "node:crypto";
import { access, constants, mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import type { RealEnvironment } from "../environment.ts";
import { type ProgramResult, runProgram } from "./run-program.ts";

const MODULE_FOLDER = path.join(import.meta.dirname, "go");
const BINARIES = ["kube-apiserver", "etcd", "kubectl"] as const;

/** The programs of a control plane: absolute paths. */
export type Assets = Readonly<Record<(typeof BINARIES)[number], string>>;

/** What `findAssets` found, or one sentence that says why a test is skipped and how to have it run. */
export type FoundAssets = { readonly found: true; readonly assets: Assets } | { readonly found: false; readonly reason: string };

/** Fills an empty folder with the programs. */
export type BuildAssets = (folder: string, version: string) => Promise<void>;

/**
 * Finds kube-apiserver, etcd and kubectl: in `KUBEBUILDER_ASSETS` when that is set, else in the cache, else built into the cache
 * when `CI=true`.
 * @throws when `KUBEBUILDER_ASSETS` lacks a program, or a build fails: neither may pass for a skip.
 */
export async function findAssets(environment: RealEnvironment, build: BuildAssets = goBuild): Promise<FoundAssets> {
  if (environment.kubebuilderAssets !== undefined) {
    return { found: true, assets: await givenAssets(environment.kubebuilderAssets) };
  }
  if (environment.ci) {
    return { found: true, assets: await setUpAssets(environment, build) };
  }
  const { folder, version } = await cachePlace(environment);
  if ((await missing(folder)).length === 0) {
    return { found: true, assets: assetsIn(folder) };
  }
  const reason =
    `no Kubernetes ${version} API server here; ` +
    "build one with `npm run setup:apiserver` (needs Go >= 1.25, once, about 5 minutes) or set KUBEBUILDER_ASSETS";
  return { found: false, reason };
}

/**
 * The programs from the cache, built into it first when they are not there.
 * A build takes place in a folder of its own beside the cached one and is renamed when it is whole, so one that was killed leaves
 * nothing half-done, and of two at once the first to end is kept.
 */
export async function setUpAssets(environment: RealEnvironment, build: BuildAssets = goBuild): Promise<Assets> {
  const { folder, version } = await cachePlace(environment);
  if ((await missing(folder)).length > 0) {
    await mkdir(environment.cacheFolder, { recursive: true });
    const partial = await mkdtemp(`${folder}.partial-`);
    try {
      await build(partial, version);
      await givenAssets(partial);
      await publish(partial, folder);
    } finally {
      await rm(partial, { recursive: true, force: true });
    }
  }
  return assetsIn(folder);
}

async function publish(partial: string, folder: string): Promise<void> {
  try {
    await rename(partial, folder);
  } catch (error) {
    if ((await missing(folder)).length > 0) {
      throw error;
    }
  }
}

async function givenAssets(folder: string): Promise<Assets> {
  const lacking = await missing(folder);
  if (lacking.length > 0) {
    throw new Error(`${folder} has no executable ${lacking.join(", ")}: it must hold ${BINARIES.join(", ")}`);
  }
  return assetsIn(folder);
}

function assetsIn(folder: string): Assets {
  return { "kube-apiserver": path.join(folder, "kube-apiserver"), etcd: path.join(folder, "etcd"), kubectl: path.join(folder, "kubectl") };
}

async function missing(folder: string): Promise<readonly string[]> {
  const present = await Promise.allSettled(BINARIES.map((name) => access(path.join(folder, name), constants.X_OK)));
  return BINARIES.filter((_, index) => present[index]?.status === "rejected");
}

/** One cache folder for each content of the Go module and each platform, so a changed module is built anew. */
async function cachePlace(environment: RealEnvironment): Promise<{ readonly folder: string; readonly version: string }> {
  const names = (await readdir(MODULE_FOLDER, { recursive: true })).filter((name) => /\.(?:go|mod|sum)$/u.test(name)).toSorted();
  const files = await Promise.all(names.map(async (name) => `${name}\n${await readFile(path.join(MODULE_FOLDER, name), "utf8")}`));
  const hash = createHash("sha256").update([process.platform, process.arch, ...files].join("\0")).digest("hex").slice(0, 12);
  const version = await moduleVersion();
  return { folder: path.join(environment.cacheFolder, `kubernetes-${version}-${hash}`), version };
}

/** The release of Kubernetes that the Go module requires, as `v1.35.4`. */
export async function moduleVersion(): Promise<string> {
  const text = await readFile(path.join(MODULE_FOLDER, "go.mod"), "utf8");
  const version = /^\s*k8s\.io\/kubernetes (v\S+)$/mu.exec(text)?.[1];
  if (version === undefined) {
    throw new Error(`${MODULE_FOLDER}/go.mod requires no version of k8s.io/kubernetes`);
  }
  return version;
}

async function goBuild(folder: string, version: string): Promise<void> {
  const [, major, minor] = /^v(\d+)\.(\d+)\./u.exec(version) ?? [];
  // Kubernetes takes its own version from the linker alone: without these the API server says v0.0.0-master.
  const variables = { gitVersion: version, gitMajor: major, gitMinor: minor };
  const stamps = Object.entries(variables).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
  // -buildvcs=false: the binaries do not depend on the commit of this checkout, nor does building them on git.
  const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", ["-s", "-w", ...stamps].join(" ")];
  const go = await runGo(["build", ...flags, "-o", `${folder}${path.sep}`, "./..."]);
  if (go.code !== 0) {
    throw new Error(`go build in ${MODULE_FOLDER} ended with ${go.code}:\n${go.stderr}`);
  }
}

async function runGo(args: readonly string[]): Promise<ProgramResult> {
  try {
    return await runProgram("go", args, { cwd: MODULE_FOLDER });
  } catch (error) {
    throw new Error("the API server is built by Go >= 1.25, which could not be started: is `go` on the PATH?", { cause: error });
  }
}
