import { compareText } from "./text.ts";

/** No name of a kind, a service or a namespace is longer, so a longer text is no misspelling of one. */
const MAX_LENGTH = 63;

/** Replaced letters count only in longer words: `sts` is another service, not a misspelling of `sqs`. */
const MIN_SUBSTITUTED_LENGTH = 5;

/**
 * Returns whether the text is surely a misspelling of the name: it differs in case or punctuation, is the plural, or
 * has one slip: a letter is missing or added, two are swapped, or one within a word is replaced. A verdict may depend
 * on the answer, unlike on that of `guesses`.
 */
export function isMisspelled(text: string, name: string): boolean {
  if (Math.abs(text.length - name.length) > MAX_DIFFERENCE) return false;
  const [word, meant] = [plain(text), plain(name)];
  return word === meant || singulars(word).includes(meant)
    || isOneSlip(text.toLowerCase(), name.toLowerCase());
}

/** The hyphens of IAM-Role-Selectors, and its plural. */
const MAX_DIFFERENCE = 3;

function plain(text: string): string {
  return text.toLowerCase().replaceAll(/[-_. ]/g, "");
}

/** Returns what the word can be the plural of. */
function singulars(word: string): string[] {
  const endings = [["s", ""], ["es", ""], ["ies", "y"]] as const;
  return endings.filter(([plural]) => word.endsWith(plural))
    .map(([plural, singular]) => word.slice(0, word.length - plural.length) + singular);
}

/** Digits are never a slip: `wafv3` and `team-2` are other names than `wafv2` and `team-1`. */
function isOneSlip(word: string, meant: string): boolean {
  if (digitsOf(word) !== digitsOf(meant)) return false;
  const [start, written, expected] = differenceOf(word, meant);
  const size = Math.max(written.length, expected.length);
  if (size === 1) return written.length !== expected.length || isWithinWord(meant, start);
  return size === 2 && written === `${expected[1]}${expected[0]}`;
}

/** Whether letters surround the one at the index. Names like `team-a` and `team-b` are often all correct. */
function isWithinWord(name: string, index: number): boolean {
  return name.length >= MIN_SUBSTITUTED_LENGTH && index > 0 && /^[a-z]{3}$/.test(name.slice(index - 1, index + 2));
}

/** Returns the length of the common start, and what is left of both words without it and their common end. */
function differenceOf(word: string, meant: string): readonly [number, string, string] {
  const shorter = Math.min(word.length, meant.length);
  let start = 0;
  while (start < shorter && word[start] === meant[start]) start++;
  let end = 0;
  while (end < shorter - start && word.at(-1 - end) === meant.at(-1 - end)) end++;
  return [start, word.slice(start, word.length - end), meant.slice(start, meant.length - end)];
}

function digitsOf(word: string): string {
  return word.replaceAll(/[^0-9]/g, "");
}

/** Returns the first of the names that a user may mean, for a message; null if none is similar. */
export function closest(text: string, names: Iterable<string>): string | null {
  return new NameIndex(names).guesses(text)[0] ?? null;
}

/** Returns the name that all other names continue, as `RepositoryCreationTemplate` continues `Repository`, or null. */
export function shortestOf(sorted: readonly string[]): string | null {
  const [first = null] = sorted;
  return first !== null && sorted.every((name) => name.startsWith(first)) ? first : null;
}

/** What more names share tells nothing of which one is meant, and comparing each one with the text takes long. */
const MAX_SHARING = 20;

/** A form that abbreviates more names tells nothing. */
const MAX_LONGER = 3;

/** The number of letters at which a start of a name tells more than a single word would. */
const MIN_START = 3;

/**
 * A set of names that finds the one that a user meant. However many names there are, `misspelled` and `similar` compare
 * the text with at most 20 of them for each of its letters; `nearest` sorts all names that the text abbreviates, and
 * `guesses` and `startingWith` can compare it with all names. What is returned is sorted, so that a message does not
 * depend on the order of the names.
 */
export class NameIndex {
  readonly names: ReadonlySet<string>;
  /** By the plain form. */
  #byWord: ReadonlyMap<string, readonly string[]> | null = null;
  /** By each plain form without one letter: `bucket` and `backet` share `bcket`. */
  #byShorter: ReadonlyMap<string, readonly string[]> | null = null;
  /** By each form that abbreviates it. */
  #byShortForm: ReadonlyMap<string, readonly string[]> | null = null;
  /** By each prefix that has at least half of the letters. */
  #byPrefix: ReadonlyMap<string, readonly string[]> | null = null;

  constructor(names: Iterable<string>) {
    this.names = new Set(names);
  }

  has(name: string): boolean {
    return this.names.has(name);
  }

