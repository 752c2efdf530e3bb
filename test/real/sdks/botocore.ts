import { createHash } from "node:crypto";
import { access, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import { runProgram } from "../apiserver/run-program.ts";
import type { RealEnvironment } from "../environment.ts";

const REQUIREMENTS = path.join(import.meta.dirname, "clients", "requirements.txt");
const PYTHON = "python3";

/** The interpreter, and the folder to put on its PYTHONPATH: the wheels are pure Python. */
export interface Botocore {
  readonly python: string;
  readonly folder: string;
}

/** Where botocore is, or one sentence that says why a test is skipped and how to have it run. */
export type FoundBotocore = { readonly found: true; readonly botocore: Botocore } | { readonly found: false; readonly reason: string };

/** Finds botocore in the cache; with `CI=true` it is installed there first, and a failure to is one of the test. */
export async function findBotocore(environment: RealEnvironment): Promise<FoundBotocore> {
  if (environment.ci) return { found: true, botocore: await setUpBotocore(environment) };
  const folder = await cachePlace(environment);
  const python = await interpreter().catch(() => null);
  if (python !== null && (await isInstalled(folder))) return { found: true, botocore: { python, folder } };
  return { found: false, reason: "no botocore here; install it with `npm run setup:sdks` (needs Python 3 with pip, once, about 10 seconds)" };
}

/**
 * Botocore from the cache, installed there from PyPI first when it is not: the versions and hashes of clients/requirements.txt and
 * nothing else. The folder is renamed when it is whole, so an install that was killed leaves nothing half-done.
 */
export async function setUpBotocore(environment: RealEnvironment): Promise<Botocore> {
  const python = await interpreter();
  const folder = await cachePlace(environment);
  if (await isInstalled(folder)) return { python, folder };
  await mkdir(environment.cacheFolder, { recursive: true });
  const partial = await mkdtemp(`${folder}.partial-`);
  try {
    await install(python, partial);
    await rename(partial, folder).catch(async (error: unknown) => {
      // Of two at once the first to end is kept.
      if (!(await isInstalled(folder))) throw error;
    });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return { python, folder };
}

/** The program itself: a version manager's stand-in for it needs variables that a test's clients do not get. */
async function interpreter(): Promise<string> {
  const { code, stdout, stderr } = await runProgram(PYTHON, ["-c", "import sys; sys.stdout.write(sys.executable)"], { cwd: import.meta.dirname });
  if (code !== 0) throw new Error(`${PYTHON} ended with ${code}:\n${stderr}`);
  return stdout;
}

async function install(python: string, folder: string): Promise<void> {
  const args = ["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--target", folder, "-r", REQUIREMENTS];
  const { code, stderr } = await runProgram(python, args, { cwd: folder });
  if (code !== 0) throw new Error(`${python} ${args.join(" ")} ended with ${code}:\n${stderr}`);
}

async function cachePlace({ cacheFolder }: RealEnvironment): Promise<string> {
  const digest = createHash("sha256").update(await readFile(REQUIREMENTS)).digest("hex").slice(0, 12);
  return path.join(cacheFolder, `botocore-${digest}`);
}

async function isInstalled(folder: string): Promise<boolean> {
  return access(path.join(folder, "botocore", "session.py")).then(() => true, () => false);
}
