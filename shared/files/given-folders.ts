import { readlinkSync, realpathSync } from "node:fs";
import { dirname } from "node:path";

/** The file that lists the files and folders to ignore, in the syntax of .gitignore, for its folder. */
export const IGNORE_FILE = ".ack-role-resolver-ignore";
export const UNLINK = `remove the link, or exclude it with --ignore or in ${IGNORE_FILE}`;
export const LEADS_OUT = `leads out of the given folders; ${UNLINK}, and pass its target as a path if it is needed`;

/**
 * The folders and files that the user named. Everything that is found in them, and every link in them, must lead to a
 * path inside them: the author of a checkout can make a link to any file of the machine that reads it.
 */
export class GivenFolders {
  readonly #paths: readonly string[];
  #reals: ReadonlySet<string> | null = null;
  #isRenewed = false;

  constructor(paths: readonly string[]) {
    this.#paths = paths;
  }

  /** Whether a real path is one of the given paths or in one of them. A given path may itself be a link. */
  contains(real: string): boolean {
    this.#reals ??= this.#resolve();
    if (isIn(real, this.#reals)) return true;
    // A given link can have got a new target since the first call, as with git-sync.
    if (this.#isRenewed) return false;
    [this.#reals, this.#isRenewed] = [this.#resolve(), true];
    return isIn(real, this.#reals);
  }

  #resolve(): ReadonlySet<string> {
    return new Set(this.#paths.flatMap((path) => {
      try {
        return [realpathSync.native(path)];
      } catch {
        return [];
      }
    }));
  }
}

function isIn(real: string, folders: ReadonlySet<string>): boolean {
  for (let at = real; ; at = dirname(at)) {
    if (folders.has(at)) return true;
    if (dirname(at) === at) return false;
  }
}

/**
 * Returns the real path of an open file. The link at `path` may have been replaced after the file was opened, and only
 * Linux can state the path of the file itself.
 */
export function realPathOf(fd: number, path: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return realpathSync.native(path);
  }
}
