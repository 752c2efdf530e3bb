import { createHash } from "node:crypto";
import { access, constants, mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import type { RealEnvironment } from "../environment.ts";
import { type ProgramResult, runProgram } from "./run-program.ts";

/** The Go module of Kubernetes programs. */
export const MODULE_FOLDER = path.join(import.meta.dirname, "go");
const BINARIES = ["kube-apiserver", "etcd", "kubectl"] as const;

/** The absolute paths of the control plane programs. */
export type Assets = Readonly<Record<(typeof BINARIES)[number], string>>;

/** The paths of the programs or, if a program is missing, the reason why the tests are skipped, with the fix. */
type FoundAssets =
  | { readonly found: true; readonly assets: Assets }
  | { readonly found: false; readonly reason: string };

/** Builds the programs into an empty folder. */
type BuildAssets = (folder: string, version: string) => Promise<void>;

/**
 * Finds kube-apiserver, etcd and kubectl in `KUBEBUILDER_ASSETS` if it is set, else in the cache. With `CI=true`,
 * builds the programs into the cache if they are missing.
 * @throws if `KUBEBUILDER_ASSETS` lacks a program or a build fails, because in these cases, the tests must fail and not
 * be skipped.
 */
export async function findAssets(environment: RealEnvironment, build: BuildAssets = goBuild): Promise<FoundAssets> {
  if (environment.kubebuilderAssets !== undefined) {
    return { found: true, assets: await requireAssets(environment.kubebuilderAssets) };
  }
  if (environment.ci) {
    return { found: true, assets: await setUpAssets(environment, build) };
  }
  const { folder, version } = await cacheEntry(environment);
  if ((await missing(folder)).length === 0) {
    return { found: true, assets: assetsIn(folder) };
  }
  const reason =
    `no Kubernetes ${version} API server is built; ` +
    "build it with `npm run setup:apiserver` (needs Go >= 1.25 and about 5 minutes) or set KUBEBUILDER_ASSETS";
  return { found: false, reason };
}

/**
 * Returns the programs in the cache. If programs are missing, builds them in a temporary folder, and renames the folder
 * when the build is complete. If two builds run concurrently, uses the build that finishes first.
 */
export async function setUpAssets(environment: RealEnvironment, build: BuildAssets = goBuild): Promise<Assets> {
  const { folder, version } = await cacheEntry(environment);
  if ((await missing(folder)).length > 0) {
    await mkdir(environment.cacheFolder, { recursive: true });
    const partial = await mkdtemp(`${folder}.partial-`);
    try {
      await build(partial, version);
      await requireAssets(partial);
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

async function requireAssets(folder: string): Promise<Assets> {
  const absent = await missing(folder);
  if (absent.length > 0) {
    throw new Error(`${folder} has no executable ${absent.join(", ")}; it must contain ${BINARIES.join(", ")}`);
  }
  return assetsIn(folder);
}

function assetsIn(folder: string): Assets {
  return {
    "kube-apiserver": path.join(folder, "kube-apiserver"),
    etcd: path.join(folder, "etcd"),
    kubectl: path.join(folder, "kubectl"),
  };
}

async function missing(folder: string): Promise<readonly string[]> {
  const present = await Promise.allSettled(BINARIES.map((name) => access(path.join(folder, name), constants.X_OK)));
  return BINARIES.filter((_, index) => present[index]?.status === "rejected");
}

interface CacheEntry {
  readonly folder: string;
  readonly version: string;
}

/** The folder name contains a hash of the Go module and the platform, so that a changed module is rebuilt. */
async function cacheEntry(environment: RealEnvironment): Promise<CacheEntry> {
  const names = (await readdir(MODULE_FOLDER, { recursive: true })).filter((name) => /\.(?:go|mod|sum)$/u.test(name));
  const read = async (name: string): Promise<string> =>
    `${name}\n${await readFile(path.join(MODULE_FOLDER, name), "utf8")}`;
  const files = await Promise.all(names.toSorted().map(read));
  const content = [process.platform, process.arch, ...files].join("\0");
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 12);
  const version = await moduleVersion();
  return { folder: path.join(environment.cacheFolder, `kubernetes-${version}-${hash}`), version };
}

/** Returns the Kubernetes release that the Go module requires, such as `v1.35.4`. */
export async function moduleVersion(): Promise<string> {
  const text = await readFile(path.join(MODULE_FOLDER, "go.mod"), "utf8");
  const version = /^\s*k8s\.io\/kubernetes (v\S+)$/mu.exec(text)?.[1];
  if (version === undefined) {
    throw new Error(`${MODULE_FOLDER}/go.mod requires no version of k8s.io/kubernetes`);
  }
  return version;
}

async function goBuild(folder: string, version: string): Promise<void> {
  await buildPrograms(BINARIES, folder, version);
}

/** Builds programs of the Go module, whose folders have these names, into a folder. */
export async function buildPrograms(names: readonly string[], folder: string, version: string): Promise<void> {
  const [, major, minor] = /^v(\d+)\.(\d+)\./u.exec(version) ?? [];
  // The linker sets the version of Kubernetes. Without these flags, the API server would report the version
  // v0.0.0-master.
  const variables = { gitVersion: version, gitMajor: major, gitMinor: minor };
  const stamps = Object.entries(variables).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
  // With -buildvcs=false, the binaries do not depend on the commit, and the build does not need git.
  const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", ["-s", "-w", ...stamps].join(" ")];
  const go = await runGo(["build", ...flags, "-o", `${folder}${path.sep}`, ...names.map((name) => `./${name}`)]);
  if (go.code !== 0) {
    throw new Error(`go build in ${MODULE_FOLDER} exited with ${go.code}:\n${go.stderr}`);
  }
}

async function runGo(args: readonly string[]): Promise<ProgramResult> {
  try {
    return await runProgram("go", args, { cwd: MODULE_FOLDER });
  } catch (error) {
    throw new Error("cannot start `go`; install Go >= 1.25 and add it to the PATH", { cause: error });
  }
}
