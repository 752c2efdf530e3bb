import { LIMITS } from "../../shared/decisions/limits.ts";

/** The delay after the first, second, ... failed write of a resource, in ms. The last delay repeats. */
export const RETRY_MS: readonly number[] = [1_000, 30_000, 60_000, 120_000, 240_000, 480_000, 900_000];

/** A resource to refresh. The key is the result of `resourceKey`. */
export interface QueuedRefresh {
  readonly key: string;
  /** The number of failed writes. */
  readonly failures: number;
}

/**
 * The resources whose annotations are stale, in the order in which they were found. A resource is in the queue at most
 * once. A resource whose write failed waits, and does not delay the other resources. All methods take constant time.
 */
export class RefreshQueue {
  /** The number of failed writes of each resource that can be refreshed now. */
  readonly #ready = new Map<string, number>();
  /** For each delay of RETRY_MS, the waiting resources and the end of their delay. The first one ends first. */
  readonly #waiting: readonly Map<string, { readonly failures: number; readonly endMs: number }>[] = (
    RETRY_MS.map(() => new Map())
  );

  /** The number of resources in the queue. */
  get size(): number {
    return this.#ready.size + this.failing;
  }

  /** The number of resources whose last write failed, and that wait for a retry. */
  get failing(): number {
    return this.#waiting.reduce((sum, { size }) => sum + size, 0);
  }

  /** Adds a resource, unless the queue already contains it. A full queue ignores it, and the next scan finds it. */
  add(key: string): void {
    if (this.size >= LIMITS.queuedRefreshes.value || this.#waiting.some((delayed) => delayed.has(key))) return;
    if (!this.#ready.has(key)) this.#ready.set(key, 0);
  }

  /** Removes and returns the next resource; null if no resource can be refreshed at `nowMs`. */
  take(nowMs: number): QueuedRefresh | null {
    this.#endDelays(nowMs);
    const [next] = this.#ready;
    if (next === undefined) return null;
    const [key, failures] = next;
    this.#ready.delete(key);
    return { key, failures };
  }

  /** Adds a resource again whose write failed. */
  retry({ key, failures }: QueuedRefresh, nowMs: number): void {
    const level = Math.min(failures, RETRY_MS.length - 1);
    const endMs = nowMs + (RETRY_MS[level] ?? 0);
    this.#waiting[level]?.set(key, { failures: failures + 1, endMs });
  }

  clear(): void {
    this.#ready.clear();
    for (const delayed of this.#waiting) delayed.clear();
  }

  #endDelays(nowMs: number): void {
    for (const delayed of this.#waiting) {
      for (const [key, { failures, endMs }] of delayed) {
        if (endMs > nowMs) break;
        delayed.delete(key);
        this.#ready.set(key, failures);
      }
    }
  }
}
