import type { Test } from "tap";
import { findProgram, type Recipe } from "../programs/cache.ts";
import { readEnvironment } from "../programs/environment.ts";
import { setTimeLimit } from "./time-limit.ts";

/** Includes the build of a missing program, such as kube-apiserver. */
const BUILD_LIMIT_MS = 30 * 60_000;

/** A folder per recipe. */
export type Folders<Recipes extends readonly unknown[]> = { readonly [Index in keyof Recipes]: string };

/**
 * Returns the folders of the programs in the cache. Skips the test and returns null if a program is missing, unless
 * `CI=true`, which builds it. Call it once in a test, before the test sets a time limit.
 */
export async function findPrograms<const Recipes extends readonly Recipe[]>(
  t: Test, ...recipes: Recipes
): Promise<Folders<Recipes> | null> {
  setTimeLimit(t, BUILD_LIMIT_MS);
  const folders: string[] = [];
  for (const recipe of recipes) {
    const found = await findProgram(readEnvironment(), recipe);
    if (!found.found) {
      t.plan(0, found.reason);
      return null;
    }
    folders.push(found.folder);
  }
  setTimeLimit(t);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the loop adds a folder for each recipe
  return folders as Folders<Recipes>;
}