  /**
   * Returns the names of which the text is a misspelling; if none, those that it abbreviates, as `dynamo` abbreviates
   * `dynamodb`. Names that differ only in case come alone.
   */
  nearest(text: string): readonly string[] {
    const misspelled = this.misspelled(text);
    if (misspelled.length > 0 || text.length > MAX_LENGTH) return misspelled;
    this.#byPrefix ??= indexBy(this.names, (name) => longPrefixes(plain(name)));
    return (this.#byPrefix.get(plain(text)) ?? []).toSorted(compareText);
  }

  /**
   * Returns the names of which the text is a misspelling (`isSure`); if none, those that abbreviate it or that it
   * abbreviates, unless they are too many to tell which one is meant.
   */
  similar(text: string): { readonly names: readonly string[]; readonly isSure: boolean } {
    const misspelled = this.misspelled(text);
    return misspelled.length > 0
      ? { names: misspelled, isSure: true } : { names: this.#shortened(text), isSure: false };
  }

  #shortened(text: string): readonly string[] {
    if (text.length > MAX_LENGTH) return [];
    this.#byShortForm ??= indexBy(this.names, shortForms);
    const longer = this.#byShortForm.get(text.toLowerCase()) ?? [];
    if (longer.length > MAX_LONGER) return [];
    return [...longer, ...shortForms(text).filter((form) => this.names.has(form))].toSorted(compareText);
  }

  /**
   * Returns the names that a user may mean, for a message: the nearest, or else the one that starts with the text, as
   * `Cert` starts `Certificate`, or else those that differ in at most a third of the letters of the text.
   */
  guesses(text: string): readonly string[] {
    const nearest = this.nearest(text);
    if (nearest.length > 0) return nearest;
    const started = shortestOf(this.startingWith(text));
    return started === null ? mostSimilar(text, this.names) : [started];
  }

  /** Returns the names that start with the text, which has at least three letters. Compares it with each name. */
  startingWith(text: string): readonly string[] {
    const start = text.length > MAX_LENGTH ? "" : plain(text);
    if (start.length < MIN_START) return [];
    return [...this.names].filter((name) => plain(name).startsWith(start)).toSorted(compareText);
  }

  /** Returns the names of which the text is a misspelling. Ignores those that share the same form with many others. */
  misspelled(text: string): readonly string[] {
    if (text.length > MAX_LENGTH) return [];
    this.#byWord ??= indexBy(this.names, (name) => [plain(name)]);
    this.#byShorter ??= indexBy(this.names, (name) => withoutOneLetter(plain(name)));
    const word = plain(text);
    const keys = [word, ...withoutOneLetter(word)];
    const found = new Set([
      ...fewAt(this.#byWord, [...keys, ...singulars(word)]), ...fewAt(this.#byShorter, keys),
    ]);
    const misspelled = [...found].filter((name) => isMisspelled(text, name)).toSorted(compareText);
    const same = misspelled.filter((name) => plain(name) === word);
    return same.length > 0 ? same : misspelled;
  }
}

/** Returns the names at the keys that few names share. */
function fewAt(index: ReadonlyMap<string, readonly string[]>, keys: readonly string[]): readonly string[] {
  return keys.map((key) => index.get(key) ?? []).filter((names) => names.length <= MAX_SHARING).flat();
}

/** Returns the names that differ least from the text, and in at most a third of its letters, sorted. */
function mostSimilar(text: string, names: Iterable<string>): readonly string[] {
  let best: string[] = [];
  let least = Math.max(1, Math.floor(text.length / 3));
  for (const name of names) {
    // The distance is at least the difference in length. Saves work for long texts.
    if (Math.abs(name.length - text.length) > least) continue;
    const distance = editDistance(text.toLowerCase(), name.toLowerCase());
    if (distance < least) best = [];
    if (distance <= least) best.push(name);
    least = Math.min(distance, least);
  }
  return best.toSorted(compareText);
}

/** Returns the Levenshtein distance. Computes the table row by row. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  let left = b.length;
  for (let i = 1; i <= a.length; i++) {
    let diagonal = i - 1;
    row = row.map((above, j) => {
      left = j === 0 ? i : Math.min(above + 1, left + 1, diagonal + (a[i - 1] === b[j - 1] ? 0 : 1));
      diagonal = above;
      return left;
    });
  }
  return left;
}

function indexBy(names: Iterable<string>, keysOf: (name: string) => Iterable<string>): Map<string, string[]> {
  const index = new Map<string, string[]>();
  for (const name of names) {
    for (const key of new Set(keysOf(name))) {
      const sharing = index.get(key);
      if (sharing === undefined) index.set(key, [name]);
      else sharing.push(name);
    }
  }
  return index;
}

/** Returns the word without each of its letters. Digits are never a slip. */
function withoutOneLetter(word: string): string[] {
  return [...word.matchAll(/[^0-9]/g)].map(({ index }) => word.slice(0, index) + word.slice(index + 1));
}

function longPrefixes(word: string): string[] {
  const half = Math.ceil(word.length / 2);
  return Array.from({ length: word.length - half }, (_, i) => word.slice(0, half + i));
}

/** Returns the forms that abbreviate the last word: `dev` and so on for `development`, `stage` for `staging`. */
function shortForms(name: string): string[] {
  if (name.length > MAX_LENGTH) return [];
  const word = name.toLowerCase();
  const last = word.replace(/^[\s\S]*[^a-z]/, "");
  const shortest = word.length - last.length + MIN_START;
  const starts = Array.from({ length: Math.max(0, word.length - shortest) }, (_, i) => word.slice(0, shortest + i));
  return /[a-z]{3}ing$/.test(word) ? [...starts, `${word.slice(0, -3)}e`] : starts;
}
