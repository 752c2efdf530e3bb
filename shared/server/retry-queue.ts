/** The delay after the first, second, ... failed write, in ms. The last delay repeats. */
export const RETRY_MS: readonly number[] = [1_000, 30_000, 60_000, 120_000, 240_000, 480_000, 900_000];

/** An object to write. */
export interface QueuedWrite {
  readonly key: string;
  /** The number of failed writes. */
  readonly failures: number;
}

/**
 * The keys of objects to write, in the order in which they were added. A key is in the queue at most once. A key whose
 * write failed waits, and does not delay the other keys. All methods take constant time, apart from the keys whose
 * delay has ended.
 */
export class RetryQueue {
  readonly #limit: number;
  /** The number of failed writes of each key that can be written now. */
  readonly #ready = new Map<string, number>();
  /**
   * Continues where the last key was taken. An iterator that starts again visits the gaps of all deleted keys, so to
   * take every key would take quadratic time.
   */
  #order = this.#ready.entries();
  /** For each delay of RETRY_MS, the waiting keys and the end of their delay. The first one ends first. */
  readonly #waiting: readonly Map<string, { readonly failures: number; readonly endMs: number }>[] = (
    RETRY_MS.map(() => new Map())
  );

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The number of keys in the queue. */
  get size(): number {
    return this.#ready.size + this.failing;
  }

  /** The number of keys whose last write failed, and that wait for a retry. */
  get failing(): number {
    return this.#waiting.reduce((sum, { size }) => sum + size, 0);
  }

  /** Adds a key, unless the queue already contains it. A full queue ignores the key. */
  add(key: string): void {
    if (this.size >= this.#limit || this.#waiting.some((delayed) => delayed.has(key))) return;
    if (!this.#ready.has(key)) this.#ready.set(key, 0);
  }

  /** Removes and returns the next key; null if no key can be written at `nowMs`. */
  take(nowMs: number): QueuedWrite | null {
    this.#endDelays(nowMs);
    let next = this.#order.next();
    if (next.done === true) {
      this.#order = this.#ready.entries();
      next = this.#order.next();
    }
    if (next.done === true) return null;
    const [key, failures] = next.value;
    this.#ready.delete(key);
    return { key, failures };
  }

  /** Adds a key again whose write failed. */
  retry({ key, failures }: QueuedWrite, nowMs: number): void {
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
