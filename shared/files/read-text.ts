import { createReadStream, readFileSync, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { LIMITS } from "../contract/limits.ts";

/** Decodes each file completely, so that it has no state. Creating a decoder takes as long as reading a small file. */
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** Returns the text of a manifest. Rejects if the file is not UTF-8 or too large. */
export async function readText(path: string): Promise<string> {
  const bytes = await readBytes(path, LIMITS.manifestBytes.value);
  try {
    return UTF8.decode(bytes);
  } catch (error) {
    throw new Error("not valid UTF-8; save the file as UTF-8", { cause: error });
  }
}

export const NOT_A_FILE = "not a regular file; remove it";

/** Returns the text of an ignore file, of any encoding. Rejects if it is not a regular file or too large. */
export async function readIgnoreText(path: string): Promise<string> {
  // Opening a named pipe would wait for its writer.
  if (!(await stat(path)).isFile()) throw new Error(NOT_A_FILE);
  return (await readBytes(path, LIMITS.ignoreBytes.value)).toString();
}

async function readBytes(path: string, limit: number): Promise<Buffer> {
  const bytes = await readStart(path, limit);
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
  const stats = statSync(path);
  // A file of the kernel has size 0.
  const isSmall = stats.isFile() && stats.size > 0 && stats.size <= Math.min(SMALL_BYTES, limit);
  return isSmall ? readFileSync(path) : await buffer(createReadStream(path, { end: limit }));
}
