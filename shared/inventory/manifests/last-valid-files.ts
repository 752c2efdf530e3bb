import { dirname } from "node:path";
import type { FileReading } from "./files.ts";
import type { FileListing } from "./listing.ts";
import type { Manifest } from "./reader.ts";

/** The last valid manifests of each file. */
export class LastValidFiles {
  #files: ReadonlyMap<string, readonly Manifest[]> = new Map();

  /**
   * Whether the file is skipped because it has no manifest and never had one. A file that had objects is invalid, so
   * that its objects remain in use. A template is invalid too, because it may contain objects.
   */
  skips({ path, skipped }: FileReading): boolean {
    if (skipped === null || skipped === "template" || skipped === "helm-template") return false;
    return (this.#files.get(path) ?? []).length === 0;
  }

  /**
   * Returns the manifests of all files, in the order of the listing. If a file is invalid, or the file or its folder
   * cannot be read, returns the last valid manifests of this file. A deleted file has no manifests.
   */
  update(listing: FileListing, readings: readonly FileReading[]): Manifest[] {
    const files = new Map<string, readonly Manifest[]>();
    for (const { path, manifests, faults } of readings) {
      files.set(path, faults.length === 0 ? manifests : this.#files.get(path) ?? []);
    }
    const unlisted = new Set(listing.faults.map(({ file }) => withoutSlash(file)));
    for (const [path, manifests] of unlisted.size === 0 ? [] : this.#files) {
      if (!files.has(path) && isUnder(path, unlisted)) files.set(path, manifests);
    }
    this.#files = files;
    return [...files.values()].flat();
  }
}

/** Returns true if the path or one of its parent folders is in the set. */
function isUnder(path: string, folders: ReadonlySet<string>): boolean {
  for (let at = path; ; at = dirname(at)) {
    if (folders.has(withoutSlash(at))) return true;
    if (dirname(at) === at) return false;
  }
}

function withoutSlash(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, "") : path;
}
