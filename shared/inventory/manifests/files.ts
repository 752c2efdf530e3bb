import { type BigIntStats, type FSWatcher, watch } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import { ResolverError } from "../../decisions/errors.ts";
import { compareText } from "../../decisions/kubernetes/text.ts";
import { duplicateFaults, generateNames } from "./identity.ts";
import { formatInputFault, type InputFault, type ManifestResult, readManifests } from "./reader.ts";

/** The path of standard input. */
export const STDIN = "-";

/** A file to read. The fingerprint changes with the file. */
interface ManifestFile {
  readonly path: string;
  readonly fingerprint: string;
}

/** The files under some paths, and the faults of unreadable paths. */
export interface FileListing {
  /** In the order of the paths; the files of a folder sorted by path. */
  readonly files: readonly ManifestFile[];
  readonly faults: readonly InputFault[];
}

/**
 * Reads every object under `paths`: files of any name, folders recursively (`.yaml`, `.yml`, `.json`; names that start
 * with a dot are skipped), and `-` for standard input. Never rejects: unreadable files become faults.
 */
export async function readManifestPaths(paths: readonly string[], stdin = readStdin): Promise<ManifestResult> {
  return readListing(await listManifestFiles(paths), { stdin, read: readManifests });
}

/** Reads standard input and parses texts. */
export interface ManifestInput {
  readonly stdin: () => Promise<string>;
  readonly read: (text: string, file: string) => ManifestResult;
}

/** Reads the files of a listing. Adds faults for unreadable files, invalid objects and duplicate objects. */
export async function readListing(listing: FileListing, reading: ManifestInput): Promise<ManifestResult> {
  const readings = await Promise.all(listing.files.map(({ path }) => readOne(path, reading)));
  const manifests = generateNames(readings.flatMap((one) => one.manifests));
  const faults = [...listing.faults, ...readings.flatMap((one) => one.faults), ...duplicateFaults(manifests)];
  return { manifests, faults };
}

/** Returns one error with one line per fault. */
export function inputError(faults: readonly InputFault[]): ResolverError {
  return new ResolverError("ERR_INPUT_UNREADABLE", faults.map(formatInputFault).join("\n"));
}

/** Lists the files under `paths` without reading them. */
export async function listManifestFiles(paths: readonly string[]): Promise<FileListing> {
  const walk = new Walk();
  for (const path of paths) {
    // Sequential, because the files are returned in the order of the paths.
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

  /** Sorts complete paths by code unit, so that the order does not depend on the machine or the locale. */
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
    else if (stats !== null && isManifest) this.#file(path, stats);
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

async function readOne(path: string, { stdin, read }: ManifestInput): Promise<ManifestResult> {
  try {
    return read(path === STDIN ? await stdin() : await readText(path), path);
  } catch (error) {
    return { manifests: [], faults: [{ file: path, line: null, message: unreadable(error) }] };
  }
}

async function readText(path: string): Promise<string> {
  const bytes = await readFile(path);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Error("not valid UTF-8; save the file as UTF-8", { cause: error });
  }
}

/** Reads standard input to its end. It can be read only once. */
export function readStdin(): Promise<string> {
  return text(process.stdin);
}

/** Joins with `/` and keeps the folder as the user wrote it, so that printed paths can be pasted into a command. */
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

/** Calls `onEvent` when a file under `path` may have changed. Returns a function that stops watching. */
export type WatchPath = (path: string, onEvent: () => void) => () => void;

/**
 * Watches with the operating system's file events. They only speed up detection, so the caller must also poll: some
 * file systems send no events, the number of watches is limited, and a folder can be replaced while it is watched.
 */
export const watchPath: WatchPath = (path, onEvent) => {
  const watchers: FSWatcher[] = [];
  // Watches the parent folder too: editors and Kubernetes volumes replace a watched file by a rename.
  for (const [target, recursive] of [[path, true], [dirname(path), false]] as const) {
    try {
      watchers.push(watch(target, { recursive, persistent: false }, onEvent).on("error", onEvent));
    } catch {
      // Polling detects the changes.
    }
  }
  return () => watchers.forEach((watcher) => watcher.close());
};
