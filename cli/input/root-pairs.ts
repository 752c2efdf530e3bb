import type { Manifest } from "../../shared/files/manifest-reader.ts";
import { foldersOfRoot, relativeRoot, Roots } from "../../shared/files/roots.ts";
import { inventoryOf, type State, type States } from "./state.ts";

interface Change {
  readonly paths: readonly string[];
  readonly manifests: readonly Manifest[];
  readonly roots: Roots | null;
}

/** The state of a root, and the manifests that are applied to it. */
export interface RootPair {
  readonly state: State;
  readonly manifests: readonly Manifest[];
}

/**
 * Returns each root that manifests change, with these manifests and those that are in no root. Roots of the state and
 * of the change are the same if their paths in the given folders are the same, so that checkouts can be compared.
 */
export function rootPairs({ paths, manifests, roots }: Change, states: States, from: readonly string[]): RootPair[] {
  const [first] = states;
  const known = new Map(states.flatMap((state) => (
    state.root === null ? [] : [[relativeRoot(state.root, from), state] as const]
  )));
  const keys = new Set([...known.keys(), ...(roots?.names ?? []).map((name) => relativeRoot(name, paths))]);
  if (keys.size === 0) return [{ state: first, manifests }];
  const files = new Set(manifests.map(({ file }) => file));
  const folders = [...paths.filter((path) => !files.has(path)), ...from];
  const foldersOf = (key: string): string[] => foldersOfRoot(key, folders);
  const split = new Roots([...keys].flatMap(foldersOf));
  const pairs = Array.from(keys, (key) => ({
    state: known.get(key) ?? { ...(known.size === 0 ? first : sharedState(states)), root: key },
    manifests: split.itemsOf(foldersOf(key), manifests),
  }));
  return pairs.filter((pair) => pair.manifests.length > 0);
}

/** Returns the state of a root that does not exist yet: the objects that all roots share. */
function sharedState(states: States): State {
  const [first, ...others] = states;
  const sets = others.map(({ objects }) => new Set(objects));
  const objects = first.objects.filter((one) => sets.every((set) => set.has(one)));
  const { runtime, origin } = first.inventory;
  return { ...first, objects, inventory: inventoryOf(objects.map(({ object }) => object), { runtime, origin }) };
}
