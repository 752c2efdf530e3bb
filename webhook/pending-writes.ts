import type { CheckInput } from "../shared/decisions/checks/change.ts";
import type { Runtime } from "../shared/decisions/context.ts";
import type { Inventory } from "../shared/decisions/inventory/inventory.ts";
import { stringAt } from "../shared/decisions/kubernetes/json.ts";
import { LIMITS } from "../shared/decisions/limits.ts";
import { NO_CHANGES, type PendingChanges } from "../shared/decisions/resolution/change-set.ts";
import { decodeSelector } from "../shared/decisions/selectors/decode.ts";
import type { EffectiveSelector } from "../shared/decisions/selectors/effective.ts";
import { canOverlap } from "../shared/decisions/selectors/overlap.ts";
import type { Clock } from "../shared/inventory/clock.ts";
import type { InventorySource } from "../shared/inventory/source.ts";
import type { ReviewTime } from "./handler.ts";
import type { FetchedObject, ObjectFetcher } from "./object-fetch.ts";

/**
 * The time after the admission of an unverified change, in ms, for which reviews wait until the API server has stored
 * the change.
 */
const CONFIRMATION_MS = 500;
const POLL_MS = 25;
/** The time that a review reserves to run its checks, in ms. */
const RESERVED_MS = 1_000;

/** Returns the time until which a review waits for pending writes. */
export function confirmationEndMs({ monotonicMs, remainingMs }: ReviewTime): number {
  return monotonicMs() + Math.min(CONFIRMATION_MS, remainingMs() - RESERVED_MS);
}

/** An admitted change of an IAMRoleSelector that the inventory does not contain yet. */
export interface PendingWrite {
  readonly sequence: number;
  readonly name: string;
  readonly isDeletion: boolean;
  /** The selector after the change. Null if the selector is deleted or malformed. */
  readonly selector: EffectiveSelector | null;
  readonly admittedMs: number;
  /** The resource version in the inventory when the change was admitted. */
  readonly baseVersion: string | null;
}

/**
 * The selector in a review, before and after the reviewed change. A state is null if the selector does not exist or is
 * malformed.
 */
export interface ReviewedSelector {
  readonly name: string;
  readonly before: EffectiveSelector | null;
  readonly after: EffectiveSelector | null;
}

/**
 * The pending writes with which a review runs its checks. `certain` contains the changes that the API server has
 * stored. `possible` also contains the changes that the API server will probably store. The reviewed request must be
 * valid with `certain` and also with `possible`.
 */
export interface ConfirmedWrites {
  readonly certain: PendingChanges;
  readonly possible: PendingChanges;
}

export const NO_WRITES: ConfirmedWrites = { certain: NO_CHANGES, possible: NO_CHANGES };

export interface PendingWritePorts {
  readonly source: Pick<InventorySource, "inventory">;
  readonly runtime: Runtime;
  readonly clock: Pick<Clock, "schedule">;
  readonly monotonicMs: () => number;
  /** Fetches a selector from the API server; null if the inventory consists of manifests. */
  readonly fetchSelector: ObjectFetcher | null;
  /** Whether the webhook verifies client certificates, so that each review comes from the API server. */
  readonly isVerified: boolean;
}

/**
 * Stores each change of an IAMRoleSelector that this replica admitted, for 5 s or until the watch delivers the change.
 * Without verified client certificates, any client can send reviews of changes that never happen. Such a change counts
 * only if the API server has stored the change.
 */
export class PendingWrites {
  readonly #ports: PendingWritePorts;
  #writes: PendingWrite[] = [];
  #sequence = 0;

  constructor(ports: PendingWritePorts) {
    this.#ports = ports;
  }

