import { createHash } from "node:crypto";
import { access, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import { type ProgramResult, runProgram } from "../../apiserver/run-program.ts";
import type { RealEnvironment } from "../../environment.ts";

/** How a client program is built from its sources. */
export interface Recipe {
  /** The name of the client in the cache. */
  readonly name: string;
  /** The absolute path of the sources. */
  readonly sources: string;
  /** The path of every source file, relative to `sources`. */
  readonly files: readonly string[];
  /** The requirements of the build, such as "Rust >= 1.94 with cargo, once, about a minute". */
  readonly needs: string;
  /** The npm script that builds the client. Default: `setup:sdks`. */
  readonly script?: string;
  /** Builds into an empty folder. */
  build(folder: string, sources: string): Promise<void>;
}

/**
 * The folder with the built client or, if the client is missing, the reason why its tests are skipped, with the fix.
 */
type FoundClient =
  | { readonly found: true; readonly folder: string }
  | { readonly found: false; readonly reason: string };

/** Finds a client in the cache. With `CI=true`, builds the client if it is missing, and rejects if the build fails. */
export async function findClient(environment: RealEnvironment, recipe: Recipe): Promise<FoundClient> {
  if (environment.ci) return { found: true, folder: await setUpClient(environment, recipe) };
  const folder = await cachePlace(environment, recipe);
  if (await exists(folder)) return { found: true, folder };
  const fix = `run \`npm run ${recipe.script ?? "setup:sdks"}\` (requires ${recipe.needs})`;
  return { found: false, reason: `${recipe.name} is not built; ${fix}` };
}

/**
 * Returns the folder of the client. Builds the client if it is missing. Renames the folder when the build is complete,
 * so that a killed build leaves no partial result. If two builds run concurrently, uses the build that finishes first.
 */
export async function setUpClient(environment: RealEnvironment, recipe: Recipe): Promise<string> {
  const folder = await cachePlace(environment, recipe);
  if (await exists(folder)) return folder;
  await mkdir(environment.cacheFolder, { recursive: true });
  const partial = await mkdtemp(`${folder}.partial-`);
  try {
    await recipe.build(partial, recipe.sources);
    await rename(partial, folder).catch(async (error: unknown) => {
      if (!(await exists(folder))) throw error;
    });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return folder;
}

/** Runs a tool. Rejects with the output of the program unless it exits with status 0. */
export async function runTool(command: string, args: readonly string[], cwd: string): Promise<ProgramResult> {
  const result = await runProgram(command, args, { cwd }).catch((error: unknown) => {
    throw new Error(`${command} could not be started; check that it is on the PATH`, { cause: error });
  });
  if (result.code === 0) return result;
  throw new Error(`${command} ${args.join(" ")} exited with ${result.code}:\n${result.stdout}${result.stderr}`);
}

/** The folder name depends on the platform and the content of the sources, so that changed sources are rebuilt. */
async function cachePlace({ cacheFolder }: RealEnvironment, { name, sources, files }: Recipe): Promise<string> {
  const contents = await Promise.all(files.map((file) => readFile(path.join(sources, file), "utf8")));
  const text = [process.platform, process.arch, ...contents].join("\0");
  return path.join(cacheFolder, `${name}-${createHash("sha256").update(text).digest("hex").slice(0, 12)}`);
}

function exists(folder: string): Promise<boolean> {
  return access(folder).then(() => true, () => false);
}
