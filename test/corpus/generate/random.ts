import { randomFrom } from "../../../bench/random.ts";

/** Random choices that depend only on the seeds. Each case has its own seeds, so that one case never moves another. */
export class Random {
  readonly #next: () => number;

  constructor(...seeds: readonly number[]) {
    this.#next = randomFrom(seeds.reduce((mixed, seed) => Math.imul(mixed ^ seed, 0x9e3779b1) >>> 0, 20_261_123));
  }

  /** Returns an integer from 0 to `end` - 1. */
  below(end: number): number {
    return Math.floor(this.#next() * end);
  }

  chance(probability: number): boolean {
    return this.#next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    for (const item of list.slice(this.below(list.length))) return item;
    throw new Error("cannot pick from an empty list");
  }

  /** Returns a key with a probability in proportion to its value. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries: readonly [string, number][] = Object.entries<number>(weights);
    let rest = this.#next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    const [key = ""] = entries.find(([, weight]) => (rest -= weight) < 0) ?? [];
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Object.entries widens the type of the keys
    return key as K;
  }

  /** Returns at most `max` items in the order of the list. */
  some<T>(list: readonly T[], max: number): T[] {
    const count = this.below(max + 1);
    const chosen = new Set(Array.from({ length: count }, () => this.below(list.length)));
    return list.filter((_, i) => chosen.has(i));
  }
}
