import { printable } from "../../formats/text.ts";

/** A list in which each item occurs once, up to a limit. */
export class MapTable<Item> {
  readonly items: Item[] = [];
  readonly #indexes = new Map<string, number>();
  readonly #limit: number;
  readonly #rejected = new Set<string>();

  constructor(limit = Infinity) {
    this.#limit = limit;
  }

  /** Returns the index of the item that has the key. Adds the item if it is new; returns null if the list is full. */
  add(key: string, create: () => Item): number | null {
    if (this.#indexes.has(key) || this.#indexes.size < this.#limit) return this.addAlways(key, create);
    this.#rejected.add(key);
    return null;
  }

  /** Like `add`, for a list without a limit. */
  addAlways(key: string, create: () => Item): number {
    const found = this.#indexes.get(key);
    if (found !== undefined) return found;
    const index = this.items.push(create()) - 1;
    this.#indexes.set(key, index);
    return index;
  }

  indexOf(key: string): number | null {
    return this.#indexes.get(key) ?? null;
  }

  /** The number of items that were not added. */
  get rejected(): number {
    return this.#rejected.size;
  }
}

/** The maximum number of characters of a name. */
const MAX_LENGTH = 300;
/** The maximum number of characters of a sentence. Stale annotations take 450. */
const MAX_SENTENCE = 600;

/** Returns a text of the cluster for the map: cut if it is too long, with its unprintable characters escaped. */
export function shownText(text: string): string {
  return cut(text, MAX_LENGTH);
}

export function shownSentence(text: string): string {
  return cut(text, MAX_SENTENCE);
}

function cut(text: string, most: number): string {
  if (text.length <= most) return printable(text);
  return `${printable(text.slice(0, most))}… (${text.length} characters)`;
}

export function shownOrNull(text: string | null): string | null {
  return text === null ? null : shownText(text);
}

/** The largest number of names of a use. A smaller one applies if the map would have too many names. */
const NAME_LIMITS = [50, 20, 10, 5, 2, 1] as const;

/** Returns how many names each use may have, so that all uses together have at most `limit` names. */
export function namesPerUse(counts: readonly number[], limit: number): number {
  return NAME_LIMITS.find((most) => counts.reduce((sum, count) => sum + Math.min(count, most), 0) <= limit) ?? 0;
}
