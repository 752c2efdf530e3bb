import type { InventoryChange } from "../../decisions/inventory/inventory.ts";
import type { JsonObject } from "../../decisions/kubernetes/json.ts";
import { identityKey, identityOf, type ObjectIdentity } from "./identity.ts";
import type { Manifest } from "./reader.ts";

interface LoadedObject {
  readonly object: JsonObject;
  readonly identity: ObjectIdentity;
  /** The object as JSON text, which is compared to detect changes. */
  readonly text: string;
}

/** The manifests in use, and their objects by identity. */
export interface Snapshot {
  readonly manifests: readonly Manifest[];
  readonly objects: ReadonlyMap<string, LoadedObject>;
}

export const EMPTY_SNAPSHOT: Snapshot = { manifests: [], objects: new Map() };

/** Objects do not change, and unchanged files return the same objects again. */
const TEXTS = new WeakMap<JsonObject, string>();

/**
 * Returns the objects of the manifests. Excludes every object that two manifests define differently: which definition
 * applies is unknown, so the object must not grant a role.
 */
export function snapshotOf(manifests: readonly Manifest[]): Snapshot {
  const objects = new Map<string, LoadedObject>();
  const ambiguous = new Set<string>();
  const keys = manifests.map(({ object }) => {
    const identity = identityOf(object);
    if (identity === null) return null;
    const key = identityKey(identity);
    const text = textOf(object);
    const first = objects.get(key);
    if (first === undefined) objects.set(key, { object, identity, text });
    else if (first.text !== text) ambiguous.add(key);
    return key;
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

/** Returns the changes between two snapshots. Removals come first. */
export function differences({ objects: before }: Snapshot, { objects: after }: Snapshot): InventoryChange[] {
  const changes: InventoryChange[] = [];
  for (const [key, { identity }] of before) if (!after.has(key)) changes.push({ type: "remove", ...identity });
  for (const [key, { object, text }] of after)
    if (before.get(key)?.text !== text) changes.push({ type: "put", object });
  return changes;
}
