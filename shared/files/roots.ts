import { normalize } from "node:path";

/**
 * Returns the folders that hold the same objects as a sibling folder, such as `clusters/dev` and `clusters/prod`. Each
 * group has the paths of the files that define one object. Two files in one folder are no reason to split it.
 */
export function siblingRoots(groups: Iterable<readonly string[]>): string[] {
  const roots = new Set<string>();
  for (const files of groups) addSiblings(files.map((file) => normalize(file).split("/")), 0, roots);
  return [...roots].toSorted();
}

/** Adds the folders in which the paths differ for the first time, and searches each of these folders. */
function addSiblings(paths: readonly (readonly string[])[], depth: number, roots: Set<string>): void {
  const inFolders = paths.filter((path) => depth < path.length - 1);
  const folders = Map.groupBy(inFolders, (path) => path.slice(0, depth + 1).join("/"));
  for (const [folder, members] of folders) {
    if (folders.size > 1) roots.add(folder);
    if (members.length > 1) addSiblings(members, depth + 1, roots);
  }
}

/** Returns the folders of the files that match a glob, in which `*` and `**` have the meaning of .gitignore. */
export function matchingRoots(files: readonly string[], given: readonly string[], glob: string): string[] {
  const pattern = patternOf(glob);
  const folders = new Set(files.flatMap(foldersOf));
  const bases = given.map((path) => normalize(`${path}/`));
  return [...folders].filter((folder) => {
    const relative = bases.filter((base) => folder.startsWith(base)).map((base) => folder.slice(base.length));
    const isGiven = bases.includes(`${folder}/`) && glob === ".";
    return isGiven || [folder, ...relative].some((path) => pattern.test(path));
  }).toSorted();
}

function foldersOf(file: string): string[] {
  const parts = normalize(file).split("/");
  return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join("/"));
}

function patternOf(glob: string): RegExp {
  const parts = normalize(glob).replace(/\/$/, "").split(/(\*\*\/?|\*|\?)/);
  const source = parts.map((part) => WILDCARDS.get(part) ?? part.replaceAll(/[$()+.[\\\]^{|}]/g, "\\$&"));
  return new RegExp(`^${source.join("")}$`);
}

const WILDCARDS: ReadonlyMap<string, string> = new Map([
  ["**/", "(?:[^/]+/)*"], ["**", ".*"], ["*", "[^/]*"], ["?", "[^/]"],
]);

/** Returns the path of a root relative to the given folder that contains it, so that two checkouts can be compared. */
export function relativeRoot(root: string, given: readonly string[]): string {
  const base = given.map((path) => normalize(`${path}/`)).find((one) => root.startsWith(one));
  return base === undefined ? root : root.slice(base.length);
}

/** Returns the folders of a relative root in the given folders. */
export function foldersOfRoot(relative: string, given: readonly string[]): string[] {
  return [relative, ...given.map((path) => normalize(`${path}/${relative}`))];
}

/** The folders whose objects are clusters of their own. A folder that contains other roots is shared by these. */
export class Roots {
  readonly #folders: ReadonlySet<string>;
  readonly #folderOf = new Map<string, string | undefined>();
  /** The roots that contain no other root. */
  readonly names: readonly string[];

  constructor(folders: readonly string[]) {
    this.#folders = new Set(folders);
    const parents = new Set(folders.flatMap(foldersOf));
    this.names = folders.filter((folder) => !parents.has(folder));
  }

  /** Returns the items of a root, which may have several folders: those of its files, and of files in no other root. */
  itemsOf<Item extends { readonly file: string | null }>(root: readonly string[], items: readonly Item[]): Item[] {
    return items.filter(({ file }) => {
      const folder = file === null ? undefined : this.#rootFolderOf(file);
      return folder === undefined || root.some((name) => folder === name || name.startsWith(`${folder}/`));
    });
  }

  /** Returns the innermost folder of the file that is a root. */
  #rootFolderOf(file: string): string | undefined {
    if (!this.#folderOf.has(file)) {
      this.#folderOf.set(file, foldersOf(file).findLast((folder) => this.#folders.has(folder)));
    }
    return this.#folderOf.get(file);
  }
}
