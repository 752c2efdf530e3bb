import { randomUUID } from "node:crypto";
import { isNewer, newest } from "../../shared/api/watched-kind.ts";
import type { SteadyClock } from "../../shared/core/clock.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { field, isJsonObject, type JsonObject, parseJSON, stringAt } from "../../shared/formats/json.ts";
import type { ObjectState, PendingKind } from "../../shared/core/review-needs.ts";
import type { InventorySource } from "../../shared/sources/source.ts";

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

/** Whether later reviews see no difference between the changed object and the one that it replaces. */
export function hasNoEffect(
  kind: PendingKind, { object, old, isDeletion }: ReviewedChange): boolean {
  return !isDeletion && old !== null && JSON.stringify(kind.reduce(old)) === JSON.stringify(kind.reduce(object));
}

/**
 * Returns the write of a change, and the value of its object, which later reviews compare. The effect of a large object
 * is extended until the object is small.
 */
export function writeOf<T>(
  kind: PendingKind<T>, { object, old, isDeletion }: ReviewedChange,
): { readonly write: SharedWrite; readonly value: T | null } {
  const replaced = isDeletion ? object : old;
  const { small, value } = isDeletion ? NO_EFFECT : effectOf(kind, object);
  const write = {
    kind: kind.kind,
    name: stringAt(object, "metadata", "name") ?? "",
    isDeletion,
    uid: stringAt(object, "metadata", "uid"),
    base: replaced === null ? null : stringAt(replaced, "metadata", "resourceVersion") ?? "0",
    object: small,
  };
  return { write, value };
}

const NO_EFFECT = { small: null, value: null };

function effectOf<T>(
  kind: PendingKind<T>, object: JsonObject,
): { readonly small: JsonObject | null; readonly value: T | null } {
  const value = kind.read(object);
  if (value === null) return NO_EFFECT;
  const reduced = kind.reduce(object);
  if (JSON.stringify(reduced).length <= LIMITS.pendingWriteCharacters.value) return { small: reduced, value };
  const wide = kind.widen(reduced);
  return { small: wide, value: kind.read(wide) };
}

