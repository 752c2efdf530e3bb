import { lstat, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import compileIgnore, { type Ignore } from "ignore";

interface Layer {
  /** The folder of the rules, with a slash at its end. */
  readonly base: string;
  readonly rules: Ignore;
}

/** Rules in the syntax of .gitignore. As in Git, the rules of a subfolder override the rules of its parents. */
export class IgnoreRules {
  static readonly none = new IgnoreRules([], false);

  /** The layers in order of their precedence. */
  readonly #layers: readonly Layer[];
  readonly #ignoreCase: boolean;

  private constructor(layers: readonly Layer[], ignoreCase: boolean) {
    this.#layers = layers;
    this.#ignoreCase = ignoreCase;
  }

  /** Returns rules for the folder `base`, which ignore the case. Each glob is a line of .gitignore. */
  static of(globs: readonly string[], base: string): IgnoreRules {
    const none = new IgnoreRules([], true);
    return globs.length === 0 ? none : none.with(globs, base);
  }

  /** Returns these rules, and the rules in the text or the lines of a .gitignore in `folder`. */
  with(text: string | readonly string[], folder: string): IgnoreRules {
    const base = folder.endsWith("/") ? folder : `${folder}/`;
    return new IgnoreRules([{ base, rules: this.#compile().add(text) }, ...this.#layers], this.#ignoreCase);
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
    return new IgnoreRules(layers, this.#ignoreCase);
  }

  #compile(): Ignore {
    return compileIgnore({ allowRelativePaths: true, ignoreCase: this.#ignoreCase });
  }
}

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
  for (const [i, parent] of path.slice(0, -1).entries()) {
    // Each file can ignore the next folder, whose file then has no effect.
    // oxlint-disable-next-line no-await-in-loop
    rules = rules.with(await readFile(join(parent, GIT_IGNORE_FILE), "utf8").catch(() => ""), parent);
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
