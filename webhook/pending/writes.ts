import { NO_CHANGES, type PendingChanges } from "../../shared/core/pending-changes.ts";
import type { CheckResult } from "../../shared/core/run.ts";
import { type Clock, withTimeout } from "../../shared/core/clock.ts";
import { LIMITS } from "../../shared/core/limits.ts";
import { ResolverError } from "../../shared/formats/errors.ts";
import { type JsonObject, stringAt } from "../../shared/formats/json.ts";
import { sortedListOf } from "../../shared/formats/text.ts";
import type { FetchedObject, ObjectFetcher } from "../object-fetch.ts";
import {
  type Added, hasNoEffect, isDelivered, type ListedWrite, type PendingKind, type PendingStore, type Refusal,
  type ReviewedChange, writeOf,
} from "./list.ts";

/** The maximum time to fetch the objects whose deletion is pending, in ms. */
const FETCH_MS = 500;
/** The maximum number of objects that one review fetches, because a client may send forged deletions. */
const MAX_FETCHED = 16;

/** An admitted change of an object that the inventory does not contain yet. */
export interface PendingWrite<T> {
  readonly name: string;
  readonly isDeletion: boolean;
  /** The object after the change. Null if the object is deleted or has no effect. */
  readonly value: T | null;
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
export class PendingWrites<T> {
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

/**
 * Returns the states that the objects can have when the API server stores the writes. If several changes of one object
 * are pending, each of them is in one of the states. `stored` are changes that are certain.
 */
export function possibleStates<T>(
  writes: readonly PendingWrite<T>[], stored: PendingChanges<T> = NO_CHANGES,
): readonly PendingChanges<T>[] {
  const versions = [...Map.groupBy(writes, ({ name }) => name).values()];
  const length = Math.max(0, ...versions.map((ofObject) => ofObject.length));
  return Array.from({ length }, (_, i) => (
    stateOf(versions.flatMap((ofObject) => ofObject[i] ?? ofObject.at(-1) ?? []), stored)
  ));
}

/** Returns the state in which the writes, each of which has a different name, are stored. */
function stateOf<T>(latest: readonly PendingWrite<T>[], stored: PendingChanges<T>): PendingChanges<T> {
  const deletions = new Set(stored.deletions);
  const writes = new Map(stored.writes);
  for (const { name, value } of latest) {
    if (value === null) deletions.add(name);
    if (value === null) writes.delete(name);
    else writes.set(name, value);
  }
  return { deletions, writes };
}

/** Returns when a change can be sent again, such as `12 s`. */
function secondsText(ms: number): string {
  return `${Math.ceil(Math.min(ms, LIMITS.pendingMs.value) / 1000)} s`;
}

/** The maximum number of times that a review runs its checks because other reviews admitted changes meanwhile. */
const MAX_ROUNDS = 5;
/** When to send a change again that was compared too often, in ms: other reviews may have ended by then. */
const BUSY_MS = 1_000;

/** A review whose result depends on the pending writes of other objects. */
interface PendingReview<T> {
  readonly pendingWrites: PendingWrites<T>;
  /** Returns the pending writes that can affect the checks, in the same order. */
  readonly related: (writes: readonly PendingWrite<T>[]) => readonly PendingWrite<T>[];
  /** Runs the checks as if the changes were in the inventory. */
  readonly run: (changes: PendingChanges<T>) => Promise<CheckResult>;
  /** Returns the remaining time until the deadline of the response, in ms. */
  readonly remainingMs: () => number;
  /**
   * Waits until the inventory is known to be current. Returns true if the checks have to run again, because they may
   * have read an outdated inventory. Throws if the inventory may be outdated.
   */
  readonly update: () => Promise<boolean>;
  /** The reviewed change, which becomes a pending write if the checks admit it, unless it is a dry run. */
  readonly change: ReviewedChange;
  readonly isDryRun: boolean;
}

/**
 * Runs the checks also with the pending writes. Admits a change only if the inventory is current, and only in the step
 * that makes it a pending write, if no other review has admitted a related change since the checks started. Otherwise,
 * runs them again. Throws ERR_PENDING_WRITES if the change cannot become a pending write, or if other reviews admit
 * related changes all the time.
 */
export async function runChecksWithPending<T>(review: PendingReview<T>): Promise<CheckResult> {
  const { pendingWrites, related, remainingMs, update, change, isDryRun } = review;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { sequence } = pendingWrites;
    // The rounds are sequential.
    // oxlint-disable-next-line no-await-in-loop
    const result = await runInStates(review);
    if (result.denied) return result;
    // oxlint-disable-next-line no-await-in-loop
    if (pendingWrites.hasEffect(change) && await update()) continue;
    if (isDryRun) return result;
    const isCurrent = (): boolean => {
      const added = pendingWrites.since(sequence);
      return added !== null && related(added).length === 0;
    };
    // oxlint-disable-next-line no-await-in-loop
    const added = await pendingWrites.add(change, isCurrent, remainingMs);
    if (added === "added") return result;
    if (added !== "outdated") throw refusalError(added);
  }
  throw refusalError({ reason: "other changes that can conflict with it keep arriving", retryMs: BUSY_MS });
}

function refusalError({ reason, retryMs }: Refusal): ResolverError {
  const message = `The change cannot be compared with those that are pending: ${reason}. Apply it again in `;
  return new ResolverError("ERR_PENDING_WRITES", `${message}${secondsText(Math.max(retryMs, BUSY_MS))}.`);
}

/** Runs the checks in each state that the other objects can have. Returns the first result that denies. */
async function runInStates<T>(review: PendingReview<T>): Promise<CheckResult> {
  const { pendingWrites, related, run } = review;
  // Reads the pending writes first: a write that is delivered while the checks run may not be in what they have read.
  const { stored, open } = await pendingWrites.confirm(related(pendingWrites.all()));
  const result = await run(stored);
  if (result.denied) return result;
  for (const state of possibleStates(open, stored)) {
    // The first denial ends the loop.
    // oxlint-disable-next-line no-await-in-loop
    const possible = await run(state);
    if (possible.denied) return withRetry(possible, open, pendingWrites.remainingMs(open));
  }
  return result;
}

/** Replaces the fix of each denial: only a change that is not stored yet, and may never be, causes it. */
function withRetry<T>(result: CheckResult, writes: readonly PendingWrite<T>[], retryMs: number): CheckResult {
  const names = [...new Set(writes.map(({ name }) => name))];
  const subject = `${sortedListOf(names)} ${names.length === 1 ? "is" : "are"}`;
  const fix = `apply it again in ${secondsText(retryMs)}: ${subject} being changed at the same time`;
  const findings = result.findings.map((one) => (one.severity === "deny" ? { ...one, fix } : one));
  return { ...result, findings };
}