/** Whether both writes store the same object, and both create it or both change it. */
function isSameWrite(a: SharedWrite, b: SharedWrite): boolean {
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

/** A pending write, which this replica or another one admitted. */
export interface ListedWrite extends SharedWrite {
  readonly id: string;
  /** Increases with each write that the list receives. */
  readonly sequence: number;
  /**
   * The time at which this replica first saw the write, in ms of a monotonic clock. It is never earlier than the
   * admission. Replicas exchange no times, because their clocks differ.
   */
  readonly seenMs: number;
  readonly characters: number;
}

/** Why a change cannot be admitted now, as a clause, and after which time it may be, in ms. */
export interface Refusal {
  readonly reason: string;
  readonly retryMs: number;
}

/** The result of adding a write: `outdated` if the caller must compare its change with newer writes first. */
export type Added = "added" | "outdated" | Refusal;

interface ListPorts {
  readonly source: Pick<InventorySource, "inventory" | "onChange" | "positionOf">;
  readonly kinds: readonly PendingKind[];
  readonly clock: Pick<SteadyClock, "steady">;
}

/** The number of delivered writes that are kept, because reviews that run meanwhile compare themselves with them. */
const MAX_DELIVERED = 256;
/** The number of different changes of one object. Each adds a run of the checks to the review of another object. */
const MAX_VERSIONS = 4;

/**
 * The admitted changes that the inventory does not contain yet. A change is pending until the watch delivers it, or
 * until the API server cannot store it anymore. A later webhook may deny the change, which this webhook cannot see.
 */
export class PendingList {
  readonly #ports: ListPorts;
  readonly #kinds: ReadonlyMap<string, PendingKind>;
  #pending: ListedWrite[] = [];
  #delivered: ListedWrite[] = [];
  #sequence = 0;
  /** The sequence of the newest delivered write that is not kept anymore. */
  #forgotten = 0;
  /** For each kind, the newest version of a delivered write. */
  readonly #versions = new Map<string, string>();
  #stopListening: (() => void) | null = null;

  constructor(ports: ListPorts) {
    this.#ports = ports;
    this.#kinds = new Map(ports.kinds.map((kind) => [kind.kind, kind]));
  }

  /** The sequence of the newest write. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Returns the pending writes of a kind, oldest first. */
  ofKind(kind: string): readonly ListedWrite[] {
    this.#prune();
    return this.#pending.filter((write) => write.kind === kind);
  }

  /** Returns the writes of a kind that were added after `sequence`, also delivered ones; null if some are unknown. */
  since(sequence: number, kind: string): readonly ListedWrite[] | null {
    this.#prune();
    if (this.#forgotten > sequence) return null;
    const all = [...this.#delivered, ...this.#pending];
    return all.filter((write) => write.sequence > sequence && write.kind === kind);
  }

  get versions(): ReadonlyMap<string, string> {
    return this.#versions;
  }

  all(): readonly ListedWrite[] {
    this.#prune();
    return this.#pending;
  }

  /** Returns the time until the last of the writes expires, in ms. */
  remainingMs(writes: readonly ListedWrite[]): number {
    const endMs = Math.max(...writes.map(({ seenMs }) => seenMs)) + LIMITS.pendingMs.value;
    return Math.max(0, endMs - this.#ports.clock.steady());
  }

  /** Returns the pending writes without those that the new write makes superfluous. */
  without(write: SharedWrite): readonly ListedWrite[] {
    return this.all().filter((other) => !isSameWrite(other, write));
  }

  /** Returns why the write cannot be added; null if it can. */
  excess(write: SharedWrite): Refusal | null {
    const others = this.without(write);
    const ofObject = others.filter(({ kind, name }) => kind === write.kind && name === write.name);
    if (ofObject.length >= MAX_VERSIONS) {
      const reason = `${MAX_VERSIONS} different changes of ${write.name} are pending, which is the limit`;
      return this.#refusal(reason, ofObject);
    }
    const size = others.reduce((sum, { characters }) => sum + characters, charactersOf(write));
    if (others.length < LIMITS.pendingWrites.value && size <= LIMITS.pendingCharacters.value) return null;
    return this.#refusal(`${others.length} changes of other objects are pending, which is the limit`, others);
  }

  #refusal(reason: string, writes: readonly ListedWrite[]): Refusal {
    return { reason, retryMs: writes.length === 0 ? 0 : this.remainingMs(writes.slice(0, 1)) };
  }

  add(write: SharedWrite, id: string = randomUUID()): void {
    const [others, same] = [this.without(write), this.all().filter((other) => isSameWrite(other, write))];
    // The API server may still store the later one of two equal updates.
    const base = newest([write.base, ...same.map((other) => other.base)]);
    this.#pending = [...others, {
      ...write, base, id, sequence: ++this.#sequence, seenMs: this.#ports.clock.steady(),
      characters: charactersOf(write),
    }];
    // Without this listener, an object that is created and deleted between two reviews would not count as delivered.
    this.#stopListening ??= this.#ports.source.onChange(() => this.#prune());
  }

  /**
   * Makes `since` return null for all earlier sequences: a write that the list never contained may have been delivered.
   */
  forget(): void {
    this.#forgotten = ++this.#sequence;
  }

  /** Removes the writes that have expired or that the inventory contains. */
  #prune(): void {
    if (this.#pending.length === 0) return;
    const oldestMs = this.#ports.clock.steady() - LIMITS.pendingMs.value;
    const delivered = this.#pending.filter((write) => this.#deliver(write));
    if (delivered.length === 0 && this.#pending.every(({ seenMs }) => seenMs > oldestMs)) return;
    const ended = new Set(delivered);
    this.#pending = this.#pending.filter((write) => write.seenMs > oldestMs && !ended.has(write));
    const kept = [...this.#delivered, ...delivered].toSorted((a, b) => a.sequence - b.sequence);
    this.#forgotten = kept.at(-MAX_DELIVERED - 1)?.sequence ?? this.#forgotten;
    this.#delivered = kept.slice(-MAX_DELIVERED).filter(({ seenMs }) => seenMs > oldestMs);
    if (this.#pending.length > 0) return;
    this.#stopListening?.();
    this.#stopListening = null;
  }

  /** Returns whether the inventory contains the write. */
  #deliver(write: ListedWrite): boolean {
    const { source } = this.#ports;
    const state = this.#kinds.get(write.kind)?.stateIn(source.inventory, write.name);
    if (!isDelivered(write, state, source.positionOf(write.kind))) return false;
    const version = newest([this.#versions.get(write.kind) ?? null, state?.resourceVersion ?? write.base]);
    if (version !== null) this.#versions.set(write.kind, version);
    return true;
  }
}

function charactersOf(write: SharedWrite): number {
  return JSON.stringify(write).length;
}

/** Where a review records the change that it admits. */
export interface PendingStore {
  readonly list: PendingList;
  /** Adds the write if `isCurrent` returns true in the same step. Never rejects. */
  readonly add: (write: SharedWrite, isCurrent: () => boolean, remainingMs: () => number) => Promise<Added>;
}

/** Returns a store of the changes that this process admits. It is sufficient if the webhook has one replica. */
export function inProcess(list: PendingList): PendingStore {
  return {
    list,
    add: async (write, isCurrent) => {
      if (!isCurrent()) return "outdated";
      const refusal = list.excess(write);
      if (refusal === null) list.add(write);
      return refusal ?? "added";
    },
  };
}
