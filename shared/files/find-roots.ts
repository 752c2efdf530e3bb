import { drain } from "../formats/paced.ts";
import { duplicateFaults, duplicatesIn } from "./duplicates.ts";
import { formatInputFault, type InputFault, type Manifest } from "./manifest-reader.ts";
import { matchingRoots, Roots, siblingRoots } from "./roots.ts";

/** The largest number of roots. The objects outside all roots are judged in each of them. */
const MAX_ROOTS = 200;

/** Returns the roots of the files, and the faults of duplicates in each root and of globs that match no folder. */
export function findRoots(
  manifests: readonly Manifest[], paths: readonly string[], globs: readonly string[] | undefined,
): { readonly roots: Roots | null; readonly faults: readonly InputFault[] } {
  const duplicates = drain(duplicateFaults(manifests));
  const isOne = globs === undefined || (globs.length === 0 && duplicates.length === 0);
  if (isOne) return { roots: null, faults: duplicates };
  const files = manifests.map(({ file }) => file);
  const matches = globs.map((glob) => ({ glob, folders: matchingRoots(files, paths, glob) }));
  const unmatched = matches.filter(({ folders }) => folders.length === 0).map(({ glob }) => (
    { file: `--root ${glob}`, line: null, message: "matches no folder that contains objects" }
  ));
  const found = globs.length > 0
    ? matches.flatMap(({ folders }) => folders)
    : siblingRoots(drain(duplicatesIn(manifests)).map((group) => group.map(({ file }) => file)));
  const roots = new Roots(found);
  const number = roots.names.length;
  if (number < 2) return { roots: null, faults: [...unmatched, ...duplicates] };
  if (number > MAX_ROOTS) {
    const message = `contains ${number} roots, more than ${MAX_ROOTS}; pass fewer folders, or --root GLOB`;
    return { roots: null, faults: [{ file: paths.join(", "), line: null, message }, ...unmatched, ...duplicates] };
  }
  const faults = roots.names.flatMap((name) => drain(duplicateFaults(roots.itemsOf([name], manifests))));
  const byText = new Map(faults.map((fault) => [formatInputFault(fault), fault]));
  return { roots, faults: [...unmatched, ...byText.values()] };
}
