import { type BigIntStats, createReadStream, type FSWatcher, watch } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { ResolverError } from "../../decisions/errors.ts";
import { compareText } from "../../decisions/kubernetes/text.ts";
import { LIMITS } from "../../decisions/limits.ts";
import { drain } from "../../decisions/paced.ts";
import { duplicateFaults, generateNames } from "./identity.ts";
import { formatInputFault, type InputFault, type ManifestResult, readManifests } from "./reader.ts";

/** The path argument that selects standard input. */
export const STDIN = "-";

/** A file to read, and its fingerprint, which changes when the file changes. */
interface ManifestFile {
  readonly path: string;
  readonly fingerprint: string;
}

/** The files under some paths, and one fault for each unreadable path. */
export interface FileListing {
  /** The files in the order of the given paths. The files of each folder are sorted by path. */
  readonly files: readonly ManifestFile[];
  readonly faults: readonly InputFault[];
}

/**
 * Reads every object under `paths`. A path is a file of any name, a folder, or `-` for standard input. In folders,
 * reads `.yaml`, `.yml` and `.json` files recursively, and skips names that start with a dot. The promise never
 * rejects: an unreadable file causes a fault.
 */
export async function readManifestPaths(paths: readonly string[], stdin = readStdin): Promise<ManifestResult> {
  const listing = await listManifestFiles(paths);
  const readings = await readFiles(listing, { stdin, read: readManifests });
  const manifests = generateNames(readings.flatMap((one) => one.manifests));
  const faults = [...listing.faults, ...readings.flatMap((one) => one.faults), ...drain(duplicateFaults(manifests))];
  return { manifests, faults };
}

/** Functions that read standard input and parse the text of a file. */
export interface ManifestInput {
  readonly stdin: () => Promise<string>;
  readonly read: (text: string, file: string) => ManifestResult | Promise<ManifestResult>;
}

/** The objects and faults of one file. */
export interface FileReading extends ManifestResult {
  readonly path: string;
  /**
   * Whether the operating system returned an error. After such an error, the fingerprint may stay the same when the
   * error disappears.
   */
  readonly unreadable: boolean;
}

/**
 * Reads the files of a listing. The promise never rejects: an unreadable file and an invalid object each cause a fault.
 */
export async function readFiles({ files }: FileListing, reading: ManifestInput): Promise<readonly FileReading[]> {
  const readings: FileReading[] = [];
  for (let i = 0; i < files.length; i += OPEN_FILES) {
    const batch = files.slice(i, i + OPEN_FILES).map(({ path }) => readOne(path, reading));
    // Awaits each batch, because the number of open files is limited.
    // oxlint-disable-next-line no-await-in-loop
    for (const one of await Promise.all(batch)) readings.push(one);
  }
  return readings;
}

const OPEN_FILES = 64;

/** Returns an error whose message has one line for each fault. */
export function inputError(faults: readonly InputFault[]): ResolverError {
  return new ResolverError("ERR_INPUT_UNREADABLE", faults.map(formatInputFault).join("\n"));
}

/** Lists the files under `paths` without reading them. */
export async function listManifestFiles(paths: readonly string[]): Promise<FileListing> {
  const walk = new Walk();
  for (const path of paths) {
    // Lists one path after another, because files are returned in the order of the paths.
    // oxlint-disable-next-line no-await-in-loop
    await walk.add(path);
  }
  return walk;
}

class Walk implements FileListing {
  readonly files: ManifestFile[] = [];
  readonly faults: InputFault[] = [];