  add(change: Pick<PendingWrite, "name" | "isDeletion" | "selector">): void {
    this.#prune();
    if (this.#writes.length >= LIMITS.pendingWrites.value) this.#writes.shift();
    const { source: { inventory }, monotonicMs } = this.#ports;
    const baseVersion = storedVersion(inventory, change.name);
    this.#writes.push({ ...change, sequence: ++this.#sequence, admittedMs: monotonicMs(), baseVersion });
  }

  /** Returns the pending writes of other selectors that can affect the checks of the selector, oldest first. */
  concerning({ name, before, after }: ReviewedSelector): readonly PendingWrite[] {
    this.#prune();
    const versions = [before, after].filter((version) => version !== null);
    return this.#writes.filter((write) => write.name !== name && this.#versionsOf(write).some((other) => (
      versions.some((one) => one.roleARN === other.roleARN || canOverlap(one, other))
    )));
  }

  /**
   * Determines which writes the API server has stored. If client certificates are not verified, waits until each write
   * is stored, but at most until `endMs`. Never rejects.
   */
  async confirm(writes: readonly PendingWrite[], endMs: number): Promise<ConfirmedWrites> {
    const { fetchSelector, isVerified } = this.#ports;
    const latest = [...new Map(writes.map((write) => [write.name, write])).values()];
    if (fetchSelector === null) {
      return { certain: NO_CHANGES, possible: changesOf(latest.filter(({ isDeletion }) => !isDeletion)) };
    }
    if (!isVerified) {
      const certain = await this.#untilStored(latest, fetchSelector, endMs);
      return { certain, possible: certain };
    }
    const deletions = latest.filter(({ isDeletion }) => isDeletion);
    const { changes: certain } = await this.#fetchAll(deletions, fetchSelector);
    return { certain, possible: merge(changesOf(latest), certain) };
  }

  /**
   * Fetches the selectors repeatedly until the API server has stored each write. Gives up on a write 500 ms after its
   * admission.
   */
  async #untilStored(
    writes: readonly PendingWrite[], fetchSelector: ObjectFetcher, endMs: number,
  ): Promise<PendingChanges> {
    const { clock, source: { inventory }, monotonicMs } = this.#ports;
    const { changes, stored } = await this.#fetchAll(writes, fetchSelector);
    const nowMs = monotonicMs();
    const open = writes.filter((write) => (
      !stored.has(write) && !isDelivered(inventory, write) && nowMs < write.admittedMs + CONFIRMATION_MS
    ));
    if (open.length === 0 || nowMs >= endMs) return changes;
    await new Promise<void>((resolve) => void clock.schedule(POLL_MS, resolve));
    return merge(changes, await this.#untilStored(open, fetchSelector, endMs));
  }

  async #fetchAll(
    writes: readonly PendingWrite[], fetchSelector: ObjectFetcher,
  ): Promise<{ readonly changes: PendingChanges; readonly stored: ReadonlySet<PendingWrite> }> {
    const names = [...new Set(writes.map(({ name }) => name))];
    const { promise: timedOut, resolve: stopWaiting } = Promise.withResolvers<FetchedObject>();
    const cancel = this.#ports.clock.schedule(CONFIRMATION_MS, () => stopWaiting("unknown"));
    const fetched = await Promise.all(names.map(async (name) => (
      [name, await Promise.race([fetchSelector(name), timedOut])] as const
    )));
    cancel();
    const changes = { deletions: new Set<string>(), writes: new Map<string, EffectiveSelector>() };
    for (const [name, object] of fetched) this.#addFetched(changes, name, object);
    const stored = writes.filter(({ name, isDeletion, selector }) => (
      isDeletion || selector === null ? changes.deletions.has(name) : changes.writes.has(name)
    ));
    return { changes, stored: new Set(stored) };
  }

  /**
   * Adds the fetched selector to the changes if it is newer than the selector in the inventory, or if it was deleted.
   */
  #addFetched(
    { deletions, writes }: { deletions: Set<string>; writes: Map<string, EffectiveSelector> },
    name: string,
    object: FetchedObject,
  ): void {
    if (object === "unknown") return;
    if (object === "absent" || stringAt(object, "metadata", "deletionTimestamp") !== null) {
      deletions.add(name);
      return;
    }
    const { source: { inventory }, runtime } = this.#ports;
    const { effective, spec } = decodeSelector(object, { origin: "cluster", runtime });
    if (!isNewer(spec.resourceVersion, storedVersion(inventory, name))) return;
    if (effective === null) deletions.add(name);
    else writes.set(name, effective);
  }

  /** Returns the selector in a pending write, before and after the write. */
  #versionsOf({ name, selector }: PendingWrite): EffectiveSelector[] {
    const stored = this.#ports.source.inventory.selectors.get(name);
    return [selector, stored].filter((version) => version !== null && version !== undefined);
  }

  /** Removes the writes that are older than 5 s or that the inventory contains. */
  #prune(): void {
    const { source: { inventory }, monotonicMs } = this.#ports;
    const oldestMs = monotonicMs() - LIMITS.pendingMs.value;
    this.#writes = this.#writes.filter((write) => write.admittedMs > oldestMs && !isDelivered(inventory, write));
  }
}

function isDelivered(inventory: Inventory, { name, isDeletion, baseVersion }: PendingWrite): boolean {
  const version = storedVersion(inventory, name);
  return isNewer(version, baseVersion) || (isDeletion && !isStored(inventory, name));
}

function isStored({ selectors }: Inventory, name: string): boolean {
  return selectors.has(name) || selectors.malformed.has(name);
}

function storedVersion({ selectors }: Inventory, name: string): string | null {
  return selectors.get(name)?.resourceVersion ?? selectors.malformed.get(name)?.spec.resourceVersion ?? null;
}

/** Whether resource version `a` is newer than `b`. Resource versions are decimal numbers without leading zeros. */
function isNewer(a: string | null, b: string | null): boolean {
  if (a === null || b === null) return a !== null;
  return a.length === b.length ? a > b : a.length > b.length;
}

/** Converts the writes, each of which has a different name, to changes. */
function changesOf(pending: readonly PendingWrite[]): PendingChanges {
  const deletions = new Set<string>();
  const writes = new Map<string, EffectiveSelector>();
  for (const { name, selector } of pending) {
    if (selector === null) deletions.add(name);
    else writes.set(name, selector);
  }
  return { deletions, writes };
}

/** Returns the changes of both lists. If both lists contain the same selector, uses the change in `later`. */
function merge(earlier: PendingChanges, later: PendingChanges): PendingChanges {
  const remains = (name: string): boolean => !later.deletions.has(name) && !later.writes.has(name);
  return {
    deletions: new Set([...[...earlier.deletions].filter(remains), ...later.deletions]),
    writes: new Map([...[...earlier.writes].filter(([name]) => remains(name)), ...later.writes]),
  };
}

/** Decodes the selector in a review, before and after the reviewed change. */
export function reviewedSelector({ object, old, operation }: CheckInput, runtime: Runtime): ReviewedSelector {
  const context = { origin: "cluster", runtime } as const;
  const { effective, name } = decodeSelector(object, context);
  if (operation === "DELETE") return { name, before: effective, after: null };
  return { name, before: old === null ? null : decodeSelector(old, context).effective, after: effective };
}
