/** V8 represents a substring of this length as a reference to the whole text, and a shorter one as a copy. */
const MIN_REFERENCE = 13;
/** A pool that is full is cleared. */
const MAX_SIZE = 16_384;
/** The longest text that is stored. Longer texts are rarely equal. */
const MAX_LENGTH = 256;
/** UTF-8 takes at most 3 bytes for each UTF-16 code unit. */
const SCRATCH = Buffer.alloc(MAX_LENGTH * 3);

/**
 * Stores equal strings of many files only once. A stored string does not keep the text of its file in memory.
 */
export class StringPool {
  readonly #strings = new Map<string, string>();

  /** Returns a string that is equal to `text`. */
  get(text: string): string {
    if (text.length > MAX_LENGTH) return text.isWellFormed() ? Buffer.from(text).toString() : text;
    const known = this.#strings.get(text);
    if (known !== undefined) return known;
    if (this.#strings.size === MAX_SIZE) this.#strings.clear();
    const copy = copyOf(text);
    this.#strings.set(copy, copy);
    return copy;
  }
}

function copyOf(text: string): string {
  if (text.length < MIN_REFERENCE || !text.isWellFormed()) return text;
  return SCRATCH.toString("utf8", 0, SCRATCH.write(text));
}
