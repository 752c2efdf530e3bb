import { Inventory, type InventoryContext } from "../../decisions/inventory/inventory.ts";
import type { JsonObject } from "../../decisions/kubernetes/json.ts";
import { type Paced, paced } from "../../decisions/paced.ts";
import { areEqualCopies } from "./duplicates.ts";
import { objectKey } from "./object-key.ts";
import type { Manifest } from "./reader.ts";

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

/** Returns a new inventory of the objects. Pauses between objects. */
export function* inventoryOf({ objects }: Snapshot, context: InventoryContext): Paced<Inventory> {
  const inventory = new Inventory(context);
  yield* paced(objects.values(), 1, ({ object }) => {
    inventory.apply([{ type: "put", object }]);
    return true;
  });
  return inventory;
}
