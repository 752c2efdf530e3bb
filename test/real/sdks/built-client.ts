import { createHash } from "node:crypto";
import { access, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import { type ProgramResult, runProgram } from "../apiserver/run-program.ts";
import type { RealEnvironment } from "../environment.ts";

/** How a client program comes from its sources. */
export interface Recipe {
  /** What it is called in the cache. */
  readonly name: string;
  /** Where its sources are: absolute. */
  readonly sources: string;
  /** Every file that it is built from, relative to that. */
  readonly files: readonly string[];
  /** For a reader whose machine has none: "Rust >= 1.94 with cargo, once, about a minute". */
  readonly needs: string;
  /** Fills an empty folder. */
  build(folder: string, sources: string): Promise<void>;
}

/** The folder that a recipe filled, or one sentence that says why a test is skipped and how to have it run. */
export type FoundClient = { readonly found: true; readonly folder: string } | { readonly found: false; readonly reason: string };

/** Finds a client in the cache; with `CI=true` it is built there first, and a failure to is one of the test. */
export async function findClient(environment: RealEnvironment, recipe: Recipe): Promise<FoundClient> {
  if (environment.ci) return { found: true, folder: await setUpClient(environment, recipe) };
  const folder = await cachePlace(environment, recipe);
  if (await exists(folder)) return { found: true, folder };
  return { found: false, reason: `no ${recipe.name} here; build it with \`npm run setup:sdks\` (needs ${recipe.needs})` };
}

/**
 * The folder from the cache, filled first when it is not there. It is renamed when it is whole, so a build that was killed leaves
 * nothing half-done, and of two at once the first to end is kept.
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

/** Runs a tool of a toolchain to its end. Rejects with what it said when it fails. */
export async function runTool(command: string, args: readonly string[], cwd: string): Promise<ProgramResult> {
  const result = await runProgram(command, args, { cwd }).catch((error: unknown) => {
    throw new Error(`${command} could not be started: is it on the PATH?`, { cause: error });
  });
  if (result.code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${result.code}:\n${result.stdout}${result.stderr}`);
  return result;
}

/** One folder for each content of the sources and each platform, so that changed ones are built anew. */
async function cachePlace({ cacheFolder }: RealEnvironment, { name, sources, files }: Recipe): Promise<string> {
  const contents = await Promise.all(files.map((file) => readFile(path.join(sources, file), "utf8")));
  const digest = createHash("sha256").update([process.platform, process.arch, ...contents].join("\0")).digest("hex").slice(0, 12);
  return path.join(cacheFolder, `${name}-${digest}`);
}

function exists(folder: string): Promise<boolean> {
  return access(folder).then(() => true, () => false);
}