  async add(path: string): Promise<void> {
    if (path === STDIN) this.files.push({ path, fingerprint: "" });
    else if ((await this.#entry(path))?.isDirectory() === true) await this.#folder(path);
  }

  /**
   * Adds the files of a folder. Sorts the complete paths by code unit, so that the order is the same on every machine.
   */
  async #folder(path: string): Promise<void> {
    const walk = new Walk();
    await walk.#descend(path, []);
    this.files.push(...walk.files.toSorted((a, b) => compareText(a.path, b.path)));
    this.faults.push(...walk.faults.toSorted((a, b) => compareText(a.file, b.file)));
  }

  async #descend(path: string, parents: readonly string[]): Promise<void> {
    const real = await this.#attempt(path, () => realpath(path));
    if (real === null) return;
    if (parents.includes(real)) {
      this.#fault(path, "symbolic link to a parent folder; remove the link");
      return;
    }
    const names = await this.#attempt(path, () => readdir(path));
    const visible = (names ?? []).filter((name) => !name.startsWith("."));
    await Promise.all(visible.map((name) => this.#child(join(path, name), [...parents, real])));
  }

  async #child(path: string, parents: readonly string[]): Promise<void> {
    const isManifest = /\.(?:yaml|yml|json)$/.test(path);
    const stats = await this.#attempt(path, () => stat(path, { bigint: true }));
    if (stats?.isDirectory() === true) await this.#descend(path, parents);
    else if (stats !== null && isManifest) {
      // Reading a named pipe would wait for its writer.
      if (stats.isFile()) this.#file(path, stats);
      else this.#fault(path, "not a regular file; remove it");
    }
  }

  async #entry(path: string): Promise<BigIntStats | null> {
    const stats = await this.#attempt(path, () => stat(path, { bigint: true }));
    if (stats !== null && !stats.isDirectory()) this.#file(path, stats);
    return stats;
  }

  #file(path: string, { ino, size, mtimeNs }: BigIntStats): void {
    this.files.push({ path, fingerprint: `${ino}/${size}/${mtimeNs}` });
  }

  async #attempt<T>(path: string, read: () => Promise<T>): Promise<T | null> {
    try {
      return await read();
    } catch (error) {
      this.#fault(path, unreadable(error));
      return null;
    }
  }

  #fault(file: string, message: string): void {
    this.faults.push({ file, line: null, message });
  }
}

async function readOne(path: string, { stdin, read }: ManifestInput): Promise<FileReading> {
  let content: string;
  try {
    content = path === STDIN ? await stdin() : await readText(path);
  } catch (error) {
    return { path, manifests: [], faults: [{ file: path, line: null, message: unreadable(error) }], unreadable: true };
  }
  const { manifests, faults } = await read(content, path);
  return { path, manifests, faults, unreadable: false };
}

/** Reads at most one byte more than the limit. */
async function readText(path: string): Promise<string> {
  const { value: limit } = LIMITS.manifestBytes;
  const bytes = await buffer(createReadStream(path, { end: limit }));
  if (bytes.length > limit) throw new Error(`larger than ${limit} bytes; use several files`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Error("not valid UTF-8; save the file as UTF-8", { cause: error });
  }
}

/** Reads standard input to its end. A second call would return no data, because standard input is at its end. */
export function readStdin(): Promise<string> {
  return text(process.stdin);
}

/**
 * Joins folder and name with `/`. Does not normalize the folder, so that a user can paste a printed path into a
 * command.
 */
function join(folder: string, name: string): string {
  return folder.endsWith("/") ? `${folder}${name}` : `${folder}/${name}`;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or folder",
  EACCES: "permission denied; grant this user read access",
  EPERM: "permission denied; grant this user read access",
  ELOOP: "symbolic link loop; remove the link",
};

function unreadable(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return REASONS["code" in error ? String(error.code) : ""] ?? error.message;
}

/** Calls `onEvent` when a file under `path` could have changed. Returns a function that stops the watch. */
export type WatchPath = (path: string, onEvent: () => void) => () => void;

/**
 * Watches `path` with file events of the operating system. The caller must also poll. Some file systems send no events,
 * the number of watches is limited, and a watched folder can be replaced.
 */
export const watchPath: WatchPath = (path, onEvent) => {
  const watchers: FSWatcher[] = [];
  // Also watches the parent folder, because editors and Kubernetes volumes replace a file by a rename.
  for (const [target, recursive] of [[path, true], [dirname(path), false]] as const) {
    try {
      watchers.push(watch(target, { recursive, persistent: false }, onEvent).on("error", onEvent));
    } catch {
      // Ignores the error, because polling detects the changes.
    }
  }
  return () => watchers.forEach((watcher) => watcher.close());
};
