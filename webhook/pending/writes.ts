import type { Inventory } from "../../shared/decisions/inventory/inventory.ts";
import { type JsonObject, stringAt } from "../../shared/decisions/kubernetes/json.ts";
import { LIMITS } from "../../shared/decisions/limits.ts";
import { NO_CHANGES, type PendingChanges } from "../../shared/decisions/resolution/change-set.ts";
import type { Clock } from "../../shared/inventory/clock.ts";
import type { InventorySource } from "../../shared/inventory/source.ts";
import type { FetchedObject, ObjectFetcher } from "../object-fetch.ts";

/**
 * The time after the admission of an unverified change, in ms, for which reviews wait until the API server has stored
 * the change.
 */
export const CONFIRMATION_MS = 500;
const POLL_MS = 25;
/** An admitted change of an object that the inventory does not contain yet. */
export interface PendingWrite<T> {
  readonly sequence: number;
  readonly name: string;
  readonly isDeletion: boolean;
  /** The object after the change. Null if the object is deleted or has no effect. */
  readonly value: T | null;
  readonly admittedMs: number;
  /** The resource version in the inventory when the change was admitted. */
  readonly baseVersion: string | null;
}

/** A cluster-scoped kind whose admitted changes are stored. */
export interface PendingKind<T> {
  /** Returns the resource version in the inventory; undefined if the inventory does not contain the object. */
  readonly versionIn: (inventory: Inventory, name: string) => string | null | undefined;
  /** Reads an object of the API server. `value` is null if the object has no effect. */
  readonly read: (object: JsonObject) => { readonly value: T | null; readonly resourceVersion: string | null };
}

/**
 * The pending writes with which a review runs its checks. `certain` contains the changes that the API server has
 * stored. `possible` also contains the changes that the API server will probably store. The reviewed request must be
 * valid with `certain` and also with `possible`.
 */
export interface ConfirmedWrites<T> {
  readonly certain: PendingChanges<T>;
  readonly possible: PendingChanges<T>;
}

interface PendingWritePorts<T> {
  readonly source: Pick<InventorySource, "inventory">;
  readonly kind: PendingKind<T>;
  readonly clock: Pick<Clock, "schedule">;
  readonly monotonicMs: () => number;
  /** Fetches an object from the API server; null if the inventory consists of manifests. */
  readonly fetchObject: ObjectFetcher | null;
  /** Whether the webhook verifies client certificates, so that each review comes from the API server. */
  readonly isVerified: boolean;
}

/**
 * Stores each change of the kind that this replica admitted, for 5 s or until the watch delivers the change.
 * Without verified client certificates, any client can send reviews of changes that never happen. Such a change counts
 * only if the API server has stored the change.
 */
export class PendingWrites<T> {
  readonly #ports: PendingWritePorts<T>;
  #writes: PendingWrite<T>[] = [];
  #sequence = 0;
  #delivered = 0;

  constructor(ports: PendingWritePorts<T>) {
    this.#ports = ports;
  }

