import {
  closeSync, constants, fchmodSync, fchownSync, lstatSync, openSync, readFileSync, realpathSync, renameSync, rmSync,
  statSync, writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";

/**
 * Returns why a file must not be written: it is read-only, or its path leads through a link, from the working directory
 * or from the path that the user gave. Null if it may.
 */
export function whyUnwritable(file: string, given: readonly string[]): string | null {
  const path = resolve(file);
  const isIn = (folder: string): boolean => path === folder || path.startsWith(join(folder, "/"));
  const start = given.map((one) => resolve(one)).find(isIn) ?? path;
  const base = isIn(process.cwd()) ? process.cwd() : dirname(start);
  const isLinked = realpathSync(path) !== join(realpathSync(base), relative(base, path));
  if (isLinked) return "its path leads through a symbolic link; pass the file that it leads to";
  const isReadOnly = (statSync(path).mode & 0o222) === 0;
  return isReadOnly ? "it is read-only" : null;
}

const BYTE_ORDER_MARK = "\u{FEFF}";

/**
 * Replaces the text of a file at once, so that no other program reads a part of it. Keeps its mode, its owner and its
 * byte order mark.
 * @throws Error if the file no longer has the text `before`.
 */
export function writeFile(file: string, before: string, after: string): void {
  const written = readFileSync(file, "utf8");
  const mark = written.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
  if (written !== mark + before) throw new Error("it was changed meanwhile; run lint again");
  const { mode, uid, gid } = lstatSync(file);
  const draft = join(dirname(file), `.${basename(file)}.${process.pid}.tmp`);
  const fd = openSync(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    try {
      writeFileSync(fd, mark + after);
      if (process.getuid?.() === 0) fchownSync(fd, uid, gid);
      fchmodSync(fd, mode & 0o7777);
    } finally {
      closeSync(fd);
    }
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}
