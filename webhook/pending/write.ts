import type { Inventory } from "../../shared/inventory/inventory.ts";
import { field, isJsonObject, type JsonObject, parseJSON, stringAt } from "../../shared/formats/json.ts";
import { LIMITS } from "../../shared/contract/limits.ts";
import { isNewer } from "../../shared/cluster/resource-version.ts";

/** An admitted change of an object, as replicas share it. */
export interface SharedWrite {
  readonly kind: string;
  readonly name: string;
  readonly isDeletion: boolean;
  /** The UID of the object. The API server chooses it before it calls webhooks, also for a new object. */
  readonly uid: string | null;
  /** The resource version of the object that the change replaces; null if the change creates the object. */
  readonly base: string | null;
  /** The fields that later reviews compare; null if the object is deleted or has no effect. */
  readonly object: JsonObject | null;
}

/** A change that a review admits. `object` is the whole object, also the deleted one. */
export interface ReviewedChange {
  readonly object: JsonObject;
  /** The object that an update replaces; else null. */
  readonly old: JsonObject | null;
  readonly isDeletion: boolean;
}

interface ObjectState {
  readonly uid: string | null;
  readonly resourceVersion: string | null;
}

/** A cluster-scoped kind whose admitted changes are stored. */
export interface PendingKind<T> {
  readonly kind: string;
  /** Returns the object in the inventory; undefined if the inventory does not contain it. */
  readonly stateIn: (inventory: Inventory, name: string) => ObjectState | undefined;
  /** Returns the value that reviews compare; null if the object has no effect. */
  readonly read: (object: JsonObject) => T | null;
  /** Returns the fields that `read` needs, and that are equal if a client sends the same object again. */
  readonly reduce: (object: JsonObject) => JsonObject;
  /** Returns fewer fields, for an object that is too large to be shared. Reviews then expect more conflicts. */
  readonly widen: (object: JsonObject) => JsonObject;
}

/** Whether later reviews see no difference between the changed object and the one that it replaces. */
export function hasNoEffect<T>({ reduce }: PendingKind<T>, { object, old, isDeletion }: ReviewedChange): boolean {
  return !isDeletion && old !== null && JSON.stringify(reduce(old)) === JSON.stringify(reduce(object));
}

/** Returns the write of a change. The effect of a large object is extended until the object is small. */
export function writeOf<T>(kind: PendingKind<T>, { object, old, isDeletion }: ReviewedChange): SharedWrite {
  const replaced = isDeletion ? object : old;
  return {
    kind: kind.kind,
    name: stringAt(object, "metadata", "name") ?? "",
    isDeletion,
    uid: stringAt(object, "metadata", "uid"),
    base: replaced === null ? null : stringAt(replaced, "metadata", "resourceVersion") ?? "0",
    object: isDeletion || kind.read(object) === null ? null : smallObject(kind, object),
  };
}

function smallObject<T>({ reduce, widen }: PendingKind<T>, object: JsonObject): JsonObject {
  const reduced = reduce(object);
  return JSON.stringify(reduced).length <= LIMITS.pendingWriteCharacters.value ? reduced : widen(reduced);
}

/** Whether both writes store the same object, and both create it or both change it. */
export function isSameWrite(a: SharedWrite, b: SharedWrite): boolean {
  return a.kind === b.kind && a.name === b.name && a.isDeletion === b.isDeletion
    && (a.base === null) === (b.base === null) && JSON.stringify(a.object) === JSON.stringify(b.object);
}

/** Returns the write in the text that `JSON.stringify` returned for it; null if the text is not a write. */
export function parseWrite(text: string): SharedWrite | null {
  if (text.length > 2 * LIMITS.pendingWriteCharacters.value) return null;
  const value = parseJSON(text);
  const [kind, name, isDeletion] = [stringAt(value, "kind"), stringAt(value, "name"), field(value, "isDeletion")];
  const object = field(value, "object") ?? null;
  if (kind === null || name === null || typeof isDeletion !== "boolean") return null;
  if (object !== null && !isJsonObject(object)) return null;
  return { kind, name, isDeletion, uid: stringAt(value, "uid"), base: stringAt(value, "base"), object };
}

/**
 * Whether the inventory contains the result of the write, or a later state of the object. An update or a deletion can
 * only replace the version that was reviewed: the API server sends another review if the object has changed. A creation
 * can be stored as long as the object does not exist, so only the UID shows that it was stored.
 * `position` is the resource version up to which the inventory contains all changes; null if it is unknown.
 */
export function isDelivered(
  { uid, base, isDeletion }: SharedWrite, state: ObjectState | undefined, position: string | null,
): boolean {
  if (state !== undefined) return base === null ? state.uid === uid : isNewer(state.resourceVersion, base);
  if (base === null) return false;
  return position === null ? isDeletion : !isNewer(base, position);
}
