import type { BigIntStats, Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { LIMITS } from "../core/limits.ts";
import { compareText } from "../formats/text.ts";
import { GivenFolders, IGNORE_FILE, LEADS_OUT, UNLINK } from "./given-folders.ts";
import { GIT, GIT_IGNORE_FILE, gitRulesAbove, IgnoreRules } from "./ignore-rules.ts";
import type { InputFault } from "./manifest-reader.ts";
import { NOT_A_FILE } from "./read-text.ts";

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or folder",
  EACCES: "permission denied; grant this user read access",
  EPERM: "permission denied; grant this user read access",
  ELOOP: `symbolic link loop; ${UNLINK}`,
};

/** Returns why a file or folder cannot be read. */
export function unreadable(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return REASONS["code" in error ? String(error.code) : ""] ?? error.message;
}

/** The path argument that selects standard input. */
export const STDIN = "-";

/** A file to read. */
export interface ManifestFile {
  readonly path: string;
  /** Changes when the file changes. "" if the listing has no fingerprints. */
  readonly fingerprint: string;
  /**
   * Whether the user named the file, or it was found in a folder or in the folder `templates` of a Helm chart. A patch
   * is a file that a kustomization applies to an object.
   */
  readonly place: "given" | "folder" | "chart-templates" | "patch";
}

/** The files under the given paths, and one fault for each unreadable path. */
export interface FileListing {
  /** The files in the order of the given paths. The files of each folder are sorted by path. */
  readonly files: readonly ManifestFile[];
  readonly faults: readonly InputFault[];
  /** The files and folders that ignore rules exclude, sorted for each given path. */
  readonly ignored: readonly string[];
  /** Those that only the .gitignore files of their checkout exclude. */
  readonly gitIgnored: readonly string[];
  /** The given paths. No found file may lead out of them. */
  readonly given: GivenFolders;
}

interface ListingOptions {
  /** Lines of .gitignore that apply to each given folder. Default: none. */
  readonly ignore?: readonly string[];
  /** Whether the files have fingerprints, which takes one system call for each file. Default: true. */
  readonly fingerprints?: boolean;
  /** Whether the .gitignore files of a checkout apply. Default: false. */
  readonly gitIgnore?: boolean;
}

/**
 * Lists the files under `paths` without reading them. Reads only the ignore files of the folders. Follows no link to a
 * folder outside `paths`.
 */
export async function listManifestFiles(
  paths: readonly string[], { ignore = [], fingerprints = true, gitIgnore = false }: ListingOptions = {},
): Promise<FileListing> {
  const walk = new Walk({ fingerprints, gitIgnore, given: new GivenFolders(paths), entries: { weight: 0 } });
  for (const path of paths) {
    // Lists one path after another, because files are returned in the order of the paths.
    // oxlint-disable-next-line no-await-in-loop
    await walk.add(path, ignore);
  }
  return walk;
}

const MANIFEST = /(?:\.(?:yaml|yml|json)|\/Kustomization)$/;

interface Folder {
  readonly path: string;
  /** The real paths of its parents. */
  readonly parents: readonly string[];
  readonly rules: IgnoreRules;
  /** The rules of the .gitignore files; null if the folder is in no checkout. */
  readonly git: IgnoreRules | null;
  /** The path from the real path of the given folder, to which the .gitignore files of its parents apply. */
  readonly gitPath: string;
  readonly place: "folder" | "chart-templates";
  /** Whether a link in a given folder leads to it. */
  readonly isLinked: boolean;
}

interface WalkOptions extends Required<Omit<ListingOptions, "ignore">> {
  readonly given: GivenFolders;
  /** The weight of the entries of all folders that were read. */
  readonly entries: { weight: number };
}

const TOO_MANY = `more than ${LIMITS.folderEntries.value} files and folders, where each one below a link counts `
  + `tenfold; pass fewer folders, or exclude some with --ignore or in ${IGNORE_FILE}`;
/** Links that lead to each other make exponentially many paths, of which each takes some KiB. */
const LINKED_WEIGHT = 10;

class Walk implements FileListing {
  readonly files: ManifestFile[] = [];
  readonly faults: InputFault[] = [];
  readonly ignored: string[] = [];
  readonly gitIgnored: string[] = [];
  readonly #options: WalkOptions;

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  get given(): GivenFolders {
    return this.#options.given;
  }

  async add(path: string, ignore: readonly string[]): Promise<void> {
    if (path === STDIN) {
      this.files.push({ path, fingerprint: "", place: "given" });
      return;
    }
    const stats = await this.#attempt(path, () => stat(path, { bigint: true }));
    if (stats?.isDirectory() === true) await this.#root(path, ignore);
    else if (stats !== null) this.#file(path, stats, "given");
  }

