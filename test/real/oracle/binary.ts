import { createHash } from "node:crypto";
import { access, constants, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import { runProgram } from "../apiserver/run-program.ts";
import type { RealEnvironment } from "../environment.ts";

const MODULE_FOLDER = path.join(import.meta.dirname, "go");
const MODULE_FILES = ["go.mod", "go.sum", "main.go", "matcher.go", "labels.go"];

/** The path of the oracle or, if the oracle is missing, the reason why the tests are skipped, with the fix. */
type FoundOracle =
  | { readonly found: true; readonly program: string }
  | { readonly found: false; readonly reason: string };

const SKIPPED = "skipped: the matcher of ACK is not built; "
  + "build it with `npm run setup:oracle` (needs Go >= 1.25 and about 3 minutes)";

/** Builds the oracle to the given path. */
type BuildOracle = (program: string) => Promise<void>;

/**
 * Finds the oracle in the cache. With `CI=true`, builds the oracle if it is missing.
 * @throws if the build fails, because the tests must then fail and not be skipped.
 */
export async function findOracle(environment: RealEnvironment, build: BuildOracle = goBuild): Promise<FoundOracle> {
  if (environment.ci) return { found: true, program: await setUpOracle(environment, build) };
  const program = await cachedProgram(environment);
  if (await isExecutable(program)) return { found: true, program };
  return { found: false, reason: SKIPPED };
}

/**
 * Returns the oracle in the cache. Builds the oracle if it is missing, and renames the file when the build is complete.
 */
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

/** The file name contains a hash of the Go module and the platform, so that a changed module is rebuilt. */
async function cachedProgram({ cacheFolder }: RealEnvironment): Promise<string> {
  const files = await Promise.all(MODULE_FILES.map((name) => readFile(path.join(MODULE_FOLDER, name), "utf8")));
  const content = [process.platform, process.arch, ...files].join("\0");
  const hash = createHash("sha256").update(content).digest("hex");
  return path.join(cacheFolder, `oracle-${hash.slice(0, 12)}`);
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
  // With -buildvcs=false, the build does not need git.
  const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", program];
  const go = await runProgram("go", ["build", ...flags, "."], { cwd: MODULE_FOLDER });
  if (go.code !== 0) throw new Error(`go build in ${MODULE_FOLDER} exited with ${go.code}:\n${go.stderr}`);
}
