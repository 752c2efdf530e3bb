import { closeSync, constants, createReadStream, openSync, readFileSync, type Stats, statSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { LIMITS } from "../core/limits.ts";
import { type GivenFolders, LEADS_OUT, realPathOf } from "./given-folders.ts";

/** Decodes each file completely, so that it has no state. Creating a decoder takes as long as reading a small file. */
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Returns the text of a manifest. Rejects if the file is not UTF-8 or too large. Rejects a file that was found in one
 * of the `given` folders if it is not regular or leads out of them.
 */
export async function readText(path: string, given: GivenFolders | null): Promise<string> {
  const bytes = await readBytes(path, LIMITS.manifestBytes.value, given);
  try {
    return UTF8.decode(bytes);
  } catch (error) {
    throw new Error("not valid UTF-8; save the file as UTF-8", { cause: error });
  }
}

export const NOT_A_FILE = "not a regular file; remove it";

/** Returns the text of an ignore file, of any encoding. Rejects as `readText` does. */
export async function readIgnoreText(path: string, given: GivenFolders): Promise<string> {
  return (await readBytes(path, LIMITS.ignoreBytes.value, given)).toString();
}

async function readBytes(path: string, limit: number, given: GivenFolders | null): Promise<Buffer> {
  const bytes = given === null ? await readStart(path, limit) : await readFound(path, limit, given);
  if (bytes.length > limit) throw new Error(`larger than ${limit} bytes; use several files`);
  return bytes;
}

/** The maximum size of a file that is read at once. That takes less than 0.1 ms. */
const SMALL_BYTES = 64 * 1024;

/**
 * Reads at most one byte more than the limit. Reads a small file at once, because each step of an asynchronous read
 * takes longer. Opening a named pipe would wait for its writer.
 */
async function readStart(path: string, limit: number): Promise<Buffer> {
  return isSmall(statSync(path), limit) ? readFileSync(path) : await buffer(createReadStream(path, { end: limit }));
}

/** Reads like `readStart`. Checks the open file, because a checked path could get another file before it is opened. */
async function readFound(path: string, limit: number, given: GivenFolders): Promise<Buffer> {
  const stats = statSync(path);
  // Opening a device can have an effect.
  if (!stats.isFile()) throw new Error(NOT_A_FILE);
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!given.contains(realPathOf(fd, path))) throw new Error(LEADS_OUT);
    if (isSmall(stats, limit)) return readFileSync(fd);
    return await buffer(createReadStream(path, { fd, end: limit, autoClose: false }));
  } finally {
    closeSync(fd);
  }
}

function isSmall(stats: Stats, limit: number): boolean {
  // A file of the kernel has size 0.
  return stats.isFile() && stats.size > 0 && stats.size <= Math.min(SMALL_BYTES, limit);
}
