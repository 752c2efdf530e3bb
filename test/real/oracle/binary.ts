import { createHash } from "node:crypto";
import { access, constants, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import { runProgram } from "../apiserver/run-program.ts";
import type { RealEnvironment } from "../environment.ts";

const MODULE_FOLDER = path.join(import.meta.dirname, "go");
const MODULE_FILES = ["go.mod", "go.sum", "main.go", "matcher.go", "labels.go"];

/** Where the oracle is, or one sentence that says why its tests are skipped and how to have them run. */
export type FoundOracle = { readonly found: true; readonly program: string } | { readonly found: false; readonly reason: string };

/** Builds the oracle to the given path. */
export type BuildOracle = (program: string) => Promise<void>;

/**
 * Finds the oracle in the cache; with `CI=true` it is built into it where it is not there.
 * @throws when a build fails, which may not pass for a skip.
 */
export async function findOracle(environment: RealEnvironment, build: BuildOracle = goBuild): Promise<FoundOracle> {
  if (environment.ci) return { found: true, program: await setUpOracle(environment, build) };
  const program = await cachedProgram(environment);
  if (await isExecutable(program)) return { found: true, program };
  return { found: false, reason: "skipped: the shipped matcher is not built here; build it with `npm run setup:oracle` (needs Go >= 1.25, once, about 3 minutes)" };
}

/** The oracle from the cache, built into it first when it is not there. A build is renamed when it is whole, so a killed one leaves nothing. */
export async function setUpOracle(environment: RealEnvironment, build: BuildOracle = goBuild): Promise<string> {
  const program = await cachedProgram(environment);
  if (await isExecutable(program)) return program;
  await mkdir(environment.cacheFolder, { recursive: true });
  const partial = await mkdtemp(`${program}.partial-`);
  try {
    await build(path.join(partial, "oracle"));
    await rename(path.join(partial, "oracle"), program);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return program;
}

/** One file for each content of the Go module and each platform, so a changed module is built anew. */
async function cachedProgram({ cacheFolder }: RealEnvironment): Promise<string> {
  const files = await Promise.all(MODULE_FILES.map((name) => readFile(path.join(MODULE_FOLDER, name), "utf8")));
  const hash = createHash("sha256").update([process.platform, process.arch, ...files].join("\0")).digest("hex").slice(0, 12);
  return path.join(cacheFolder, `oracle-${hash}`);
}

async function isExecutable(program: string): Promise<boolean> {
  try {
    await access(program, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function goBuild(program: string): Promise<void> {
  // -buildvcs=false: building does not depend on git.
  const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", program];
  const go = await runProgram("go", ["build", ...flags, "."], { cwd: MODULE_FOLDER });
  if (go.code !== 0) throw new Error(`go build in ${MODULE_FOLDER} ended with ${go.code}:\n${go.stderr}`);
}