  add(change: Pick<PendingWrite<T>, "name" | "isDeletion" | "value">): void {
    this.#prune();
    if (this.#writes.length >= LIMITS.pendingWrites.value) this.#writes.shift();
    const { monotonicMs } = this.#ports;
    const baseVersion = this.#versionOf(change.name) ?? null;
    this.#writes.push({ ...change, sequence: ++this.#sequence, admittedMs: monotonicMs(), baseVersion });
  }

  /** The number of pending writes that the watch has delivered to the inventory. */
  get delivered(): number {
    this.#prune();
    return this.#delivered;
  }

  /** Returns the pending writes of all objects, oldest first. */
  all(): readonly PendingWrite<T>[] {
    this.#prune();
    return this.#writes;
  }

  /**
   * Determines which writes the API server has stored. If client certificates are not verified, waits until each write
   * is stored, but at most until `endMs`. Never rejects.
   */
  async confirm(writes: readonly PendingWrite<T>[], endMs: number): Promise<ConfirmedWrites<T>> {
    const { fetchObject, isVerified } = this.#ports;
    const latest = [...new Map(writes.map((write) => [write.name, write])).values()];
    if (fetchObject === null) {
      return { certain: NO_CHANGES, possible: changesOf(latest.filter(({ isDeletion }) => !isDeletion)) };
    }
    if (!isVerified) {
      const certain = await this.#untilStored(latest, fetchObject, endMs);
      return { certain, possible: certain };
    }
    const deletions = latest.filter(({ isDeletion }) => isDeletion);
    const { changes: certain } = await this.#fetchAll(deletions, fetchObject);
    return { certain, possible: merge(changesOf(latest), certain) };
  }

  /**
   * Fetches the objects repeatedly until the API server has stored each write. Gives up on a write 500 ms after its
   * admission.
   */
  async #untilStored(
    writes: readonly PendingWrite<T>[], fetchObject: ObjectFetcher, endMs: number,
  ): Promise<PendingChanges<T>> {
    const { clock, monotonicMs } = this.#ports;
    const { changes, stored } = await this.#fetchAll(writes, fetchObject);
    const nowMs = monotonicMs();
    const open = writes.filter((write) => (
      !stored.has(write) && !this.#isDelivered(write) && nowMs < write.admittedMs + CONFIRMATION_MS
    ));
    if (open.length === 0 || nowMs >= endMs) return changes;
    await new Promise<void>((resolve) => void clock.schedule(POLL_MS, resolve));
    return merge(changes, await this.#untilStored(open, fetchObject, endMs));
  }

  async #fetchAll(
    writes: readonly PendingWrite<T>[], fetchObject: ObjectFetcher,
  ): Promise<{ readonly changes: PendingChanges<T>; readonly stored: ReadonlySet<PendingWrite<T>> }> {
    const names = [...new Set(writes.map(({ name }) => name))];
    const { promise: timedOut, resolve: stopWaiting } = Promise.withResolvers<FetchedObject>();
    const cancel = this.#ports.clock.schedule(CONFIRMATION_MS, () => stopWaiting("unknown"));
    const fetched = await Promise.all(names.map(async (name) => (
      [name, await Promise.race([fetchObject(name), timedOut])] as const
    )));
    cancel();
    const changes = { deletions: new Set<string>(), writes: new Map<string, T>() };
    for (const [name, object] of fetched) this.#addFetched(changes, name, object);
    const stored = writes.filter(({ name, isDeletion, value }) => (
      isDeletion || value === null ? changes.deletions.has(name) : changes.writes.has(name)
    ));
    return { changes, stored: new Set(stored) };
  }

  /**
   * Adds the fetched object to the changes if it is newer than the object in the inventory, or if it was deleted.
   */
  #addFetched(
    { deletions, writes }: { deletions: Set<string>; writes: Map<string, T> },
    name: string,
    object: FetchedObject,
  ): void {
    if (object === "unknown") return;
    if (object === "absent" || stringAt(object, "metadata", "deletionTimestamp") !== null) {
      deletions.add(name);
      return;
    }
    const { value, resourceVersion } = this.#ports.kind.read(object);
    if (!isNewer(resourceVersion, this.#versionOf(name) ?? null)) return;
    if (value === null) deletions.add(name);
    else writes.set(name, value);
  }

  /** Removes the writes that are older than 5 s or that the inventory contains. */
  #prune(): void {
    const oldestMs = this.#ports.monotonicMs() - LIMITS.pendingMs.value;
    const open = this.#writes.filter((write) => !this.#isDelivered(write));
    this.#delivered += this.#writes.length - open.length;
    this.#writes = open.filter(({ admittedMs }) => admittedMs > oldestMs);
  }

  #isDelivered({ name, isDeletion, baseVersion }: PendingWrite<T>): boolean {
    const version = this.#versionOf(name);
    return isNewer(version ?? null, baseVersion) || (isDeletion && version === undefined);
  }

  #versionOf(name: string): string | null | undefined {
    const { source: { inventory }, kind } = this.#ports;
    return kind.versionIn(inventory, name);
  }
}

/** Whether resource version `a` is newer than `b`. Resource versions are decimal numbers without leading zeros. */
function isNewer(a: string | null, b: string | null): boolean {
  if (a === null || b === null) return a !== null;
  return a.length === b.length ? a > b : a.length > b.length;
}

/** Converts the writes, each of which has a different name, to changes. */
function changesOf<T>(pending: readonly PendingWrite<T>[]): PendingChanges<T> {
  const deletions = new Set<string>();
  const writes = new Map<string, T>();
  for (const { name, value } of pending) {
    if (value === null) deletions.add(name);
    else writes.set(name, value);
  }
  return { deletions, writes };
}

/** Returns the changes of both lists. If both lists contain the same object, uses the change in `later`. */
function merge<T>(earlier: PendingChanges<T>, later: PendingChanges<T>): PendingChanges<T> {
  const remains = (name: string): boolean => !later.deletions.has(name) && !later.writes.has(name);
  return {
    deletions: new Set([...[...earlier.deletions].filter(remains), ...later.deletions]),
    writes: new Map([...[...earlier.writes].filter(([name]) => remains(name)), ...later.writes]),
  };
}
