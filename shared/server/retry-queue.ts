import { Line } from "./line.ts";

/** The delay after the first, second, ... failed write, in ms. The last delay repeats. */
export const RETRY_MS: readonly number[] = [1_000, 30_000, 60_000, 120_000, 240_000, 480_000, 900_000];

/** An object to write. */
export interface QueuedWrite {
  readonly key: string;
  /** The keys of one flow are in the order in which they were added. The flows take turns. */
  readonly flow: string;
  /** The number of failed writes. */
  readonly failures: number;
}

interface Delayed {
  readonly write: QueuedWrite;
  readonly endMs: number;
}

/**
 * The keys of objects to write. A key is in the queue at most once. A flow of many keys does not delay another flow: a
 * new flow is next, and then the flows take turns. A key whose write failed waits, and does not delay the other keys.
 * All methods take constant time, apart from the keys whose delay has ended.
 */
export class RetryQueue {
  readonly #limit: number;
  readonly #keys = new Set<string>();
  /** The keys that can be written now, by their flow. */
  readonly #flows = new Map<string, Line<QueuedWrite>>();
  /** The flows of which no key was taken yet, and the others in the order of their turns. */
  readonly #newFlows = new Line<true>();
  readonly #turns = new Line<true>();
  /** For each delay of RETRY_MS, the waiting keys and the end of their delay. The first one ends first. */
  readonly #waiting: readonly Map<string, Delayed>[] = RETRY_MS.map(() => new Map());

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The number of keys in the queue. */
  get size(): number {
    return this.#keys.size;
  }

  /** The number of keys whose last write failed, and that wait for a retry. */
  get failing(): number {
    return this.#waiting.reduce((sum, { size }) => sum + size, 0);
  }

  /** Adds a key, unless the queue already contains it. A full queue ignores the key. */
  add(key: string, flow = ""): void {
    if (this.size >= this.#limit || this.#keys.has(key)) return;
    this.#keys.add(key);
    this.#ready({ key, flow, failures: 0 });
  }

  /** Removes and returns the next key; null if no key can be written at `nowMs`. */
  take(nowMs: number): QueuedWrite | null {
    this.#endDelays(nowMs);
    const [flow] = this.#newFlows.take() ?? this.#turns.take() ?? [""];
    const line = this.#flows.get(flow);
    const [, next] = line?.take() ?? [];
    if (line === undefined || next === undefined) return null;
    if (line.size === 0) this.#flows.delete(flow);
    else this.#turns.add(flow, true);
    this.#keys.delete(next.key);
    return next;
  }

  /** Adds a key again whose write failed. */
  retry({ key, flow, failures }: QueuedWrite, nowMs: number): void {
    const level = Math.min(failures, RETRY_MS.length - 1);
    const endMs = nowMs + (RETRY_MS[level] ?? 0);
    this.#keys.add(key);
    this.#waiting[level]?.set(key, { write: { key, flow, failures: failures + 1 }, endMs });
  }

  clear(): void {
    this.#keys.clear();
    this.#flows.clear();
    for (const part of [this.#newFlows, this.#turns, ...this.#waiting]) part.clear();
  }

  #ready(write: QueuedWrite): void {
    const { key, flow } = write;
    const line = this.#flows.get(flow) ?? new Line<QueuedWrite>();
    if (line.size === 0) {
      this.#flows.set(flow, line);
      this.#newFlows.add(flow, true);
    }
    line.add(key, write);
  }

  #endDelays(nowMs: number): void {
    for (const delayed of this.#waiting) {
      for (const [key, { write, endMs }] of delayed) {
        if (endMs > nowMs) break;
        delayed.delete(key);
        this.#ready(write);
      }
    }
  }
}
