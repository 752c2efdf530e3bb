import { type BigIntStats, type FSWatcher, watch } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import { ResolverError } from "../../decisions/errors.ts";
import { compareText } from "../../decisions/kubernetes/text.ts";
import { duplicateFaults, withGeneratedNames } from "./identity.ts";
import { formatInputFault, type InputFault, type ManifestReading, readManifests } from "./reader.ts";

/** Standard input, among the paths. */
export const STDIN = "-";

/** A file to read, with what tells that it changed. */
export interface ManifestFile {
  readonly path: string;
  readonly fingerprint: string;
}

/** The files under some paths, and which paths have none. */
export interface FileListing {
  /** In the order of the paths given; a folder's files sorted by their path. */
  readonly files: readonly ManifestFile[];
  readonly faults: readonly InputFault[];
}

/**
 * Reads every object under `paths`: files of any name, folders recursively (`.yaml`, `.yml`, `.json`; entries that begin with a
 * dot are skipped), `-` for standard input. Never rejects: what cannot be read is a fault, and the rest is returned with it.
 */
export async function readManifestPaths(paths: readonly string[], stdin = readStdin): Promise<ManifestReading> {
  return readListed(await listManifestFiles(paths), { stdin, read: readManifests });
}

/** How texts are had and read. */
export interface Reading {
  readonly stdin: () => Promise<string>;
  readonly read: (text: string, file: string) => ManifestReading;
}

/** Reads the files of a listing; faults are the listing's, each file's, and objects that stand twice. */
export async function readListed(listing: FileListing, reading: Reading): Promise<ManifestReading> {
  const readings = await Promise.all(listing.files.map(({ path }) => readOne(path, reading)));
  const manifests = withGeneratedNames(readings.flatMap((one) => one.manifests));
  const faults = [...listing.faults, ...readings.flatMap((one) => one.faults), ...duplicateFaults(manifests)];
  return { manifests, faults };
}

/** One error for all faults, a line each. */
export function inputError(faults: readonly InputFault[]): ResolverError {
  return new ResolverError("ERR_INPUT_UNREADABLE", faults.map(formatInputFault).join("\n"));
}

/** Finds the files under `paths` without reading them. */
export async function listManifestFiles(paths: readonly string[]): Promise<FileListing> {
  const walk = new Walk();
  for (const path of paths) {
    // One after the other: their order is the output's.
    // oxlint-disable-next-line no-await-in-loop
    await walk.named(path);
  }
  return walk;
}

class Walk implements FileListing {
  readonly files: ManifestFile[] = [];
  readonly faults: InputFault[] = [];

  async named(path: string): Promise<void> {
    if (path === STDIN) this.files.push({ path, fingerprint: "" });
    else if ((await this.#entry(path))?.isDirectory() === true) await this.#folder(path);
  }

  /** Sorted as whole paths by code unit, so that the order is the same on any machine and in any locale. */
  async #folder(path: string): Promise<void> {
    const walk = new Walk();
    await walk.#descend(path, []);
    this.files.push(...walk.files.toSorted((a, b) => compareText(a.path, b.path)));
    this.faults.push(...walk.faults.toSorted((a, b) => compareText(a.file, b.file)));
  }

  async #descend(path: string, above: readonly string[]): Promise<void> {
    const real = await this.#attempt(path, () => realpath(path));
    if (real === null) return;
    if (above.includes(real)) {
      this.#fault(path, "a symbolic link to a folder around it; remove the link");
      return;
    }
    const names = await this.#attempt(path, () => readdir(path));
    await Promise.all((names ?? []).filter((name) => !name.startsWith(".")).map((name) => this.#child(join(path, name), [...above, real])));
  }

  async #child(path: string, above: readonly string[]): Promise<void> {
    const isManifest = /\.(?:yaml|yml|json)$/.test(path);
    const stats = await this.#attempt(path, () => stat(path, { bigint: true }));
    if (stats?.isDirectory() === true) await this.#descend(path, above);
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

async function readOne(path: string, { stdin, read }: Reading): Promise<ManifestReading> {
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
    throw new Error("not UTF-8 text; save it as UTF-8", { cause: error });
  }
}

/** All of standard input; it can be read once. */
export function readStdin(): Promise<string> {
  return text(process.stdin);
}

/** Always `/`, and the folder as the user wrote it, so that what is printed can be pasted back. */
function join(folder: string, name: string): string {
  return folder.endsWith("/") ? `${folder}${name}` : `${folder}/${name}`;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or folder",
  EACCES: "not readable for this user; give it read permission",
  EPERM: "not readable for this user; give it read permission",
  ELOOP: "a symbolic link that leads back to itself; remove it",
};

function unreadable(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return REASONS["code" in error ? String(error.code) : ""] ?? error.message;
}

/** Calls `onEvent` when something under `path` may have changed; the function returned ends it. */
export type WatchPath = (path: string, onEvent: () => void) => () => void;

/**
 * The operating system's own notices. They are a short cut and no more: some file systems send none, limits on watches may be reached, and
 * a folder may be replaced under the watch, so whoever calls this looks for itself too.
 */
export const watchPath: WatchPath = (path, onEvent) => {
  const watchers: FSWatcher[] = [];
  // The folder around a path as well: editors and Kubernetes' volumes replace what is watched by a rename.
  for (const [target, recursive] of [[path, true], [dirname(path), false]] as const) {
    try {
      watchers.push(watch(target, { recursive, persistent: false }, onEvent).on("error", onEvent));
    } catch {
      // Not watchable; polling sees it.
    }
  }
  return () => watchers.forEach((watcher) => watcher.close());
};
