import { type FieldPath, plainKeys } from "../formats/json.ts";

/** The largest line of a list. */
export const MAX_LINE = 0xffff;

/**
 * The lines of the fields and items in a value, in the order in which they are written. The lines are characters of a
 * string, because an array of numbers takes 8 bytes for each line, and a folder can contain millions of fields.
 */
export class LineList {
  readonly #lines: string;
  /** The children of each parent that was looked up. A list of thousands of items may be looked up for each item. */
  #children: WeakMap<object, ReadonlyMap<string | number, Found>> | null = null;

  constructor(lines: readonly number[]) {
    this.#lines = textOf(lines);
  }

  /**
   * Returns the line of the field at `path` in `value`, or of its nearest parent field. Returns `start` if the value
   * does not contain the first field of the path.
   */
  lineOf(value: unknown, path: FieldPath, start: number): number {
    let line = start;
    let parent = value;
    let index = 0;
    for (const key of plainKeys(path)) {
      const found = this.#find(parent, key);
      if (found === null) return line;
      index += found.offset;
      line = this.#lines.charCodeAt(index);
      index += 1;
      parent = found.value;
    }
    return line;
  }

  #find(parent: unknown, key: string | number): Found | null {
    if (typeof parent !== "object" || parent === null) return null;
    this.#children ??= new WeakMap();
    const children = this.#children.get(parent) ?? childrenOf(parent);
    this.#children.set(parent, children);
    return children.get(key) ?? null;
  }
}

function textOf(lines: readonly number[]): string {
  if (lines.every((line) => line < 0x100)) return Buffer.from(lines).toString("latin1");
  return Buffer.from(Uint16Array.from(lines).buffer).toString("utf16le");
}

interface Found {
  readonly value: unknown;
  /** The number of fields and items before it in its parent, at any depth. */
  readonly offset: number;
}

function childrenOf(parent: object): ReadonlyMap<string | number, Found> {
  const children = new Map<string | number, Found>();
  let offset = 0;
  for (const [name, value] of entriesOf(parent)) {
    children.set(name, { value, offset });
    offset += 1 + countFields(value);
  }
  return children;
}

/** Returns the number of fields and items in the value, at any depth. */
function countFields(value: unknown): number {
  let count = 0;
  for (const [, child] of entriesOf(value)) count += 1 + countFields(child);
  return count;
}

function entriesOf(value: unknown): readonly (readonly [string | number, unknown])[] {
  if (Array.isArray(value)) return [...(value as readonly unknown[]).entries()];
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

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