  /**
   * Adds the files of a folder. Sorts the complete paths by code unit, so that the order is the same on every machine.
   */
  async #root(path: string, ignore: readonly string[]): Promise<void> {
    const walk = new Walk(this.#options);
    // A folder without a real path causes a fault below.
    const gitPath = await realpath(path).catch(() => path);
    const git = this.#options.gitIgnore ? await gitRulesAbove(gitPath) : null;
    const rules = IgnoreRules.of(ignore, path);
    await walk.#descend({ path, parents: [], rules, git, gitPath, place: "folder", isLinked: false });
    for (const file of walk.files.toSorted((a, b) => compareText(a.path, b.path))) this.files.push(file);
    for (const fault of walk.faults.toSorted((a, b) => compareText(a.file, b.file))) this.faults.push(fault);
    for (const ignored of walk.ignored.toSorted(compareText)) this.ignored.push(ignored);
    for (const ignored of walk.gitIgnored.toSorted(compareText)) this.gitIgnored.push(ignored);
    if (this.#isFull) this.#fault(path, TOO_MANY);
  }

  get #isFull(): boolean {
    return this.#options.entries.weight > LIMITS.folderEntries.value;
  }

  async #descend(folder: Folder): Promise<void> {
    const { path, parents, gitPath, place, isLinked } = folder;
    if (this.#isFull) return;
    const real = await this.#attempt(path, () => realpath(path));
    if (real === null) return;
    if (!this.given.contains(real)) {
      this.#fault(path, LEADS_OUT);
      return;
    }
    // A link to a folder that is being read adds no file.
    if (parents.includes(real)) return;
    if (parents.length > LIMITS.folderLevels.value) {
      this.#fault(path, `nested deeper than ${LIMITS.folderLevels.value} folders; move or ignore it`);
      return;
    }
    const entries = await this.#attempt(path, () => readdir(path, { withFileTypes: true })) ?? [];
    this.#options.entries.weight += entries.length * (isLinked ? LINKED_WEIGHT : 1);
    if (this.#isFull) return;
    const names = new Set(entries.map(({ name }) => name));
    const rules = names.has(IGNORE_FILE) ? await this.#withFile(folder.rules, IGNORE_FILE, path, path) : folder.rules;
    const git = await this.#gitRules(folder, names);
    const child = { parents: [...parents, real], rules, git };
    await Promise.all(entries.map(async (entry) => {
      if (entry.name.startsWith(".")) return;
      const isTemplates = names.has("Chart.yaml") && entry.name === "templates";
      const placeOfChild = isTemplates ? "chart-templates" : place;
      const paths = { path: join(path, entry.name), gitPath: join(gitPath, entry.name) };
      const ofChild = { place: placeOfChild, isLinked: isLinked || entry.isSymbolicLink() };
      await this.#entry(entry, { ...child, ...paths, ...ofChild });
    }));
  }

  /** Returns the rules of Git in a folder, in which a checkout may start. */
  async #gitRules({ path, git, gitPath }: Folder, names: ReadonlySet<string>): Promise<IgnoreRules | null> {
    const rules = this.#options.gitIgnore && names.has(GIT) ? IgnoreRules.none : git;
    if (rules === null || !names.has(GIT_IGNORE_FILE)) return rules;
    return await this.#withFile(rules, GIT_IGNORE_FILE, path, gitPath);
  }

  async #withFile(rules: IgnoreRules, name: string, folder: string, base: string): Promise<IgnoreRules> {
    const file = join(folder, name);
    return await this.#attempt(file, () => rules.withFile(file, base, this.given)) ?? rules;
  }

  /** Adds an entry of a folder. `as` describes the entry as a folder. */
  async #entry(entry: Dirent, as: Folder): Promise<void> {
    const { path, gitPath, rules, git } = as;
    if (entry.isFile() && !MANIFEST.test(path)) return;
    const verdict = rules.verdict(path, entry.isDirectory());
    const ofGit = verdict === null && git !== null ? git.verdict(gitPath, entry.isDirectory()) : null;
    if (verdict === true) this.ignored.push(path);
    else if (ofGit === true) this.gitIgnored.push(path);
    else if (entry.isFile() && !this.#options.fingerprints) this.files.push({ path, fingerprint: "", place: as.place });
    else await this.#child(entry, as);
  }

  /** Adds a folder, a file, or the target of a symbolic link. */
  async #child(entry: Dirent, as: Folder): Promise<void> {
    const { path, rules, git, gitPath, place } = as;
    const stats = entry.isDirectory() ? null : await this.#attempt(path, () => stat(path, { bigint: true }));
    if (entry.isDirectory() || stats?.isDirectory() === true) {
      await this.#descend({ ...as, rules: rules.inside(path), git: git?.inside(gitPath) ?? null });
    } else if (stats !== null && MANIFEST.test(path)) {
      // Reading a named pipe would wait for its writer.
      if (stats.isFile()) this.#file(path, stats, place);
      else this.#fault(path, NOT_A_FILE);
    }
  }

  #file(path: string, { ino, size, mtimeNs }: BigIntStats, place: ManifestFile["place"]): void {
    this.files.push({ path, fingerprint: `${ino}/${size}/${mtimeNs}`, place });
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

/**
 * Joins folder and name with `/`. Does not normalize the folder, so that a user can paste a printed path into a
 * command.
 */
function join(folder: string, name: string): string {
  return folder.endsWith("/") ? `${folder}${name}` : `${folder}/${name}`;
}
