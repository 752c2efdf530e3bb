import { createHash } from "node:crypto";
import { access, constants, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import type { ProgramsEnvironment } from "./environment.ts";
import { withLock } from "./lock.ts";

/** How a program that the tests need is built, or downloaded, from its sources. */
export interface Recipe {
  readonly name: string;
  /** The npm script that builds the program is `setup:GROUP`. */
  readonly group: "apiserver" | "ci" | "cluster" | "oracle" | "prometheus" | "sdks";
  /** The requirements of the build, such as "Rust >= 1.94 with cargo, once, about a minute". */
  readonly needs: string;
  /** The absolute path of the sources. */
  readonly sources: string;
  /** The path of every source file, relative to `sources`. */
  readonly files: readonly string[];
  /** What the build depends on besides its sources, such as a version of Python. It is a part of the cache key. */
  readonly variant?: () => Promise<string>;
  /** The executable files that the build makes, relative to its folder. Default: none. */
  readonly makes?: readonly string[];
  /** Returns a folder of the user that replaces the cache, or undefined. */
  readonly replacement?: (environment: ProgramsEnvironment) => string | undefined;
  /** Builds into an empty folder. */
  build(folder: string, sources: string): Promise<void>;
}

/** The folder of a built program or, if it is missing, the reason why its tests are skipped, with the fix. */
export type FoundProgram =
  | { readonly found: true; readonly folder: string }
  | { readonly found: false; readonly reason: string };

/**
 * Finds a program in the cache. With `CI=true`, builds the program if it is missing, and rejects if the build fails:
 * the tests must then fail and not be skipped.
 */
export async function findProgram(environment: ProgramsEnvironment, recipe: Recipe): Promise<FoundProgram> {
  const replacement = recipe.replacement?.(environment);
  if (replacement !== undefined) {
    await requirePrograms(recipe, replacement);
    return { found: true, folder: replacement };
  }
  if (environment.ci) return { found: true, folder: await setUpProgram(environment, recipe) };
  // A variant is unknown if the tool is missing that determines it.
  const folder = await cachePlace(environment, recipe).catch(() => null);
  if (folder !== null && (await exists(folder))) return { found: true, folder };
  const fix = `run \`npm run setup:${recipe.group}\` (requires ${recipe.needs})`;
  return { found: false, reason: `${recipe.name} is not built; ${fix}` };
}

/**
 * Returns the folder of a program. Builds the program if it is missing, and renames the folder when the build is
 * complete. A killed build leaves a partial folder, which the next build removes. Only one build runs at a time,
 * because each one uses all cores. Of two concurrent builds of a program, one waits and uses the result of the other.
 */
export async function setUpProgram(environment: ProgramsEnvironment, recipe: Recipe): Promise<string> {
  const folder = await cachePlace(environment, recipe);
  if (await exists(folder)) return folder;
  await mkdir(environment.cacheFolder, { recursive: true });
  await withLock(path.join(environment.cacheFolder, "lock"), async () => {
    await removePartialBuilds(environment);
    if (await exists(folder)) return;
    const partial = `${folder}.partial-${process.pid}`;
    await mkdir(partial);
    try {
      await recipe.build(partial, recipe.sources);
      await requirePrograms(recipe, partial);
      await rename(partial, folder);
    } finally {
      await rm(partial, { recursive: true, force: true });
    }
  });
  return folder;
}

/**
 * Removes the folders that killed builds left. The caller holds the lock, so no other build is running. But a tool that
 * a killed build started, such as cargo, can still be writing to its folder. Then a later build removes the folder.
 */
async function removePartialBuilds({ cacheFolder }: ProgramsEnvironment): Promise<void> {
  const names = (await readdir(cacheFolder)).filter((name) => /\.partial-[^.]+$/.test(name));
  await Promise.allSettled(names.map((name) => rm(path.join(cacheFolder, name), { recursive: true, maxRetries: 5 })));
}

async function requirePrograms({ makes = [] }: Recipe, folder: string): Promise<void> {
  const present = await Promise.allSettled(makes.map((name) => access(path.join(folder, name), constants.X_OK)));
  const absent = makes.filter((_, index) => present[index]?.status === "rejected");
  if (absent.length === 0) return;
  throw new Error(`${folder} has no executable ${absent.join(", ")}; it must contain ${makes.join(", ")}`);
}

/** The folder name depends on the platform and the content of the sources, so that changed sources are rebuilt. */
async function cachePlace({ cacheFolder }: ProgramsEnvironment, recipe: Recipe): Promise<string> {
  const contents = await Promise.all(recipe.files.map((file) => readFile(path.join(recipe.sources, file), "utf8")));
  const text = [process.platform, process.arch, ...contents].join("\0");
  const variant = await recipe.variant?.();
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 12);
  return path.join(cacheFolder, [recipe.name, ...(variant === undefined ? [] : [variant]), hash].join("-"));
}

function exists(folder: string): Promise<boolean> {
  return access(folder).then(() => true, () => false);
}
