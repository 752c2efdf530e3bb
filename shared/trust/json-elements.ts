import { quote } from "../formats/text.ts";
import { parseUniqueJSON, RepeatedKey } from "../formats/unique-json.ts";

/**
 * A part of a large JSON text: a member of the top-level object, or an element of a list that is such a member. A list
 * is itself a member, without its elements, and follows them.
 */
export interface JSONElement {
  /** The name of the member. */
  readonly key: string;
  /** The position in the list; null for a member. */
  readonly index: number | null;
  readonly value: unknown;
}

/** The maximum size of one element, in bytes. A role of 5,000 policies has fewer. */
const MAX_ELEMENT_BYTES = 64 * 1024 * 1024;
/** A policy has 6 nested levels. Deeper values would need recursion later, for example in JSON.stringify. */
const MAX_DEPTH = 1_000;

const [QUOTE, BACKSLASH, COLON, COMMA, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [
  0x22, 0x5C, 0x3A, 0x2C, 0x5B, 0x5D, 0x7B, 0x7D,
] as const;
/** What a byte outside of strings means: a quote, a colon, a bracket or comma, or nothing here. */
const BRACKET = 1;
const MEANINGS = new Uint8Array(256);
MEANINGS[QUOTE] = QUOTE;
MEANINGS[COLON] = COLON;
for (const byte of [COMMA, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT]) MEANINGS[byte] = BRACKET;
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Splits a JSON object that is too large for the memory into the elements of its lists. Throws a SyntaxError with the
 * position if the text is not such an object. Several objects may follow each other, such as pages.
 */
export class ElementReader {
  #depth = 0;
  /** Whether the next chunk continues a string, and whether its first byte is escaped. */
  #isText = false;
  #isEscaped = false;
  /** The bytes of the current member or element, from earlier chunks. */
  #parts: Uint8Array[] = [];
  #bytes = 0;
  /** The number of colons outside of strings in them. */
  #colons = 0;
  /** The list that is being read. */
  #list: { readonly key: string; length: number } | null = null;
  /** The number of objects that have been read. */
  #objects = 0;
  /** The keys of the current object. */
  #keys = new Set<string>();

  /** Reads the next bytes, and returns the elements that end in them. */
  *read(chunk: Uint8Array): Generator<JSONElement, void, void> {
    let start = 0;
    for (let at = this.#nextBracket(chunk, 0); at < chunk.length; at = this.#nextBracket(chunk, at + 1)) {
      const byte = Number(chunk[at]);
      const isEnd = this.#endsAt(byte);
      if (!isEnd) continue;
      this.#keep(chunk.subarray(start, at));
      start = at + 1;
      yield* this.#end(byte);
    }
    this.#keep(chunk.subarray(start).slice());
  }

  /** Checks that the text is complete. */
  finish(): void {
    if (this.#depth > 0) throw new SyntaxError("the text ends inside an object; it is cut off");
    if (this.#take().trim() !== "") throw new SyntaxError("text follows the object");
    if (this.#objects === 0) throw new SyntaxError("the text is empty");
  }

  /** Returns the position of the next bracket or comma outside of strings, or at least the length. Counts colons. */
  #nextBracket(chunk: Uint8Array, from: number): number {
    let at = this.#isText ? this.#endOfString(chunk, from) : from;
    while (at < chunk.length) {
      const meaning = MEANINGS[Number(chunk[at])];
      if (meaning === BRACKET) return at;
      if (meaning === COLON) this.#colons++;
      at = meaning === QUOTE ? this.#endOfString(chunk, at + 1) : at + 1;
    }
    return at;
  }

  /** Returns the position after a string, or at least the length if the string continues in the next chunk. */
  #endOfString(chunk: Uint8Array, from: number): number {
    let at = this.#isEscaped ? from + 1 : from;
    while (at < chunk.length && chunk[at] !== QUOTE) at += chunk[at] === BACKSLASH ? 2 : 1;
    this.#isEscaped = at > chunk.length;
    this.#isText = at >= chunk.length;
    return at + 1;
  }

  /** Counts the depth. Returns whether a member, an element, or the head of a list or object ends here. */
  #endsAt(byte: number): boolean {
    const before = this.#depth;
    this.#depth += changeOfDepth(byte);
    if (this.#depth < 0) throw new SyntaxError("a bracket closes nothing");
    if (this.#depth > MAX_DEPTH) {
      const place = this.#list === null ? "a member" : `${this.#list.key}[${this.#list.length}]`;
      throw new SyntaxError(`${place} is nested deeper than ${MAX_DEPTH} levels`);
    }
    const level = this.#list === null ? 1 : 2;
    if (byte === COMMA || before === 0) return before <= level;
    return before === level && (this.#depth < level || (byte === OPEN_LIST && this.#list === null));
  }

  *#end(byte: number): Generator<JSONElement, void, void> {
    const colons = this.#colons;
    const text = this.#take();
    if (this.#list !== null) {
      if (text.trim() !== "") {
        const { key } = this.#list;
        yield { key, index: this.#list.length++, value: parse(text, key, colons) };
      }
      if (byte === COMMA) return;
      if (byte !== CLOSE_LIST) throw new SyntaxError(`${this.#list.key} ends with the wrong bracket`);
      yield { key: this.#list.key, index: null, value: [] };
      this.#list = null;
    } else if (this.#depth === 2) this.#list = { key: this.#unique(keyOf(text)), length: 0 };
    else yield* this.#endMember(byte, text);
  }

  *#endMember(byte: number, text: string): Generator<JSONElement, void, void> {
    const isBlank = text.trim() === "";
    if (byte === OPEN_OBJECT || byte === OPEN_LIST || (this.#depth === 0 && byte !== CLOSE_OBJECT)) {
      if (byte !== OPEN_OBJECT || !isBlank) throw new SyntaxError("the text is not a JSON object");
      this.#objects++;
      this.#keys = new Set();
    } else if (!isBlank) {
      for (const [key, value] of Object.entries(parseObject(`{${text}}`))) {
        yield { key: this.#unique(key), index: null, value };
      }
    }
  }

  #unique(key: string): string {
    if (this.#keys.has(key)) throw new SyntaxError(`the key ${quote(key)} is stated twice; remove one`);
    this.#keys.add(key);
    return key;
  }

  #keep(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    if (this.#bytes > MAX_ELEMENT_BYTES) throw new SyntaxError(`an element has more than ${MAX_ELEMENT_BYTES} bytes`);
    if (bytes.length > 0) this.#parts.push(bytes);
  }

  #take(): string {
    const [first = EMPTY, ...others] = this.#parts;
    const bytes = others.length === 0 ? first : joined(this.#parts, this.#bytes);
    this.#parts = [];
    this.#bytes = 0;
    this.#colons = 0;
    return decode(bytes);
  }
}

const EMPTY = new Uint8Array();

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch (error) {
    throw new SyntaxError("the text is not UTF-8", { cause: error });
  }
}

function changeOfDepth(byte: number): number {
  if (byte === OPEN_OBJECT || byte === OPEN_LIST) return 1;
  return byte === COMMA ? 0 : -1;
}

/** Returns the key in the text between a comma and the list, such as `"Policies": `. */
function keyOf(text: string): string {
  return Object.keys(parseObject(`{${text}0}`)).join("");
}

function parse(text: string, key: string, colons: number | null = null): unknown {
  try {
    return parseUniqueJSON(text, colons);
  } catch (error) {
    const reason = error instanceof RepeatedKey ? `: ${error.message}` : " is not JSON";
    throw new SyntaxError(`an element of ${key}${reason}`, { cause: error });
  }
}

function parseObject(text: string): object {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the text has braces around it
  return parse(text, "the object") as object;
}
