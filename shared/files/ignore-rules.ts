import { lstat } from "node:fs/promises";
import { dirname, join } from "node:path";
import compileIgnore, { type Ignore } from "ignore";
import { LIMITS } from "../core/limits.ts";
import { GivenFolders } from "./given-folders.ts";
import { readIgnoreText } from "./read-text.ts";

interface Layer {
  /** The folder of the rules, with a slash at its end. */
  readonly base: string;
  readonly rules: Ignore;
}

/** Rules in the syntax of .gitignore. As in Git, the rules of a subfolder override the rules of its parents. */
export class IgnoreRules {
  static readonly none = new IgnoreRules([], false, 0);

  /** The layers in order of their precedence. */
  readonly #layers: readonly Layer[];
  readonly #ignoreCase: boolean;
  /** The weight of the rules of all files. */
  readonly #weight: number;

  private constructor(layers: readonly Layer[], ignoreCase: boolean, weight: number) {
    this.#layers = layers;
    this.#ignoreCase = ignoreCase;
    this.#weight = weight;
  }

  /** Returns rules for the folder `base`, which ignore the case. Each glob is a line of .gitignore. */
  static of(globs: readonly string[], base: string): IgnoreRules {
    const none = new IgnoreRules([], true, 0);
    return globs.length === 0 ? none : none.#with(globs, base, 0);
  }

  /**
   * Returns these rules, and those of a .gitignore, whose paths are relative to `folder`. Rejects if the file is
   * unreadable or leads out of the given folders, or if the rules of all files exceed a limit.
   */
  async withFile(file: string, folder: string, given: GivenFolders): Promise<IgnoreRules> {
    const text = await readIgnoreText(file, given);
    const weight = text.split("\n").reduce((sum, line) => sum + weightOf(line), this.#weight);
    if (weight > LIMITS.ignoreRules.value) throw new Error(TOO_MANY);
    return this.#with(text, folder, weight);
  }

  #with(text: string | readonly string[], folder: string, weight: number): IgnoreRules {
    const base = folder.endsWith("/") ? folder : `${folder}/`;
    const layers = [{ base, rules: this.#compile().add(text) }, ...this.#layers];
    return new IgnoreRules(layers, this.#ignoreCase, weight);
  }

  /** Returns whether the last rule that matches ignores the file or folder; null if none matches. */
  verdict(path: string, isFolder: boolean): boolean | null {
    for (const { base, rules } of this.#layers) {
      const { ignored, unignored } = rules.test(path.slice(base.length) + (isFolder ? "/" : ""));
      if (ignored || unignored) return ignored;
    }
    return null;
  }

  /**
   * Returns the rules for what is in a folder that is not ignored. A layer would ignore all of it if it ignores the
   * folder, which the rules of another layer include.
   */
  inside(folder: string): IgnoreRules {
    const layers = this.#layers.map(({ base, rules }) => {
      const path = `${folder.slice(base.length)}/`;
      if (!rules.test(path).ignored) return { base, rules };
      const included = `!/${path.replaceAll(/[\\*?[]/g, String.raw`\$&`)}`;
      return { base, rules: this.#compile().add(rules).add([included]) };
    });
    return new IgnoreRules(layers, this.#ignoreCase, this.#weight);
  }

  #compile(): Ignore {
    return compileIgnore({ allowRelativePaths: true, ignoreCase: this.#ignoreCase });
  }
}

const TOO_MANY = `the rules for this folder exceed the limit of ${LIMITS.ignoreRules.value}, where each \`**/\` makes `
  + "a rule count tenfold; use fewer or shorter rules";

/**
 * Returns the weight of a rule in the limit: the time for a path multiplies with each globstar. A rule of many thousand
 * characters exceeds the limits of regular expressions.
 */
function weightOf(line: string): number {
  if (line.trim() === "" || line.startsWith("#")) return 0;
  return line.length > MAX_LINE ? Infinity : 10 ** (line.split("**/").length - 1);
}

const MAX_LINE = 1_000;

export const GIT_IGNORE_FILE = ".gitignore";
/** A folder, or in a worktree or a submodule a file, of the top folder of a checkout. */
export const GIT = ".git";

/**
 * Returns the rules of the .gitignore files above a folder, up to the top of its checkout. Returns null if the folder
 * is in no checkout, or if Git ignores it: then the user names it, and its files are not in the checkout. `folder` is
 * a real path.
 */
export async function gitRulesAbove(folder: string): Promise<IgnoreRules | null> {
  const path = await pathInCheckout(folder);
  if (path === null) return null;
  let rules = IgnoreRules.none;
  const checkout = new GivenFolders(path.slice(0, 1));
  for (const [i, parent] of path.slice(0, -1).entries()) {
    // Each file can ignore the next folder, whose file then has no effect.
    // oxlint-disable-next-line no-await-in-loop
    rules = await rules.withFile(join(parent, GIT_IGNORE_FILE), parent, checkout).catch(() => rules);
    const child = path[i + 1] ?? folder;
    if (rules.verdict(child, true) === true) return null;
    rules = rules.inside(child);
  }
  return rules;
}

/** Returns the folders from the top of the checkout to `folder`; null if it is in no checkout. */
async function pathInCheckout(folder: string): Promise<readonly string[] | null> {
  const path: string[] = [];
  for (let parent = folder; path[0] !== parent; parent = dirname(parent)) {
    path.unshift(parent);
    // oxlint-disable-next-line no-await-in-loop
    if (await lstat(join(parent, GIT)).then(() => true, () => false)) return path;
  }
  return null;
}
