import { type Clock, withTimeout } from "../../shared/core/clock.ts";
import { type NamedChange, NO_CHANGES, type PendingChanges } from "../../shared/core/pending-changes.ts";
import type { CheckInput } from "../../shared/core/check.ts";
import type { Inventory } from "../../shared/core/inventory.ts";
import type { Comparison, PendingKind } from "../../shared/core/review-needs.ts";
import { type JsonObject, stringAt } from "../../shared/formats/json.ts";
import type { FetchedObject, ObjectFetcher } from "../object-fetch.ts";
import {
  type Added, hasNoEffect, isDelivered, type ListedWrite, type PendingStore, type ReviewedChange, writeOf,
} from "./list.ts";

/** The maximum time to fetch the objects whose deletion is pending, in ms. */
const FETCH_MS = 500;
/** The maximum number of objects that one review fetches, because a client may send forged deletions. */
const MAX_FETCHED = 16;

/** An admitted change of an object that the inventory does not contain yet. */
export interface PendingWrite<T = unknown> extends NamedChange<T> {
  readonly isDeletion: boolean;
  readonly listed: ListedWrite;
}

/** The changes that the API server has stored, and the writes that it may still store. */
interface Confirmed<T> {
  readonly stored: PendingChanges<T>;
  readonly open: readonly PendingWrite<T>[];
}

interface PendingWritePorts<T> {
  readonly store: PendingStore;
  readonly kind: PendingKind<T>;
  readonly clock: Pick<Clock, "schedule">;
  /** Fetches an object from the API server; null if the inventory consists of manifests. */
  readonly fetchObject: ObjectFetcher | null;
}

/**
 * The pending writes of one kind. Each one counts, whether the API server or another client sent its review, because
 * the webhook cannot know in time which of them the API server will store.
 */
export class PendingWrites<T = unknown> {
  readonly #ports: PendingWritePorts<T>;
  readonly #values = new WeakMap<ListedWrite, PendingWrite<T>>();
  /** The values of the objects in writes of this replica, which have been read already. */
  readonly #read = new WeakMap<JsonObject, T | null>();

  constructor(ports: PendingWritePorts<T>) {
    this.#ports = ports;
  }

  /** The sequence of the newest write. Pass it to `since`. */
  get sequence(): number {
    return this.#ports.store.list.sequence;
  }

  /** Returns the pending writes, oldest first. */
  all(): readonly PendingWrite<T>[] {
    return this.#decoded(this.#ports.store.list.ofKind(this.#ports.kind.kind));
  }

  /** Returns the writes that were added after `sequence`, also those that were delivered; null if some are unknown. */
  since(sequence: number): readonly PendingWrite<T>[] | null {
    const added = this.#ports.store.list.since(sequence, this.#ports.kind.kind);
    return added === null ? null : this.#decoded(added);
  }

  /** Returns the time until the last of the writes expires, in ms. */
  remainingMs(writes: readonly PendingWrite<T>[]): number {
    return this.#ports.store.list.remainingMs(writes.map(({ listed }) => listed));
  }

  /** Returns how a change is compared with the pending ones; null if it cannot conflict with any. */
  compare(input: CheckInput, inventory: Inventory): Comparison<T> | null {
    return this.#ports.kind.compare(input, inventory);
  }

  /** Whether later reviews see a difference between the changed object and the one that it replaces. */
  hasEffect(change: ReviewedChange): boolean {
    return !hasNoEffect(this.#ports.kind, change);
  }

  /** Adds the change. A change without an effect is not added. */
  async add(change: ReviewedChange, isCurrent: () => boolean, remainingMs: () => number): Promise<Added> {
    const { store, kind } = this.#ports;
    // For example, an `apply` of the stored object. If the stored object changes meanwhile, another review follows.
    if (!this.hasEffect(change)) return isCurrent() ? "added" : "outdated";
    const { write, value } = writeOf(kind, change);
    if (write.object !== null) this.#read.set(write.object, value);
    return await store.add(write, isCurrent, remainingMs);
  }

  /**
   * Finds out which deletions the API server has executed: fetches the objects of the newest ones. Never rejects.
   */
  async confirm(writes: readonly PendingWrite<T>[]): Promise<Confirmed<T>> {
    const { fetchObject, clock } = this.#ports;
    const deleting = writes.filter(({ isDeletion }) => isDeletion);
    if (deleting.length === 0) return { stored: NO_CHANGES, open: writes };
    // Without an API server, no deletion is ever executed.
    if (fetchObject === null) return { stored: NO_CHANGES, open: writes.filter(({ isDeletion }) => !isDeletion) };
    const fetched = new Map<string, FetchedObject>();
    const names = [...new Set(deleting.map(({ name }) => name))].slice(-MAX_FETCHED);
    const fetches = Promise.all(names.map(async (name) => fetched.set(name, await fetchObject(name))));
    await withTimeout(clock, FETCH_MS, fetches, () => new Error("timeout")).catch(() => undefined);
    return this.#confirmed(writes, new Map(fetched));
  }

  #confirmed(writes: readonly PendingWrite<T>[], fetched: ReadonlyMap<string, FetchedObject>): Confirmed<T> {
    const [deletions, stored] = [new Set<string>(), new Map<string, T>()];
    for (const [name, object] of fetched) {
      const value = typeof object === "string" || isTerminating(object) ? null : this.#ports.kind.read(object);
      if (value !== null) stored.set(name, value);
      else if (object !== "unknown") deletions.add(name);
    }
    const open = writes.filter((write) => !hasEnded(write, fetched.get(write.name) ?? "unknown", writes));
    return { stored: { deletions, writes: stored }, open };
  }

  #decoded(listed: readonly ListedWrite[]): readonly PendingWrite<T>[] {
    return listed.map((write) => {
      const known = this.#values.get(write) ?? this.#decode(write);
      this.#values.set(write, known);
      return known;
    });
  }

  #decode(listed: ListedWrite): PendingWrite<T> {
    const { name, isDeletion, object } = listed;
    const value = object === null ? null : this.#read.get(object) ?? this.#ports.kind.read(object);
    return { name, isDeletion, value, listed };
  }
}

function isTerminating(object: JsonObject): boolean {
  return stringAt(object, "metadata", "deletionTimestamp") !== null;
}

/** Whether the API server has stored the write, or cannot store it anymore, judging by the object that it returned. */
function hasEnded<T>({ listed }: PendingWrite<T>, object: FetchedObject, all: readonly PendingWrite<T>[]): boolean {
  if (object === "unknown") return false;
  if (object !== "absent") {
    const [uid, resourceVersion] = ["uid", "resourceVersion"].map((key) => stringAt(object, "metadata", key));
    const state = { uid: uid ?? null, resourceVersion: resourceVersion ?? null };
    return isTerminating(object) ? listed.uid === state.uid : isDelivered(listed, state, null);
  }
  // The deleted object was stored, so its creation is over. Another object of this name may be about to be created.
  return all.some(({ name, isDeletion, listed: { uid } }) => isDeletion && name === listed.name && uid === listed.uid);
}
