import ignore, { type Ignore } from "ignore";

/** The file that lists the files and folders to ignore, in the syntax of .gitignore, for its folder. */
export const IGNORE_FILE = ".ack-role-resolver-ignore";

interface Layer {
  /** The folder of the rules, with a slash at its end. */
  readonly base: string;
  readonly rules: Ignore;
}

/** Rules in the syntax of .gitignore. As in Git, the rules of a subfolder override the rules of its parents. */
export class IgnoreRules {
  /** The layers in order of their precedence. */
  readonly #layers: readonly Layer[];

  private constructor(layers: readonly Layer[]) {
    this.#layers = layers;
  }

  /** Returns rules for the folder `base`. Each glob is a line of .gitignore. */
  static of(globs: readonly string[], base: string): IgnoreRules {
    return new IgnoreRules(globs.length === 0 ? [] : [layerOf(base, globs)]);
  }

  /** Returns these rules, and the rules in the text of the ignore file in `folder`. */
  withFile(text: string, folder: string): IgnoreRules {
    return new IgnoreRules([layerOf(folder, text), ...this.#layers]);
  }

  /** Whether a file or folder, whose path starts with the folder of the rules, is ignored. */
  ignores(path: string, isFolder: boolean): boolean {
    for (const { base, rules } of this.#layers) {
      const { ignored, unignored } = rules.test(path.slice(base.length) + (isFolder ? "/" : ""));
      if (ignored || unignored) return ignored;
    }
    return false;
  }
}

function layerOf(folder: string, rules: string | readonly string[]): Layer {
  return { base: folder.endsWith("/") ? folder : `${folder}/`, rules: ignore({ allowRelativePaths: true }).add(rules) };
}
