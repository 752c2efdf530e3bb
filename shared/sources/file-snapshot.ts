import { dirname } from "node:path";
import type { JsonObject } from "../formats/json.ts";
import { paced, type Paced } from "../formats/paced.ts";
import type { Inventory } from "../core/inventory.ts";
import { areEqualCopies } from "../files/duplicates.ts";
import type { FileReading } from "../files/files.ts";
import type { FileListing } from "../files/listing.ts";
import { objectKey } from "../files/object-key.ts";
import type { Manifest } from "../files/manifest-reader.ts";

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

interface LoadedObject {
  readonly object: JsonObject;
  /** The object as JSON text, which is compared to detect changes. */
  readonly text: string;
}

/** The manifests in use, and their objects by key. */
export interface Snapshot {
  readonly manifests: readonly Manifest[];
  readonly objects: ReadonlyMap<string, LoadedObject>;
}

export const EMPTY_SNAPSHOT: Snapshot = { manifests: [], objects: new Map() };

/** Caches the JSON text of each object: objects do not change, and an unchanged file returns the same objects again. */
const TEXTS = new WeakMap<JsonObject, string>();

/**
 * Returns the objects of the manifests. Excludes every object that two manifests define differently: which definition
 * applies is unknown, so the object must not grant a role.
 */
export function* snapshotOf(manifests: readonly Manifest[]): Paced<Snapshot> {
  const objects = new Map<string, LoadedObject>();
  const ambiguous = new Set<string>();
  const keys: (string | null)[] = [];
  yield* paced(manifests, 1, ({ object }) => {
    const key = objectKey(object);
    keys.push(key);
    if (key === null) return true;
    const text = textOf(object);
    const first = objects.get(key);
    if (first === undefined) objects.set(key, { object, text });
    else if (first.text !== text && !areEqualCopies(first.object, object)) ambiguous.add(key);
    return true;
  });
  for (const key of ambiguous) objects.delete(key);
  const inUse = manifests.filter(({ object }, i) => {
    const key = keys[i] ?? null;
    return key === null || objects.get(key)?.object === object;
  });
  return { manifests: inUse, objects };
}

function textOf(object: JsonObject): string {
  const known = TEXTS.get(object);
  if (known !== undefined) return known;
  const text = JSON.stringify(object);
  TEXTS.set(object, text);
  return text;
}

/** Whether both snapshots contain the same objects. */
export function isSameState({ objects: before }: Snapshot, { objects: after }: Snapshot): boolean {
  if (before.size !== after.size) return false;
  for (const [key, { text }] of after) if (before.get(key)?.text !== text) return false;
  return true;
}

/** Adds the objects to a new inventory. Pauses between objects. */
export function* fillInventory(inventory: Inventory, { objects }: Snapshot): Paced<Inventory> {
  yield* paced(objects.values(), 1, ({ object }) => {
    inventory.apply([{ type: "put", object }]);
    return true;
  });
  return inventory;
}
