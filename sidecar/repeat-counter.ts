import type { SteadyClock } from "../shared/core/clock.ts";
import { BoundedMap } from "../shared/server/bounded-map.ts";

interface RepeatCounterOptions {
  /** With the wall clock, nothing new would be logged for some time after the wall clock was set back. */
  readonly clock: Pick<SteadyClock, "steady">;
  /** How long repeats are counted instead of logged, in ms. */
  readonly periodMs: number;
  /** The maximum number of subjects that have lines of their own. */
  readonly limit: number;
  /** The maximum number of lines about one subject within `periodMs` that differ in their state. */
  readonly maxStates: number;
}

/** What a line is about. A subject in a new state is not a repeat. */
export interface Subject {
  readonly key: string;
  readonly state: string;
}

/** A line and its repeats. */
export interface RepeatEntry {
  readonly untilMs: number;
  readonly state: string;
  /** The number of states that were logged in the current period. */
  readonly states: number;
  repeats: number;
}

/** Decides which lines are written and which are only counted, so that the next line can state their number. */
export class RepeatCounter {
  readonly #options: RepeatCounterOptions;
  /** The entries, in the order of their last line. */
  readonly #entries: BoundedMap<string, RepeatEntry>;

  constructor(options: RepeatCounterOptions) {
    this.#options = options;
    // Subjects that share an entry have room of their own.
    this.#entries = new BoundedMap(2 * options.limit);
  }

  /**
   * Returns the number of repeats since the last line about the subject, or null if this is a repeat. Without `own`, or
   * if there are too many subjects, the subject is `shared`.
   */
  count(own: Subject | null, shared: Subject): number | null {
    const nowMs = this.#options.clock.steady();
    if (own !== null && this.#isRepeat(own, nowMs)) return null;
    this.#evict(nowMs);
    if (own !== null && (this.#entries.has(own.key) || this.#entries.size < this.#options.limit)) {
      return this.#update(own, nowMs);
    }
    return this.#isRepeat(shared, nowMs) ? null : this.#update(shared, nowMs);
  }

  /** Returns the entry that counts the repeats of the subject; undefined if it shares an entry with others. */
  find(own: Subject): RepeatEntry | undefined {
    return this.#entries.get(own.key);
  }

  /**
   * Counts a repeat. Returns false if it is not a repeat, and `count` must count it. An entry that was dropped because
   * there are too many subjects still counts until the end of its period.
   */
  countAgain(entry: RepeatEntry, state: string, nowMs: number): boolean {
    if (nowMs >= entry.untilMs) return false;
    if (entry.state !== state && entry.states < this.#options.maxStates) return false;
    entry.repeats += 1;
    return true;
  }

  #isRepeat({ key, state }: Subject, nowMs: number): boolean {
    const entry = this.#entries.get(key);
    return entry !== undefined && this.countAgain(entry, state, nowMs);
  }

  #update({ key, state }: Subject, nowMs: number): number {
    const entry = this.#entries.get(key);
    const states = entry !== undefined && nowMs < entry.untilMs ? entry.states + 1 : 1;
    this.#entries.set(key, { untilMs: nowMs + this.#options.periodMs, state, states, repeats: 0 });
    return entry?.repeats ?? 0;
  }

  /**
   * Evicts expired entries, oldest first. An entry with repeats is stored for one more period, so that the next line
   * can contain their number.
   */
  #evict(nowMs: number): void {
    for (const [key, { untilMs, repeats }] of this.#entries) {
      if (nowMs < untilMs + (repeats > 0 ? this.#options.periodMs : 0)) return;
      this.#entries.delete(key);
    }
  }
}
